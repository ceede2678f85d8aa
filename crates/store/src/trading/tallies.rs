//! Contribution of paper accounts to account levels: their closing assets and number of orders per
//! day. Tallies are derived from the journals, stored separately from operators' reports, and may
//! be dropped at any time.

use market::{Date, Market, Timestamp, Zone};

use super::journal;
use crate::accounts::{Accounts, ReportedHolding, count_change, levels::date};
use crate::engine::{Db, StoreError, natural, signed, small};
use crate::ids::AccountId;

/// The days for which paper accounts must be tallied to compute levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyDays {
    /// The current day of the market.
    pub today: Date,
    /// The days whose closing assets are needed, in ascending order. All of them are before
    /// `today`.
    pub ends: Vec<Date>,
    /// The first day whose orders are needed.
    pub orders_from: Date,
}

/// The contribution of one paper account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperTally {
    pub account: AccountId,
    /// The market's day on which the tally was computed.
    pub today: Date,
    /// The journal revision that the tally was computed from.
    pub revision: u64,
    pub assets: Vec<PaperAssets>,
    /// The first day from which `orders` is complete.
    pub orders_from: Date,
    /// Number of orders by the booking day of their first fill, in ascending order.
    pub orders: Vec<(Date, u32)>,
}

/// Closing assets of a paper account on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperAssets {
    pub day: Date,
    /// Amounts by currency in ten-thousandths of a unit, in ascending order.
    pub amounts: Vec<(String, i64)>,
}

impl Accounts {
    /// Returns accounts with a journal that were not tallied on a day, or whose journal was rewound
    /// since the tally. Returns at most `limit` accounts with ids above `after`.
    pub fn untallied_journals(
        &self,
        today: Date,
        after: AccountId,
        limit: u32,
    ) -> Result<Vec<AccountId>, StoreError> {
        let within = (after.0, today.to_string(), limit);
        self.read().all(sql::UNTALLIED, within, |row| Ok(AccountId(row.get(0)?)))
    }

    /// Returns whether an account needs no tally on a day, because it has no journal or was already
    /// tallied.
    pub fn is_tallied(&self, id: AccountId, today: Date) -> Result<bool, StoreError> {
        let db = self.read();
        let Some(head) = journal::head(&db, id)? else { return Ok(true) };
        let last = db.first(sql::TALLIED, [id.0], |row| Ok((date(row, 0)?, natural(row, 1)?)))?;
        Ok(last == Some((today, head.era())))
    }

    /// Stores tallies. Skips accounts whose journals were rewound in the meantime.
    pub fn put_paper_tallies(&self, tallies: &[PaperTally]) -> Result<(), StoreError> {
        self.change(|db| {
            let mut is_changed = false;
            for tally in tallies {
                is_changed |= put(db, tally)?;
            }
            // The version is incremented only on a change, because an increment causes levels to be
            // computed again.
            if is_changed {
                count_change(db, &[])?;
            }
            Ok(())
        })
    }

    /// Removes the tallies of all accounts.
    pub fn drop_paper_tallies(&self) -> Result<(), StoreError> {
        if !self.read().one(sql::ANY_TALLY, [], |row| row.get::<bool>(0))? {
            return Ok(());
        }
        self.change(|db| {
            for sql in [sql::DROP_ASSETS, sql::DROP_ORDERS, sql::DROP_TALLIES] {
                db.run(sql, [])?;
            }
            count_change(db, &[])
        })
    }

    /// Returns an account's paper assets on the latest day up to `day` (inclusive) that has a
    /// tally, or an empty list if no day has one.
    pub fn paper_assets_as_of(&self, id: AccountId, day: Date) -> Result<Vec<ReportedHolding>, StoreError> {
        self.read().all(sql::ASSETS_AS_OF, (id.0, day.to_string()), ReportedHolding::read)
    }

    /// Returns the number of paper orders whose first fill is from `from` (inclusive) to `to`
    /// (exclusive).
    pub fn paper_orders_between(&self, id: AccountId, from: Date, to: Date) -> Result<u64, StoreError> {
        let between = (id.0, from.to_string(), to.to_string());
        self.read().one(sql::ORDERS_BETWEEN, between, |row| natural(row, 0))
    }
}

