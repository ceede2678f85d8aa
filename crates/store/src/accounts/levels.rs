//! Data that account levels are computed from, as reported by an operator: daily assets, completed
//! orders and exchange rates. Also stores the table of levels and the last recorded level of each
//! account. `access` computes the level. Reported orders are not paper orders: `asset`,
//! `order_count` and `completed_order` only hold reports. The contribution of paper accounts is in
//! `tallies.rs`.

use market::{Date, Timestamp, builtin_rate};

use super::changes::count_change;
use super::{AccountId, Accounts, AuditNote, audit, check_texts};
use crate::engine::{Db, Fault, Row, StoreError, natural, signed, small};

/// Maximum number of rows per list.
const ROWS_MAX: u32 = 10_000;

/// A level and the conditions for reaching it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelRow {
    pub number: u32,
    /// Monthly quota, in securities.
    pub quota: u32,
    /// Minimum assets in HKD; `None` if assets alone do not qualify for this level.
    pub assets: Option<u64>,
    /// Number of monthly orders that must be exceeded; `None` if orders alone do not qualify for
    /// this level.
    pub orders: Option<u32>,
}

/// An account's assets in one currency at the end of a day, as reported, in ten-thousandths of a
/// unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedAssetsRow {
    pub account: AccountId,
    pub day: Date,
    pub currency: String,
    pub amount: i64,
}

/// Exchange rate, effective from a day: HKD per unit of the currency, in hundred-millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateRow {
    pub currency: String,
    pub day: Date,
    pub rate: i64,
}

/// An account's completed orders on a day, as reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedOrdersRow {
    pub account: AccountId,
    pub day: Date,
    pub report: OrderReport,
}

/// The form of an order report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderReport {
    /// Total number of orders on the day; replaces an earlier count.
    Count(u32),
    /// A single order by id. Repeated reports of the same order are counted once.
    Order(String),
}

/// An asset amount with the exchange rate of its day. The rate is reported or built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedHolding {
    pub day: Date,
    pub currency: String,
    pub amount: i64,
    pub rate: Option<i64>,
}

impl ReportedHolding {
    pub(crate) fn read(row: &Row<'_>) -> Result<ReportedHolding, Fault> {
        let (day, currency): (Date, String) = (date(row, 0)?, row.get(1)?);
        let rate = row.get::<Option<i64>>(3)?.or_else(|| builtin_rate(&currency, day));
        Ok(ReportedHolding { day, currency, amount: row.get(2)?, rate })
    }
}

/// Result of an asset report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetReportOutcome {
    Done,
    /// Zero-based index of a row whose currency has no rate on or before its day. Nothing was
    /// written.
    Unrated(usize),
}

/// A change of an account's level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelChange {
    pub account: AccountId,
    /// The recorded level that this change was computed from; `None` if no level was recorded.
    pub from: Option<RecordedLevel>,
    pub to: RecordedLevel,
    pub reason: String,
}

/// The last recorded level of an account and the first day on which it applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedLevel {
    pub level: u32,
    pub since: Date,
}

impl Accounts {
    /// Returns all levels in ascending order.
    pub fn levels(&self) -> Result<Vec<LevelRow>, StoreError> {
        levels(&self.read())
    }

    /// Adds or replaces the level that `decide` computes from the current levels. The current
    /// levels are read in the write transaction, so concurrent changes are not lost. The text that
    /// `decide` returns is recorded as the reason in the audit log.
    pub fn change_level<E: From<StoreError>>(
        &self,
        (at, actor): (Timestamp, &str),
        decide: impl FnOnce(&[LevelRow]) -> Result<(LevelRow, String), E>,
    ) -> Result<LevelRow, E> {
        self.decide(|db| {
            let (level, reason) = decide(&levels(db)?)?;
            let LevelRow { number, quota, assets, orders } = level;
            db.run(sql::PUT_LEVEL, (number, quota, assets.map(signed), orders))?;
            audit::write(db, None, "levels.changed", &AuditNote { at, actor, reason: &reason })?;
            count_change(db, &[])?;
            Ok(level)
        })
    }

