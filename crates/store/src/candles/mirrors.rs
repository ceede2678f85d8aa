//! Mirrors: the sources from which this store is filled, with their settings and progress.
//!
//! A page of candles and the position after it are written in one [`Batch`]. Texts and blobs of the
//! collector are opaque.

use market::adjust::Amount;
use market::{Date, Symbol, Timestamp};

use crate::candles::batch::Batch;
use crate::candles::view::View;
use crate::engine::{Fault, Row, StoreError, natural, signed};

/// Maximum number of reports of a mirror. Further ones are not stored.
pub const MIRROR_REPORTS_MAX: u64 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MirrorId(pub i64);

/// A source of candles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorRow {
    pub id: MirrorId,
    pub name: String,
    pub settings: String,
    pub state: String,
    /// Encrypted.
    pub credentials: Vec<u8>,
    pub created_at: Timestamp,
}

/// A security of a mirror's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorSecurity {
    pub symbol: Symbol,
    /// The reason and the time of the source's refusal.
    pub note: Option<(String, Timestamp)>,
}

/// A series of a mirror, for a range of days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorJob {
    pub symbol: Symbol,
    pub period: String,
    pub adjustment: String,
    pub sessions: String,
    /// Why the series is read.
    pub purpose: String,
    pub first_day: Date,
    pub last_day: Date,
    pub position: String,
    /// How the walk ended. `None` if it has not ended.
    pub outcome: Option<String>,
    pub pages: u64,
    pub rows: u64,
    pub updated_at: Timestamp,
}

/// A report for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorReport {
    pub kind: String,
    pub symbol: Option<Symbol>,
    pub content: String,
    pub at: Timestamp,
}

/// A corporate action or factor, derived from actual and adjusted days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedFactor {
    pub ex_date: Date,
    pub kind: FactorKind,
    /// Cash per share, new shares per old share, or the factor.
    pub amount: Amount,
    /// Lower bound of the factor, as a decimal.
    pub low: String,
    /// Upper bound of the factor, as a decimal.
    pub high: String,
    /// Maximum error of a cash amount, as a decimal.
    pub width: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorKind {
    Cash,
    Split,
    /// Neither a cash amount nor a split. The factor is used unchanged.
    Bare,
}

impl FactorKind {
    const ALL: [FactorKind; 3] = [FactorKind::Cash, FactorKind::Split, FactorKind::Bare];

    pub fn as_str(self) -> &'static str {
        match self {
            FactorKind::Cash => "cash",
            FactorKind::Split => "split",
            FactorKind::Bare => "bare",
        }
    }
}

impl View {
    /// Returns all mirrors, ordered by name.
    pub fn mirrors(&self) -> Result<Vec<MirrorRow>, StoreError> {
        self.far().all(sql::MIRRORS, [], MirrorRow::read)
    }

    pub fn mirror(&self, name: &str) -> Result<Option<MirrorRow>, StoreError> {
        self.far().first(sql::MIRROR, [name], MirrorRow::read)
    }

    /// Returns the securities of a mirror, in the order of the list.
    pub fn mirror_securities(&self, id: MirrorId) -> Result<Vec<MirrorSecurity>, StoreError> {
        self.far().all(sql::SECURITIES, [id.0], |row| {
            let (note, at): (Option<String>, Option<i64>) = (row.get(1)?, row.get(2)?);
            Ok(MirrorSecurity { symbol: symbol(row, 0)?, note: note.zip(at.map(Timestamp)) })
        })
    }

    /// Returns the jobs of a mirror, ordered by series and first day.
    pub fn mirror_jobs(&self, id: MirrorId) -> Result<Vec<MirrorJob>, StoreError> {
        self.far().all(sql::JOBS, [id.0], MirrorJob::read)
    }

    /// Returns the jobs of one security of a mirror, ordered by series and first day.
    pub fn mirror_jobs_of(&self, id: MirrorId, symbol: &Symbol) -> Result<Vec<MirrorJob>, StoreError> {
        self.far().all(sql::JOBS_OF, (id.0, symbol.as_str()), MirrorJob::read)
    }

    /// Returns the securities that a mirror has requested in a month, such as `2026-11`.
    pub fn mirror_month(&self, id: MirrorId, month: &str) -> Result<Vec<Symbol>, StoreError> {
        self.far().all(sql::MONTH, (id.0, month), |row| symbol(row, 0))
    }

    /// Returns the newest reports of a mirror, newest first.
    pub fn mirror_reports(&self, id: MirrorId, limit: u32) -> Result<Vec<MirrorReport>, StoreError> {
        self.far().all(sql::REPORTS, (id.0, limit), |row| {
            let name: String = row.get(1)?;
            let symbol = Some(name).filter(|name| !name.is_empty());
            let parse = |text: String| text.parse().map_err(|_| Fault::value("symbol", &text));
            Ok(MirrorReport {
                kind: row.get(0)?,
                symbol: symbol.map(parse).transpose()?,
                content: row.get(2)?,
                at: Timestamp(row.get(3)?),
            })
        })
    }

