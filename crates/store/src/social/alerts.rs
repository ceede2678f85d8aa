//! Price alerts and their firings. The store does not interpret conditions and frequencies; the
//! server compares quotes.

use market::{Date, Price, Symbol, Timestamp};

use crate::accounts::{Accounts, check_texts, count_change, take};
use crate::engine::{Fault, Row, StoreError, small};
use crate::ids::AccountId;

/// Number of firings of an account that are stored.
pub const ALERT_FIRINGS_MAX: u32 = 200;

/// Id of an alert, unique over all accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AlertId(pub i64);

/// What a new alert waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAlert {
    pub account: AccountId,
    pub symbol: Symbol,
    pub condition: String,
    /// A price, or a percentage in the same unit.
    pub value: Price,
    pub frequency: String,
    /// Market time.
    pub created_at: Timestamp,
    pub is_met: bool,
    pub seen: Option<AlertSeen>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertRow {
    pub id: AlertId,
    pub account: AccountId,
    pub symbol: Symbol,
    pub condition: String,
    pub value: Price,
    pub frequency: String,
    pub is_enabled: bool,
    /// Incremented by each change of the row.
    pub revision: i64,
    pub created_at: Timestamp,
    pub is_met: bool,
    pub seen: Option<AlertSeen>,
    pub fired_on: Option<Date>,
}

/// The last quote that was compared with an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertSeen {
    pub at: Timestamp,
    pub day: Date,
    pub high: Price,
    pub low: Price,
    pub last: Price,
}

/// An alert that has fired, with its condition at that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertFiring {
    /// Firings of an account are numbered from 1.
    pub number: i64,
    pub alert: AlertId,
    pub symbol: Symbol,
    pub condition: String,
    pub value: Price,
    /// Market time.
    pub at: Timestamp,
    pub price: Price,
}

impl Accounts {
    /// Returns the alerts of an account, oldest first.
    pub fn alerts(&self, account: AccountId) -> Result<Vec<AlertRow>, StoreError> {
        self.read().all(sql::OF_ACCOUNT, [account.0], AlertRow::read)
    }

    /// Returns the enabled alerts of all accounts that have no world, oldest first. Those of revoked
    /// accounts, such as the account of a deleted world, are left out.
    pub fn enabled_alerts(&self) -> Result<Vec<AlertRow>, StoreError> {
        self.read().all(sql::ENABLED, [], AlertRow::read)
    }

    /// Returns the firings of an account up to an instant, newest first.
    pub fn alert_firings(
        &self,
        account: AccountId,
        until: Timestamp,
    ) -> Result<Vec<AlertFiring>, StoreError> {
        self.read().all(sql::FIRINGS, (account.0, until.0), AlertFiring::read)
    }

    /// Adds an alert, unless the account has `most` already. Servers reload alerts after it.
    pub fn add_alert(&self, new: &NewAlert, most: u32) -> Result<Option<AlertId>, StoreError> {
        let NewAlert { account, symbol, condition, value, frequency, created_at, is_met, seen } = new;
        check_texts("an alert", &[condition, frequency])?;
        self.change(|db| {
            if db.one(sql::COUNT, [account.0], |row| small(row, 0))? >= most {
                return Ok(None);
            }
            let id = take(db, "alert")?;
            let seen = Columns::of(seen.as_ref());
            db.run(
                sql::ADD,
                (
                    id,
                    account.0,
                    symbol.as_str(),
                    condition,
                    value.0,
                    frequency,
                    created_at.0,
                    is_met,
                    seen.at,
                    seen.day,
                    seen.high,
                    seen.low,
                    seen.last,
                ),
            )?;
            count_change(db, &[])?;
            Ok(Some(AlertId(id)))
        })
    }

    /// Replaces the condition and the state of an alert as its account requests. Returns `false` and
    /// changes nothing if the row has changed since it was read. Servers reload alerts after it.
    pub fn change_alert(&self, row: &AlertRow) -> Result<bool, StoreError> {
        check_texts("an alert", &[&row.condition, &row.frequency])?;
        self.change(|db| {
            let seen = Columns::of(row.seen.as_ref());
            let changed = db.run(
                sql::CHANGE,
                (
                    &row.condition,
                    row.value.0,
                    &row.frequency,
                    row.is_enabled,
                    row.is_met,
                    seen.at,
                    seen.day,
                    seen.high,
                    seen.low,
                    seen.last,
                    row.fired_on.map(|day| day.to_string()),
                    row.id.0,
                    row.account.0,
                    row.revision,
                ),
            )?;
            count_change(db, &[])?;
            Ok(changed > 0)
        })
    }

    /// Removes alerts of an account. Returns how many there were.
    pub fn remove_alerts(&self, account: AccountId, ids: &[AlertId]) -> Result<usize, StoreError> {
        self.change(|db| {
            let mut removed = 0;
            for id in ids {
                removed += db.run(sql::REMOVE, (id.0, account.0))?;
            }
            count_change(db, &[])?;
            Ok(removed)
        })
    }