    /// Returns the reported assets of the latest day up to `day` (inclusive) that has a report, or
    /// an empty list if no day has one.
    pub fn reported_assets_as_of(
        &self,
        id: AccountId,
        day: Date,
    ) -> Result<Vec<ReportedHolding>, StoreError> {
        self.read().all(sql::REPORTED_ASSETS_AS_OF, (id.0, day.to_string()), ReportedHolding::read)
    }

    /// Returns the number of orders reported from `from` (inclusive) to `to` (exclusive).
    pub fn reported_orders_between(&self, id: AccountId, from: Date, to: Date) -> Result<u64, StoreError> {
        self.read().one(sql::REPORTED_ORDERS_BETWEEN, (id.0, from.to_string(), to.to_string()), |row| {
            natural(row, 0)
        })
    }

    /// Returns whether assets or orders were reported for any day before `day`.
    pub fn has_reports_before(&self, id: AccountId, day: Date) -> Result<bool, StoreError> {
        self.read().one(sql::HAS_REPORTS_BEFORE, (id.0, day.to_string()), |row| row.get(0))
    }

    /// Returns an account's reported assets, latest day first.
    pub fn reported_assets_of(
        &self,
        id: AccountId,
        limit: u32,
    ) -> Result<Vec<ReportedAssetsRow>, StoreError> {
        self.read().all(sql::REPORTED_ASSETS_OF, (id.0, limit.min(ROWS_MAX)), |row| {
            Ok(ReportedAssetsRow {
                account: id,
                day: date(row, 0)?,
                currency: row.get(1)?,
                amount: row.get(2)?,
            })
        })
    }

    /// Returns an account's number of reported orders per day, latest day first: the sum of
    /// reported counts and single orders.
    pub fn reported_orders_of(&self, id: AccountId, limit: u32) -> Result<Vec<(Date, u64)>, StoreError> {
        let read = |row: &Row<'_>| Ok((date(row, 0)?, natural(row, 1)?));
        self.read().all(sql::REPORTED_ORDERS_OF, (id.0, limit.min(ROWS_MAX)), read)
    }

    /// Returns the exchange rates of one currency, or of all currencies if `currency` is `None`,
    /// latest day first.
    pub fn rates(&self, currency: Option<&str>, limit: u32) -> Result<Vec<RateRow>, StoreError> {
        self.read().all(sql::RATES, (currency, limit.min(ROWS_MAX)), |row| {
            Ok(RateRow { currency: row.get(0)?, day: date(row, 1)?, rate: row.get(2)? })
        })
    }

    /// Returns all exchange rates without a limit.
    pub fn all_rates(&self) -> Result<Vec<RateRow>, StoreError> {
        self.read().all(sql::RATES, (None::<&str>, u32::MAX), |row| {
            Ok(RateRow { currency: row.get(0)?, day: date(row, 1)?, rate: row.get(2)? })
        })
    }

    /// Stores all rows, or none if a row's currency has no exchange rate. `base` is the currency
    /// that needs no rate.
    pub fn put_reported_assets(
        &self,
        rows: &[ReportedAssetsRow],
        base: &str,
        note: &AuditNote<'_>,
    ) -> Result<AssetReportOutcome, StoreError> {
        self.change(|db| {
            for (index, row) in rows.iter().enumerate() {
                check_texts("an amount", &[&row.currency])?;
                if row.currency != base && !has_rate(db, row)? {
                    return Ok(AssetReportOutcome::Unrated(index));
                }
            }
            for ReportedAssetsRow { account, day, currency, amount } in rows {
                db.run(sql::PUT_REPORTED_ASSETS, (account.0, day.to_string(), currency, amount))?;
            }
            let accounts = rows.iter().map(|row| row.account);
            audit::write(db, only(accounts), "assets.reported", note)?;
            count_change(db, &[])?;
            Ok(AssetReportOutcome::Done)
        })
    }