    /// Returns the number of reports of a mirror.
    pub fn mirror_report_count(&self, id: MirrorId) -> Result<u64, StoreError> {
        self.far().one(sql::COUNT_REPORTS, [id.0], |row| natural(row, 0))
    }

    /// Returns the adjusted days of a security that a mirror has received.
    pub fn mirror_adjusted(&self, id: MirrorId, symbol: &Symbol) -> Result<Option<Vec<u8>>, StoreError> {
        self.far().first(sql::ADJUSTED, (id.0, symbol.as_str()), |row| row.get(0))
    }

    /// Returns the factors derived from received days of a security, ordered by ex-date.
    pub fn derived_factors(&self, symbol: &Symbol) -> Result<Vec<DerivedFactor>, StoreError> {
        self.far().all(sql::DERIVED, [symbol.as_str()], |row| {
            let (kind, amount) = (row.text(1)?, row.text(2)?);
            let known = FactorKind::ALL.into_iter().find(|known| known.as_str() == kind);
            Ok(DerivedFactor {
                ex_date: date(row, 0)?,
                kind: known.ok_or_else(|| Fault::value("kind", kind))?,
                amount: Amount::parse(amount).map_err(|_| Fault::value("amount", amount))?,
                low: row.get(3)?,
                high: row.get(4)?,
                width: row.get(5)?,
            })
        })
    }
}

impl Batch<'_> {
    /// Adds a mirror. Returns `None` if the name exists.
    pub fn add_mirror(
        &mut self,
        name: &str,
        settings: &str,
        credentials: &[u8],
        now: Timestamp,
    ) -> Result<Option<MirrorId>, StoreError> {
        self.write(|batch| {
            if batch.mirror(name)?.is_some() {
                return Ok(None);
            }
            let id = batch.take_ids("mirror", 1)?;
            batch.db().run(sql::ADD, (id, name, settings, "{}", credentials, now.0))?;
            Ok(Some(MirrorId(id)))
        })
    }

    pub fn put_mirror_settings(&mut self, id: MirrorId, settings: &str) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::PUT_SETTINGS, (settings, id.0)).map(drop))
    }

    pub fn put_mirror_state(&mut self, id: MirrorId, state: &str) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::PUT_STATE, (state, id.0)).map(drop))
    }

    /// Removes a mirror, but not its candles.
    pub fn remove_mirror(&mut self, id: MirrorId) -> Result<(), StoreError> {
        self.write(|batch| {
            for statement in sql::REMOVALS {
                batch.db().run(statement, [id.0])?;
            }
            Ok(())
        })
    }

    /// Appends securities to the list.
    pub fn add_mirror_securities(&mut self, id: MirrorId, symbols: &[Symbol]) -> Result<(), StoreError> {
        self.write(|batch| {
            let next: i64 = batch.db().one(sql::NEXT_PLACE, [id.0], |row| row.get(0))?;
            for (place, symbol) in (next..).zip(symbols) {
                batch.db().run(sql::ADD_SECURITY, (id.0, symbol.as_str(), place))?;
            }
            Ok(())
        })
    }

    /// Records why the source refused a security, or removes the record.
    pub fn note_mirror_security(
        &mut self,
        id: MirrorId,
        symbol: &Symbol,
        note: Option<(&str, Timestamp)>,
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            let (text, at) = (note.map(|(text, _)| text), note.map(|(_, at)| at.0));
            batch.db().run(sql::NOTE, (text, at, id.0, symbol.as_str())).map(drop)
        })
    }

    /// Adds or replaces a job.
    pub fn put_mirror_job(&mut self, id: MirrorId, job: &MirrorJob) -> Result<(), StoreError> {
        self.write(|batch| {
            let row = (
                id.0,
                job.symbol.as_str(),
                &job.period,
                &job.adjustment,
                &job.sessions,
                &job.purpose,
                job.first_day.to_string(),
                job.last_day.to_string(),
                &job.position,
                &job.outcome,
                signed(job.pages),
                signed(job.rows),
                job.updated_at.0,
            );
            batch.db().run(sql::PUT_JOB, row).map(drop)
        })
    }

    pub fn remove_mirror_job(&mut self, id: MirrorId, job: &MirrorJob) -> Result<(), StoreError> {
        self.write(|batch| {
            let (symbol, first) = (job.symbol.as_str(), job.first_day.to_string());
            let key = (id.0, symbol, &job.period, &job.adjustment, &job.sessions, &job.purpose, first);
            batch.db().run(sql::REMOVE_JOB, key).map(drop)
        })
    }

    /// Charges a security to the quota of a month.
    pub fn charge_mirror(&mut self, id: MirrorId, month: &str, symbol: &Symbol) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::CHARGE, (id.0, month, symbol.as_str())).map(drop))
    }

    /// Releases a charge, because the source refused the request.
    pub fn uncharge_mirror(&mut self, id: MirrorId, month: &str, symbol: &Symbol) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::UNCHARGE, (id.0, month, symbol.as_str())).map(drop))
    }

    /// Adds a report, unless an equal one exists.
    pub fn add_mirror_report(&mut self, id: MirrorId, report: &MirrorReport) -> Result<(), StoreError> {
        self.write(|batch| {
            if batch.mirror_report_count(id)? >= MIRROR_REPORTS_MAX {
                return Ok(());
            }
            let number = batch.take_ids("mirror_report", 1)?;
            let symbol = report.symbol.as_ref().map(Symbol::as_str).unwrap_or_default();
            let row = (number, id.0, &report.kind, symbol, &report.content, report.at.0);
            batch.db().run(sql::ADD_REPORT, row).map(drop)
        })
    }

    /// Replaces the adjusted days of a security that a mirror has received.
    pub fn put_mirror_adjusted(
        &mut self,
        id: MirrorId,
        symbol: &Symbol,
        body: &[u8],
    ) -> Result<(), StoreError> {
        self.write(|batch| batch.db().run(sql::PUT_ADJUSTED, (id.0, symbol.as_str(), body)).map(drop))
    }

    /// Replaces the factors derived from received days of a security.
    pub fn put_derived_factors(
        &mut self,
        symbol: &Symbol,
        factors: &[DerivedFactor],
    ) -> Result<(), StoreError> {
        self.write(|batch| {
            if batch.derived_factors(symbol)? == factors {
                return Ok(());
            }
            batch.add_security(symbol)?;
            batch.db().run(sql::REMOVE_DERIVED, [symbol.as_str()])?;
            for DerivedFactor { ex_date, kind, amount, low, high, width } in factors {
                let (date, amount) = (ex_date.to_string(), amount.to_string());
                batch.db().run(
                    sql::ADD_DERIVED,
                    (symbol.as_str(), date, kind.as_str(), amount, low, high, width),
                )?;
            }
            batch.forget_factors(symbol)?;
            batch.touch(symbol).map(drop)
        })
    }
}