    /// Stores the state of an alert after a quote and, if it has fired, the instant and the price.
    /// Returns `false` and changes nothing if the row has changed since it was read, because the
    /// account or another server has changed it. Does not increment the accounts version, because
    /// quotes change often.
    pub fn follow_alert(
        &self,
        row: &AlertRow,
        fired: Option<(Timestamp, Price)>,
    ) -> Result<bool, StoreError> {
        let account = row.account;
        self.change_of(account, |db| {
            let seen = Columns::of(row.seen.as_ref());
            let changed = db.run(
                sql::FOLLOW,
                (
                    row.is_enabled,
                    row.is_met,
                    seen.at,
                    seen.day,
                    seen.high,
                    seen.low,
                    seen.last,
                    row.fired_on.map(|day| day.to_string()),
                    row.id.0,
                    account.0,
                    row.revision,
                ),
            )?;
            let Some((at, price)) = fired.filter(|_| changed > 0) else { return Ok(changed > 0) };
            let last = db.first(sql::LAST_FIRING, [account.0], |row| row.get::<i64>(0))?;
            let number = last.unwrap_or(0).saturating_add(1);
            let AlertRow { id, symbol, condition, value, .. } = row;
            db.run(sql::FIRE, (account.0, number, id.0, symbol.as_str(), condition, value.0, at.0, price.0))?;
            db.run(sql::TRIM, (account.0, number.saturating_sub(i64::from(ALERT_FIRINGS_MAX))))?;
            Ok(true)
        })
    }
}

/// Column values of the last quote.
#[derive(Default)]
struct Columns {
    at: Option<i64>,
    day: Option<String>,
    high: Option<i64>,
    low: Option<i64>,
    last: Option<i64>,
}

impl Columns {
    fn of(seen: Option<&AlertSeen>) -> Columns {
        let Some(AlertSeen { at, day, high, low, last }) = seen else { return Columns::default() };
        Columns {
            at: Some(at.0),
            day: Some(day.to_string()),
            high: Some(high.0),
            low: Some(low.0),
            last: Some(last.0),
        }
    }
}

impl AlertRow {
    fn read(row: &Row<'_>) -> Result<AlertRow, Fault> {
        let seen = match (row.get(9)?, date(row, 10)?, row.get(11)?, row.get(12)?, row.get(13)?) {
            (Some(at), Some(day), Some(high), Some(low), Some(last)) => Some(AlertSeen {
                at: Timestamp(at),
                day,
                high: Price(high),
                low: Price(low),
                last: Price(last),
            }),
            _ => None,
        };
        Ok(AlertRow {
            id: AlertId(row.get(0)?),
            account: AccountId(row.get(1)?),
            symbol: symbol(row, 2)?,
            condition: row.get(3)?,
            value: Price(row.get(4)?),
            frequency: row.get(5)?,
            is_enabled: row.get(6)?,
            revision: row.get(7)?,
            created_at: Timestamp(row.get(8)?),
            seen,
            is_met: row.get(14)?,
            fired_on: date(row, 15)?,
        })
    }
}

impl AlertFiring {
    fn read(row: &Row<'_>) -> Result<AlertFiring, Fault> {
        Ok(AlertFiring {
            number: row.get(0)?,
            alert: AlertId(row.get(1)?),
            symbol: symbol(row, 2)?,
            condition: row.get(3)?,
            value: Price(row.get(4)?),
            at: Timestamp(row.get(5)?),
            price: Price(row.get(6)?),
        })
    }
}

fn symbol(row: &Row<'_>, column: usize) -> Result<Symbol, Fault> {
    let text = row.text(column)?;
    text.parse().map_err(|_| Fault::value("symbol", text))
}

fn date(row: &Row<'_>, column: usize) -> Result<Option<Date>, Fault> {
    let Some(text) = row.text_or_null(column)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| Fault::value("date", text))
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    macro_rules! select_alert {
        ($rest:literal) => {
            concat!(
                "select id, account_id, symbol, condition, value, frequency, enabled, revision, created_at, seen_at, \
                 seen_day, seen_high, seen_low, seen_last, met, fired_on from sealed_alert ",
                $rest
            )
        };
    }

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        OF_ACCOUNT: "list the alerts of an account", select_alert!("where account_id = $1 order by id");
        ENABLED: "list the enabled alerts",
            select_alert!(
                "where enabled = 1 and account_id not in (select account_id from sealed_world) \
                 and account_id not in (select id from sealed_account where revoked_at is not null) order by id"
            );
        COUNT: "count the alerts of an account", "select count(*) from sealed_alert where account_id = $1";
        ADD: "add an alert",
            "insert into alert (id, account_id, symbol, condition, value, frequency, enabled, revision, created_at, met, \
             seen_at, seen_day, seen_high, seen_low, seen_last) \
             values ($1, $2, $3, $4, $5, $6, 1, 1, $7, $8, $9, $10, $11, $12, $13)";
        CHANGE: "change an alert",
            "update alert set condition = $1, value = $2, frequency = $3, enabled = $4, met = $5, seen_at = $6, \
             seen_day = $7, seen_high = $8, seen_low = $9, seen_last = $10, fired_on = $11, revision = revision + 1 \
             where id = $12 and account_id = $13 and revision = $14";
        REMOVE: "remove an alert", "delete from alert where id = $1 and account_id = $2";
        FOLLOW: "store the state of an alert",
            "update alert set enabled = $1, met = $2, seen_at = $3, seen_day = $4, seen_high = $5, seen_low = $6, \
             seen_last = $7, fired_on = $8, revision = revision + 1 \
             where id = $9 and account_id = $10 and revision = $11";
        LAST_FIRING: "find the last firing of an account",
            "select number from sealed_alert_firing where account_id = $1 order by number desc limit 1";
        FIRE: "record that an alert has fired",
            "insert into alert_firing (account_id, number, alert_id, symbol, condition, value, at, price) \
             values ($1, $2, $3, $4, $5, $6, $7, $8)";
        TRIM: "remove old firings", "delete from alert_firing where account_id = $1 and number <= $2";
        FIRINGS: "list the firings of an account",
            "select number, alert_id, symbol, condition, value, at, price from sealed_alert_firing \
             where account_id = $1 and at <= $2 order by number desc";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn queries_for_alerts_use_their_indexes() {
            let all = [OF_ACCOUNT, COUNT, CHANGE, REMOVE, FOLLOW, LAST_FIRING, FIRE, TRIM, FIRINGS];
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
        }
    }
}