    pub fn put_rates(&self, rows: &[RateRow], note: &AuditNote<'_>) -> Result<(), StoreError> {
        self.change(|db| {
            for RateRow { currency, day, rate } in rows {
                check_texts("a rate", &[currency])?;
                db.run(sql::PUT_RATE, (currency, day.to_string(), rate))?;
            }
            audit::write(db, None, "rates.reported", note)?;
            count_change(db, &[])
        })
    }

    pub fn put_reported_orders(
        &self,
        rows: &[ReportedOrdersRow],
        note: &AuditNote<'_>,
    ) -> Result<(), StoreError> {
        self.change(|db| {
            for ReportedOrdersRow { account, day, report } in rows {
                let day = day.to_string();
                match report {
                    OrderReport::Count(orders) => {
                        db.run(sql::PUT_REPORTED_ORDER_COUNT, (account.0, day, orders))?
                    }
                    OrderReport::Order(order) => {
                        check_texts("an order", &[order])?;
                        db.run(sql::PUT_REPORTED_ORDER, (account.0, order, day))?
                    }
                };
            }
            let accounts = rows.iter().map(|row| row.account);
            audit::write(db, only(accounts), "orders.reported", note)?;
            count_change(db, &[])
        })
    }

    pub fn recorded_level(&self, id: AccountId) -> Result<Option<RecordedLevel>, StoreError> {
        recorded_level(&self.read(), id)
    }

    /// Records level changes. Skips an account if its recorded level is no longer `from`, for
    /// example because another process has changed it. Returns the number of recorded changes.
    pub fn record_levels(
        &self,
        changes: &[LevelChange],
        at: Timestamp,
        actor: &str,
    ) -> Result<usize, StoreError> {
        self.change(|db| {
            let mut written = 0;
            for LevelChange { account, from, to, reason } in changes {
                if recorded_level(db, *account)? != *from {
                    continue;
                }
                db.run(sql::SEE_LEVEL, (account.0, to.level, to.since.to_string()))?;
                audit::write(db, Some(*account), "level.changed", &AuditNote { at, actor, reason })?;
                written += 1;
            }
            Ok(written)
        })
    }
}

fn levels(db: &Db) -> Result<Vec<LevelRow>, StoreError> {
    db.all(sql::LEVELS, [], |row| {
        Ok(LevelRow {
            number: small(row, 0)?,
            quota: small(row, 1)?,
            assets: row.get::<Option<i64>>(2)?.map(|_| natural(row, 2)).transpose()?,
            orders: row.get::<Option<i64>>(3)?.map(|_| small(row, 3)).transpose()?,
        })
    })
}

fn recorded_level(db: &Db, id: AccountId) -> Result<Option<RecordedLevel>, StoreError> {
    db.first(sql::LEVEL_SEEN, [id.0], |row| Ok(RecordedLevel { level: small(row, 0)?, since: date(row, 1)? }))
}

fn has_rate(db: &Db, row: &ReportedAssetsRow) -> Result<bool, StoreError> {
    if builtin_rate(&row.currency, row.day).is_some() {
        return Ok(true);
    }
    db.one(sql::HAS_RATE, (&row.currency, row.day.to_string()), |row| row.get(0))
}

/// Returns the account that all rows refer to, or `None` if there are no rows or they refer to
/// several accounts.
fn only(mut accounts: impl Iterator<Item = AccountId>) -> Option<AccountId> {
    let first = accounts.next()?;
    accounts.all(|other| other == first).then_some(first)
}