impl MirrorJob {
    fn read(row: &Row<'_>) -> Result<MirrorJob, Fault> {
        Ok(MirrorJob {
            symbol: symbol(row, 0)?,
            period: row.get(1)?,
            adjustment: row.get(2)?,
            sessions: row.get(3)?,
            purpose: row.get(4)?,
            first_day: date(row, 5)?,
            last_day: date(row, 6)?,
            position: row.get(7)?,
            outcome: row.get(8)?,
            pages: natural(row, 9)?,
            rows: natural(row, 10)?,
            updated_at: Timestamp(row.get(11)?),
        })
    }
}

impl MirrorRow {
    fn read(row: &Row<'_>) -> Result<MirrorRow, Fault> {
        Ok(MirrorRow {
            id: MirrorId(row.get(0)?),
            name: row.get(1)?,
            settings: row.get(2)?,
            state: row.get(3)?,
            credentials: row.get(4)?,
            created_at: Timestamp(row.get(5)?),
        })
    }
}

fn symbol(row: &Row<'_>, column: usize) -> Result<Symbol, Fault> {
    let text = row.text(column)?;
    text.parse().map_err(|_| Fault::value("symbol", text))
}

fn date(row: &Row<'_>, column: usize) -> Result<Date, Fault> {
    let text = row.text(column)?;
    text.parse().map_err(|_| Fault::value("date", text))
}

pub(super) mod sql {
    use crate::engine::Sql;
    use crate::engine::statements::statements;

    /// Removes a mirror after the rows that refer to it.
    pub(super) const REMOVALS: [Sql; 6] =
        [REMOVE_SECURITIES, REMOVE_JOBS, REMOVE_MONTHS, REMOVE_REPORTS, REMOVE_ADJUSTED, REMOVE];