/// Stores a tally. Returns whether the stored assets or orders changed.
fn put(db: &Db, tally: &PaperTally) -> Result<bool, StoreError> {
    let PaperTally { account, today, revision, assets, orders_from, orders } = tally;
    let era = journal::era(*revision);
    if journal::head(db, *account)?.is_none_or(|head| head.era() != era) {
        return Ok(false);
    }
    let mut is_changed = false;
    for PaperAssets { day, amounts } in assets {
        let on = (account.0, day.to_string());
        let stored: Vec<(String, i64)> =
            db.all(sql::ASSETS_ON, on.clone(), |row| Ok((row.get(0)?, row.get(1)?)))?;
        if stored == *amounts {
            continue;
        }
        is_changed = true;
        db.run(sql::CUT_ASSETS_ON, on)?;
        for (currency, amount) in amounts {
            db.run(sql::ADD_ASSETS, (account.0, day.to_string(), currency, amount))?;
        }
    }
    let from = (account.0, orders_from.to_string());
    let stored = db.all(sql::ORDERS_FROM, from.clone(), |row| Ok((date(row, 0)?, small(row, 1)?)))?;
    if stored != *orders {
        is_changed = true;
        db.run(sql::CUT_ORDERS, from)?;
        for (day, count) in orders {
            db.run(sql::ADD_ORDERS, (account.0, day.to_string(), count))?;
        }
    }
    db.run(sql::PUT_TALLY, (account.0, today.to_string(), signed(era)))?;
    Ok(is_changed)
}

/// Removes tallies that depend on journal entries after `to`. Must be called in the transaction
/// that removes those entries.
pub(super) fn take_back(db: &Db, account: AccountId, to: Timestamp) -> Result<(), StoreError> {
    let day = Zone::of(Market::Hk).date(to);
    // Fills in New York after midnight in Hong Kong are booked on the previous day.
    let booked = day.yesterday().unwrap_or(day);
    let cut = db.run(sql::CUT_ASSETS, (account.0, day.to_string()))?
        + db.run(sql::CUT_ORDERS, (account.0, booked.to_string()))?;
    db.run(sql::CUT_TALLY, [account.0])?;
    if cut > 0 {
        count_change(db, &[])?;
    }
    Ok(())
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        UNTALLIED: "list the paper accounts without a tally",
            "select h.account_id from sealed_journal_head h where h.account_id > $1 \
             and not exists (select 1 from sealed_world w where w.account_id = h.account_id) and not exists \
                (select 1 from sealed_paper_tally t \
                 where t.account_id = h.account_id and t.day = $2 and t.era = h.revision / 4294967296) \
             order by h.account_id limit $3";
        TALLIED: "read when a paper account was tallied", "select day, era from sealed_paper_tally where account_id = $1";
        PUT_TALLY: "record that a paper account was tallied",
            "insert into paper_tally (account_id, day, era) values ($1, $2, $3) \
             on conflict (account_id) do update set day = excluded.day, era = excluded.era";
        ANY_TALLY: "find tallies of paper accounts", "select exists (select 1 from sealed_paper_tally)";

        ASSETS_AS_OF: "read the paper assets of an account",
            "select a.day, a.currency, a.amount, \
                coalesce( \
                    (select r.rate from sealed_exchange_rate r where r.currency = a.currency and r.day <= a.day \
                     order by r.day desc limit 1), \
                    (select r.rate from sealed_exchange_rate r where a.currency = 'CNH' and r.currency = 'CNY' \
                     and r.day <= a.day order by r.day desc limit 1)) \
             from sealed_paper_asset a where a.account_id = $1 \
                and a.day = (select max(b.day) from sealed_paper_asset b where b.account_id = $1 and b.day <= $2) \
             order by a.currency";
        ASSETS_ON: "read a day's paper assets of an account",
            "select currency, amount from sealed_paper_asset where account_id = $1 and day = $2 order by currency";
        CUT_ASSETS_ON: "delete a day's paper assets of an account",
            "delete from paper_asset where account_id = $1 and day = $2";
        ADD_ASSETS: "record the paper assets of an account",
            "insert into paper_asset (account_id, day, currency, amount) values ($1, $2, $3, $4)";

        ORDERS_BETWEEN: "count the paper orders of an account",
            "select cast(coalesce(sum(orders), 0) as bigint) from sealed_paper_order_count where account_id = $1 and day >= $2 and day < $3";
        ORDERS_FROM: "list the paper orders of an account",
            "select day, orders from sealed_paper_order_count where account_id = $1 and day >= $2 order by day";
        ADD_ORDERS: "record the paper orders of an account",
            "insert into paper_order_count (account_id, day, orders) values ($1, $2, $3)";

        CUT_ASSETS: "delete later paper assets of an account",
            "delete from paper_asset where account_id = $1 and day >= $2";
        CUT_ORDERS: "delete later paper orders of an account",
            "delete from paper_order_count where account_id = $1 and day >= $2";
        CUT_TALLY: "mark a paper account for a new tally", "delete from paper_tally where account_id = $1";

        DROP_ASSETS: "delete old paper assets", "delete from paper_asset";
        DROP_ORDERS: "delete old paper orders", "delete from paper_order_count";
        DROP_TALLIES: "delete old tally times", "delete from paper_tally";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// These statements run for each account at the start of a day, so they must not scan a
        /// table.
        #[test]
        fn reading_tallies_for_a_level_uses_the_indexes() {
            let all = [TALLIED, ASSETS_AS_OF, ASSETS_ON, ORDERS_BETWEEN, ORDERS_FROM];
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
        }
    }
}