pub(crate) fn date(row: &Row<'_>, column: usize) -> Result<Date, Fault> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| Fault::value("day", &text))
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        LEVELS: "list the levels", "select number, quota, assets, orders from sealed_level order by number";
        PUT_LEVEL: "change a level",
            "insert into level (number, quota, assets, orders) values ($1, $2, $3, $4) \
             on conflict (number) do update set quota = excluded.quota, assets = excluded.assets, orders = excluded.orders";

        REPORTED_ASSETS_AS_OF: "read the reported assets of an account",
            "select a.day, a.currency, a.amount, \
                coalesce( \
                    (select r.rate from sealed_exchange_rate r where r.currency = a.currency and r.day <= a.day \
                     order by r.day desc limit 1), \
                    (select r.rate from sealed_exchange_rate r where a.currency = 'CNH' and r.currency = 'CNY' \
                     and r.day <= a.day order by r.day desc limit 1)) \
             from sealed_asset a where a.account_id = $1 \
                and a.day = (select max(b.day) from sealed_asset b where b.account_id = $1 and b.day <= $2) \
             order by a.currency";
        REPORTED_ASSETS_OF: "list the reported assets of an account",
            "select day, currency, amount from sealed_asset where account_id = $1 order by day desc, currency limit $2";
        PUT_REPORTED_ASSETS: "record reported assets",
            "insert into asset (account_id, day, currency, amount) values ($1, $2, $3, $4) \
             on conflict (account_id, day, currency) do update set amount = excluded.amount";

        RATES: "list the exchange rates",
            "select currency, day, rate from sealed_exchange_rate where cast($1 as text) is null or currency = $1 \
             order by currency, day desc limit $2";
        HAS_RATE: "find an exchange rate",
            "select exists (select 1 from sealed_exchange_rate where currency = $1 and day <= $2)";
        PUT_RATE: "record an exchange rate",
            "insert into exchange_rate (currency, day, rate) values ($1, $2, $3) \
             on conflict (currency, day) do update set rate = excluded.rate";

        REPORTED_ORDERS_BETWEEN: "count the reported orders of an account",
            "select (select cast(coalesce(sum(orders), 0) as bigint) from sealed_order_count \
                     where account_id = $1 and day >= $2 and day < $3) \
                  + (select count(*) from sealed_completed_order where account_id = $1 and day >= $2 and day < $3)";
        HAS_REPORTS_BEFORE: "find reports about an account",
            "select exists (select 1 from sealed_asset where account_id = $1 and day < $2) \
                 or exists (select 1 from sealed_order_count where account_id = $1 and day < $2) \
                 or exists (select 1 from sealed_completed_order where account_id = $1 and day < $2)";
        REPORTED_ORDERS_OF: "list the reported orders of an account",
            "select day, cast(sum(orders) as bigint) from ( \
                select day, orders from sealed_order_count where account_id = $1 \
                union all select day, 1 as orders from sealed_completed_order where account_id = $1) as told \
             group by day order by day desc limit $2";
        PUT_REPORTED_ORDER_COUNT: "record a reported count of orders",
            "insert into order_count (account_id, day, orders) values ($1, $2, $3) \
             on conflict (account_id, day) do update set orders = excluded.orders";
        PUT_REPORTED_ORDER: "record a reported order",
            "insert into completed_order (account_id, order_id, day) values ($1, $2, $3) \
             on conflict (account_id, order_id) do nothing";

        LEVEL_SEEN: "read the level of an account", "select level, since from sealed_level_seen where account_id = $1";
        SEE_LEVEL: "record the level of an account",
            "insert into level_seen (account_id, level, since) values ($1, $2, $3) \
             on conflict (account_id) do update set level = excluded.level, since = excluded.since";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// These statements run for every account at the start of a day.
        #[test]
        fn reading_reports_for_a_level_uses_the_indexes() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ACCOUNTS,
                &[REPORTED_ASSETS_AS_OF, REPORTED_ORDERS_BETWEEN, HAS_REPORTS_BEFORE, LEVEL_SEEN, HAS_RATE],
            );
        }
    }
}