    statements! {
        for crate::engine::migrations::ALL;
        MIRRORS: "list the mirrors",
            "select id, name, settings, state, credentials, created_at from mirror order by name";
        MIRROR: "read a mirror",
            "select id, name, settings, state, credentials, created_at from mirror where name = $1";
        ADD: "add a mirror",
            "insert into mirror (id, name, settings, state, credentials, created_at) \
             values ($1, $2, $3, $4, $5, $6)";
        PUT_SETTINGS: "change a mirror", "update mirror set settings = $1 where id = $2";
        PUT_STATE: "write the state of a mirror", "update mirror set state = $1 where id = $2";
        REMOVE: "remove a mirror", "delete from mirror where id = $1";
        REMOVE_SECURITIES: "remove a mirror", "delete from mirror_security where mirror_id = $1";
        REMOVE_JOBS: "remove a mirror", "delete from mirror_job where mirror_id = $1";
        REMOVE_MONTHS: "remove a mirror", "delete from mirror_month where mirror_id = $1";
        REMOVE_REPORTS: "remove a mirror", "delete from mirror_report where mirror_id = $1";
        REMOVE_ADJUSTED: "remove a mirror", "delete from mirror_adjusted where mirror_id = $1";
        SECURITIES: "list the securities of a mirror",
            "select symbol, note, noted_at from mirror_security where mirror_id = $1 order by place, symbol";
        NEXT_PLACE: "list the securities of a mirror",
            "select coalesce(max(place), 0) + 1 from mirror_security where mirror_id = $1";
        ADD_SECURITY: "add a security to a mirror",
            "insert into mirror_security (mirror_id, symbol, place) values ($1, $2, $3) \
             on conflict (mirror_id, symbol) do nothing";
        NOTE: "note a refusal",
            "update mirror_security set note = $1, noted_at = $2 where mirror_id = $3 and symbol = $4";
        JOBS: "list the jobs of a mirror",
            "select symbol, period, adjustment, sessions, purpose, first_day, last_day, position, outcome, pages, row_count, \
             updated_at from mirror_job where mirror_id = $1 \
             order by symbol, period, adjustment, sessions, purpose, first_day";
        JOBS_OF: "list the jobs of a security of a mirror",
            "select symbol, period, adjustment, sessions, purpose, first_day, last_day, position, outcome, pages, row_count, \
             updated_at from mirror_job where mirror_id = $1 and symbol = $2 \
             order by period, adjustment, sessions, purpose, first_day";
        PUT_JOB: "write a job of a mirror",
            "insert into mirror_job (mirror_id, symbol, period, adjustment, sessions, purpose, first_day, last_day, \
             position, outcome, pages, row_count, updated_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) \
             on conflict (mirror_id, symbol, period, adjustment, sessions, purpose, first_day) do update set \
             last_day = excluded.last_day, position = excluded.position, outcome = excluded.outcome, \
             pages = excluded.pages, row_count = excluded.row_count, updated_at = excluded.updated_at";
        REMOVE_JOB: "remove a job of a mirror",
            "delete from mirror_job where mirror_id = $1 and symbol = $2 and period = $3 and adjustment = $4 \
             and sessions = $5 and purpose = $6 and first_day = $7";
        MONTH: "read the quota of a mirror",
            "select symbol from mirror_month where mirror_id = $1 and month = $2 order by symbol";
        CHARGE: "charge a mirror",
            "insert into mirror_month (mirror_id, month, symbol) values ($1, $2, $3) \
             on conflict (mirror_id, month, symbol) do nothing";
        UNCHARGE: "take back a charge of a mirror",
            "delete from mirror_month where mirror_id = $1 and month = $2 and symbol = $3";
        REPORTS: "read the reports of a mirror",
            "select kind, symbol, content, at from mirror_report where mirror_id = $1 order by id desc limit $2";
        COUNT_REPORTS: "count the reports of a mirror", "select count(*) from mirror_report where mirror_id = $1";
        ADD_REPORT: "write a report of a mirror",
            "insert into mirror_report (id, mirror_id, kind, symbol, content, at) values ($1, $2, $3, $4, $5, $6) \
             on conflict (mirror_id, kind, symbol, content) do nothing";
        ADJUSTED: "read received adjusted days",
            "select body from mirror_adjusted where mirror_id = $1 and symbol = $2";
        PUT_ADJUSTED: "write received adjusted days",
            "insert into mirror_adjusted (mirror_id, symbol, body) values ($1, $2, $3) \
             on conflict (mirror_id, symbol) do update set body = excluded.body";
        DERIVED: "read derived factors",
            "select ex_date, kind, amount, low, high, width from sealed_derived_factor \
             where symbol = $1 order by ex_date";
        ADD_DERIVED: "write a derived factor",
            "insert into derived_factor (symbol, ex_date, kind, amount, low, high, width) \
             values ($1, $2, $3, $4, $5, $6, $7)";
        REMOVE_DERIVED: "remove derived factors", "delete from derived_factor where symbol = $1";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn queries_for_mirrors_use_their_indexes() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ALL,
                &[MIRROR, JOBS_OF, MONTH, ADJUSTED, DERIVED, UNCHARGE, REMOVE_JOB, NOTE],
            );
        }
    }
}
