//! Securities that the connections of an account subscribe to, counted over all nodes. Rows belong
//! to a connection slot and are removed with it. Rows of dead nodes are not counted.

use std::collections::BTreeSet;

use market::Symbol;

use super::{Shared, slots, within};
use crate::engine::StoreError;
use crate::ids::AccountId;

/// What to reserve if the limit does not allow all of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Nothing.
    AllOrNothing,
    /// As many as fit, the smallest symbols first.
    Smallest,
}

/// A request for subscriptions of one connection.
#[derive(Clone, Copy, Debug)]
pub struct SubscriptionRequest<'a> {
    pub account: AccountId,
    /// Slot of the connection.
    pub slot: i64,
    /// Symbols that the connection does not subscribe to yet.
    pub symbols: &'a BTreeSet<Symbol>,
    /// Maximum number of distinct symbols of the account.
    pub limit: u32,
    pub fit: Fit,
}

/// Result of a request for subscriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Number of distinct symbols of the account, including the added ones.
    pub used: u32,
    /// Symbols that the connection did not have before, ascending.
    pub added: Vec<Symbol>,
    /// Symbols that are new to the account and did not fit, ascending. With
    /// [`Fit::AllOrNothing`], all that are new to the account.
    pub over: Vec<Symbol>,
}

impl Reserved {
    /// Decides which symbols fit. The account has `used` distinct symbols. Symbols that it already
    /// has on another connection always fit.
    pub fn of(request: &SubscriptionRequest<'_>, used: u32, is_used: impl Fn(&Symbol) -> bool) -> Reserved {
        let (mut added, mut over): (Vec<Symbol>, Vec<Symbol>) =
            request.symbols.iter().cloned().partition(is_used);
        let free = usize::try_from(request.limit.saturating_sub(used)).unwrap_or(usize::MAX);
        if over.len() > free && request.fit == Fit::AllOrNothing {
            return Reserved { used, added: Vec::new(), over };
        }
        let new = over.drain(..free.min(over.len()));
        let used = used.saturating_add(u32::try_from(new.len()).unwrap_or(u32::MAX));
        added.extend(new);
        added.sort_unstable();
        Reserved { used, added, over }
    }
}

impl Shared {
    /// Adds subscriptions of a connection within the limit of its account. Concurrent requests of
    /// an account are serialized.
    pub fn reserve_subscriptions(&self, request: &SubscriptionRequest<'_>) -> Result<Reserved, StoreError> {
        // Connections that this node has closed must not be counted.
        self.write_left()?;
        within(&self.quick(), |db| {
            db.first(slots::sql::LOCK_ACCOUNT, [request.account.0], |_| Ok(()))?;
            let values = (request.account.0, list(request.symbols));
            let (used, found): (i64, String) =
                db.one(sql::USED, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
            let found: BTreeSet<&str> = found.split(SEPARATOR).collect();
            let used = u32::try_from(used).unwrap_or(u32::MAX);
            let reserved = Reserved::of(request, used, |symbol| found.contains(symbol.as_str()));
            if !reserved.added.is_empty() {
                db.run(sql::ADD, (request.slot, list(&reserved.added)))?;
            }
            Ok(reserved)
        })
    }

    /// Removes subscriptions of a connection.
    pub fn release_subscriptions(&self, slot: i64, symbols: &BTreeSet<Symbol>) -> Result<(), StoreError> {
        self.quick().run(sql::REMOVE, (slot, list(symbols))).map(drop)
    }

    /// Replaces all subscriptions of a connection.
    pub fn write_subscriptions(&self, slot: i64, symbols: &BTreeSet<Symbol>) -> Result<(), StoreError> {
        let symbols = list(symbols);
        within(&self.quick(), |db| {
            db.run(sql::REMOVE_OTHERS, (slot, &symbols))?;
            db.run(sql::ADD, (slot, &symbols)).map(drop)
        })
    }
}

/// Separates symbols in a parameter. No symbol contains it.
const SEPARATOR: char = ',';

fn list<'a>(symbols: impl IntoIterator<Item = &'a Symbol>) -> String {
    let symbols: Vec<&str> = symbols.into_iter().map(Symbol::as_str).collect();
    symbols.join(&SEPARATOR.to_string())
}

mod sql {
    use super::super::now_us;
    use super::super::slots::sql::live;
    use crate::engine::Sql;

    /// Locks the slot of a connection, so that a concurrent release of the slot waits. The release
    /// deletes the same rows in another order, which could cause a deadlock.
    macro_rules! slot {
        () => {
            "(select id from seat where id = $1 for key share)"
        };
    }

    /// Returns the number of distinct symbols of an account, and which of the given symbols are
    /// among them.
    pub(crate) const USED: Sql = Sql::new(
        "count subscriptions",
        concat!(
            "with used as (select distinct symbol from subscription where seat in (select seat.id ",
            live!(),
            " and seat.account_id = $1)) \
             select (select count(*) from used), coalesce((select string_agg(symbol, ',') from used \
             where symbol = any(string_to_array($2, ','))), '')"
        ),
    );

    /// Adds nothing if the connection has no slot. Its node then writes the slot and the
    /// subscriptions later.
    pub(crate) const ADD: Sql = Sql::new(
        "store subscriptions",
        concat!(
            "insert into subscription (seat, symbol) select slot.id, given.symbol from ",
            slot!(),
            " as slot cross join unnest(string_to_array($2, ',')) as given (symbol) \
             on conflict (seat, symbol) do nothing"
        ),
    );

    pub(crate) const REMOVE: Sql = Sql::new(
        "release subscriptions",
        concat!(
            "delete from subscription where seat in ",
            slot!(),
            " and symbol = any(string_to_array($2, ','))"
        ),
    );

    pub(crate) const REMOVE_OTHERS: Sql = Sql::new(
        "release subscriptions",
        concat!(
            "delete from subscription where seat in ",
            slot!(),
            " and symbol <> all(string_to_array($2, ','))"
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(names: &[&str]) -> BTreeSet<Symbol> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn only_symbols_new_to_the_account_count_toward_the_limit() {
        let used = symbols(&["1.HK", "2.HK"]);
        let reserve = |names: &[&str], limit, fit| {
            let symbols = &symbols(names);
            let request = SubscriptionRequest { account: AccountId(1), slot: 1, symbols, limit, fit };
            let Reserved { used, added, over } = Reserved::of(&request, 2, |symbol| used.contains(symbol));
            format!("{used} {} {}", list(&added), list(&over))
        };
        for (names, limit, all_or_nothing, smallest) in [
            (&["AAPL.US", "2.HK", "5.HK"][..], 4, "4 2.HK,5.HK,AAPL.US ", "4 2.HK,5.HK,AAPL.US "),
            (&["AAPL.US", "2.HK", "5.HK"], 3, "2  5.HK,AAPL.US", "3 2.HK,5.HK AAPL.US"),
            (&["AAPL.US", "2.HK", "5.HK"], 0, "2  5.HK,AAPL.US", "2 2.HK 5.HK,AAPL.US"),
            (&["1.HK", "2.HK"], 0, "2 1.HK,2.HK ", "2 1.HK,2.HK "),
            (&[], 0, "2  ", "2  "),
        ] {
            assert_eq!(reserve(names, limit, Fit::AllOrNothing), all_or_nothing, "{names:?} {limit}");
            assert_eq!(reserve(names, limit, Fit::Smallest), smallest, "{names:?} {limit}");
        }
    }
}
