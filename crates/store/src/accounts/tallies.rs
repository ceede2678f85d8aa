//! What paper accounts contribute to levels: what they were worth at the end of days, and on which days their orders were filled. It is
//! worked out from their journals, kept beside what operators report and never mixed with it, and may be thrown away at any time.

use market::{Date, Market, Timestamp, Zone};

use super::changes::count_change;
use super::levels::date;
use super::{AccountId, Accounts, ReportedHolding, journal, tallies_sql as sql};
use crate::StoreError;
use crate::count::{natural, signed, small};
use crate::engine::Db;

/// For which days paper accounts are to be tallied, so that levels can be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyDays {
    /// The day of the market on which it is done.
    pub today: Date,
    /// The days at whose end assets matter: ascending, and all before today.
    pub ends: Vec<Date>,
    /// From which day on orders matter.
    pub orders_from: Date,
}

/// What one paper account contributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperTally {
    pub account: AccountId,
    /// The day of the market on which it was worked out.
    pub today: Date,
    /// The journal that it was worked out from.
    pub revision: u64,
    pub assets: Vec<PaperAssets>,
    /// Orders by the day their first fill is booked on, ascending; all there are from a day on.
    pub orders_from: Date,
    pub orders: Vec<(Date, u32)>,
}

/// What an account had on paper at the end of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaperAssets {
    pub day: Date,
    /// By currency, in ten-thousandths of it; ascending.
    pub amounts: Vec<(String, i64)>,
}

impl Accounts {
    /// Accounts with a journal that were not tallied on a day, or whose journal was cut since: those after a number, at most so many.
    pub fn untallied_journals(
        &self,
        today: Date,
        after: AccountId,
        limit: u32,
    ) -> Result<Vec<AccountId>, StoreError> {
        let within = (after.0, today.to_string(), limit);
        self.read().all(sql::UNTALLIED, within, |row| Ok(AccountId(row.get(0)?)))
    }

    /// Whether there is nothing to be tallied of an account on a day.
    pub fn is_tallied(&self, id: AccountId, today: Date) -> Result<bool, StoreError> {
        let db = self.read();
        let Some(head) = journal::head(&db, id)? else { return Ok(true) };
        let last = db.first(sql::TALLIED, [id.0], |row| Ok((date(row, 0)?, natural(row, 1)?)))?;
        Ok(last == Some((today, head.era())))
    }

    /// Keeps what was worked out, except of accounts whose journals were cut meanwhile.
    pub fn put_paper_tallies(&self, tallies: &[PaperTally]) -> Result<(), StoreError> {
        self.change(|db| {
            let mut is_changed = false;
            for tally in tallies {
                is_changed |= put(db, tally)?;
            }
            // Levels are judged anew only if there is a reason.
            if is_changed {
                count_change(db, &[])?;
            }
            Ok(())
        })
    }

    /// Forgets all of it.
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

    /// What an account had on paper on the latest day, up to `day`, for which that is known.
    pub fn paper_assets_as_of(&self, id: AccountId, day: Date) -> Result<Vec<ReportedHolding>, StoreError> {
        self.read().all(sql::ASSETS_AS_OF, (id.0, day.to_string()), ReportedHolding::read)
    }

    /// How many orders on paper have their first fill from a day on, up to another and without it.
    pub fn paper_orders_between(&self, id: AccountId, from: Date, to: Date) -> Result<u64, StoreError> {
        let between = (id.0, from.to_string(), to.to_string());
        self.read().one(sql::ORDERS_BETWEEN, between, |row| natural(row, 0))
    }
}

/// Whether anything is different from what was kept before.
fn put(db: &Db, tally: &PaperTally) -> Result<bool, StoreError> {
    let PaperTally { account, today, revision, assets, orders_from, orders } = tally;
    let era = journal::era(*revision);
    if journal::head(db, *account)?.is_none_or(|head| head.era() != era) {
        return Ok(false);
    }
    let mut is_changed = false;
    for PaperAssets { day, amounts } in assets {
        let on = (account.0, day.to_string());
        let kept: Vec<(String, i64)> =
            db.all(sql::ASSETS_ON, on.clone(), |row| Ok((row.get(0)?, row.get(1)?)))?;
        if kept == *amounts {
            continue;
        }
        is_changed = true;
        db.run(sql::CUT_ASSETS_ON, on)?;
        for (currency, amount) in amounts {
            db.run(sql::ADD_ASSETS, (account.0, day.to_string(), currency, amount))?;
        }
    }
    let from = (account.0, orders_from.to_string());
    let kept = db.all(sql::ORDERS_FROM, from.clone(), |row| Ok((date(row, 0)?, small(row, 1)?)))?;
    if kept != *orders {
        is_changed = true;
        db.run(sql::CUT_ORDERS, from)?;
        for (day, count) in orders {
            db.run(sql::ADD_ORDERS, (account.0, day.to_string(), count))?;
        }
    }
    db.run(sql::PUT_TALLY, (account.0, today.to_string(), signed(era)))?;
    Ok(is_changed)
}

/// Takes back what follows from the part of a journal after an instant, in the transaction that cuts it.
pub(super) fn take_back(db: &Db, account: AccountId, to: Timestamp) -> Result<(), StoreError> {
    let day = Zone::of(Market::Hk).date(to);
    // What is filled in New York after midnight in Hong Kong is booked on the day before.
    let booked = day.yesterday().unwrap_or(day);
    let cut = db.run(sql::CUT_ASSETS, (account.0, day.to_string()))?
        + db.run(sql::CUT_ORDERS, (account.0, booked.to_string()))?;
    db.run(sql::CUT_TALLY, [account.0])?;
    if cut > 0 {
        count_change(db, &[])?;
    }
    Ok(())
}
