//! Watchlists of an account in the local store, with the same answers as a server.

use std::collections::HashSet;

use access::{
    Account, GroupRemains, MembersChange, Pin, PricedSecurity, WatchlistError, WatchlistId, WatchlistName,
};
use anyhow::anyhow;
use history::{AsOf, History};
use market::{FloorTable, Symbol};
use serde_json::Value;
use store::Reader;

use super::source::{Members, Pinning};
use crate::command::trade::Books;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};

pub(super) struct Here {
    books: Books,
    account: Account,
    history: History,
    reader: Reader,
    as_of: AsOf,
}

impl Here {
    pub(super) fn open(context: &CommandContext, name: Option<&str>) -> Result<Here, Failure> {
        let books = Books::open(context)?;
        let account = books.account(name)?;
        let history = History::new(context.history.venues().clone());
        let reader = context.open(store::Access::Read)?.reader()?;
        Ok(Here { books, account, history, reader, as_of: context.as_of() })
    }

    pub(super) fn document(&self) -> Result<Value, Failure> {
        let lists = self.books.access.watchlists(self.account.id)?;
        let names = self.books.names()?;
        Ok(server::watchlists_document(&lists, |symbol| {
            Some(names(symbol)).filter(|name| !name.is_empty()).unwrap_or_else(|| symbol.ticker().to_owned())
        }))
    }

    pub(super) fn create(&mut self, name: &str, symbols: Vec<Symbol>) -> Result<String, Failure> {
        self.check_may_change()?;
        let name = WatchlistName::parse(name).map_err(to_failure)?;
        let securities = self.priced(symbols, None, MembersChange::Add)?;
        let created =
            self.books.access.create_watchlist(self.account.id, &name, &securities, self.as_of.now());
        Ok(created.map_err(to_failure)?.0.to_string())
    }

    pub(super) fn change(&mut self, id: &str, members: Members, symbols: Vec<Symbol>) -> Result<(), Failure> {
        self.check_may_change()?;
        let change: fn(Vec<PricedSecurity>) -> MembersChange = match members {
            Members::Add => MembersChange::Add,
            Members::Replace => MembersChange::Replace,
            Members::Remove => return self.update(id, None, Some(&MembersChange::Remove(symbols))),
        };
        let members = change(self.priced(symbols, Some(group(id)?), change)?);
        self.update(id, None, Some(&members))
    }

    pub(super) fn rename(&self, id: &str, name: &str) -> Result<(), Failure> {
        self.check_may_change()?;
        self.update(id, Some(&WatchlistName::parse(name).map_err(to_failure)?), None)
    }

    pub(super) fn delete(&self, id: &str, purge: bool) -> Result<(), Failure> {
        self.check_may_change()?;
        let remains = if purge { GroupRemains::Nothing } else { GroupRemains::Followed };
        self.books.access.delete_watchlist(self.account.id, group(id)?, remains).map_err(to_failure)
    }

    pub(super) fn pin(&self, symbols: &[Symbol], pinning: Pinning) -> Result<(), Failure> {
        self.check_may_change()?;
        let pin = match pinning {
            Pinning::Add => Pin::Add,
            Pinning::Remove => Pin::Remove,
        };
        self.books.access.pin_securities(self.account.id, symbols, pin).map_err(to_failure)
    }

    fn update(
        &self,
        id: &str,
        name: Option<&WatchlistName>,
        members: Option<&MembersChange>,
    ) -> Result<(), Failure> {
        let (account, now) = (self.account.id, self.as_of.now());
        self.books.access.update_watchlist(account, group(id)?, name, members, now).map_err(to_failure)
    }

    /// Securities with the last price that the account may see now. One that is not followed yet
    /// must be stored.
    fn priced(
        &mut self,
        symbols: Vec<Symbol>,
        group: Option<WatchlistId>,
        change: fn(Vec<PricedSecurity>) -> MembersChange,
    ) -> Result<Vec<PricedSecurity>, Failure> {
        let lists = self.books.access.watchlists(self.account.id)?;
        let followed: HashSet<Symbol> = lists.followed.iter().map(|one| one.symbol.clone()).collect();
        let mut securities: Vec<PricedSecurity> =
            symbols.into_iter().map(|symbol| PricedSecurity { symbol, price: None }).collect();
        access::check_watchlist_change(lists, group, &change(securities.clone())).map_err(to_failure)?;
        let floors = self.account.terms.floors.unwrap_or(FloorTable::NONE);
        for one in securities.iter_mut().filter(|one| !followed.contains(&one.symbol)) {
            if self.reader.view().security(&one.symbol)?.is_none() {
                return Err(to_failure(WatchlistError::NotStored(one.symbol.clone())));
            }
            let market = one.symbol.market();
            if self.account.rights.holds(market.into(), self.as_of.now()) {
                let last =
                    self.history.last_price(&mut self.reader, &one.symbol, floors.of(market), self.as_of)?;
                one.price = last.map(|(price, decimals)| price.text(decimals).to_string());
            }
        }
        Ok(securities)
    }

    fn check_may_change(&self) -> Result<(), Failure> {
        let Account { id, name, revoked_at, terms, .. } = &self.account;
        if revoked_at.is_some() {
            return Err(anyhow!("account {name:?} is revoked: nothing is changed in its name").into());
        }
        if terms.read_only {
            let id = id.0;
            return Err(anyhow!(
                "account {name:?} is read-only: `chandler account set {id} --read-only off` lets it change things"
            )
            .into());
        }
        Ok(())
    }
}

/// Parses an id of the document.
fn group(id: &str) -> Result<WatchlistId, Failure> {
    id.parse().map(WatchlistId).map_err(|_| anyhow!("{id:?} is not the id of a watchlist group").into())
}

/// An error that the user can correct is a usage error.
fn to_failure(error: WatchlistError) -> Failure {
    match error {
        WatchlistError::Failed(error) => error.into(),
        WatchlistError::Name(_) => usage(error),
        error => error.into(),
    }
}
