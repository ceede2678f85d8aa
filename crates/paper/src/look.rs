//! Account reads that write nothing. Market events since the last journal entry are applied in
//! memory only.
//!
//! A read-only command line must not advance an account, because the next invocation may use
//! another clock. All reads through [`Paper::for_command_line`] therefore use this module.

use store::{AccountId, Reader};
use trading::{Account, Engine, Entry, Submit, SubmitGrid};

use crate::PaperError;
use crate::account::{PaperAccount, Reading, book};
use crate::clock::Clock;
use crate::commands::{Opening, ensure_open, open};
use crate::grid_preview::{GridPreview, preview_grid};
use crate::preview::{Preview, preview};
use crate::service::Paper;

/// An account as of an instant, with its journal entries.
#[derive(Debug)]
pub struct Seen<'a> {
    pub reading: Reading<'a>,
    /// Journal entries up to the instant of `reading`, followed by the entries computed in memory.
    pub entries: &'a [Entry],
}

impl PaperAccount<'_> {
    /// Reads the account as of now without changing its journal. If the clock is before the
    /// account's horizon, reads the past state at the clock's time.
    pub fn look<T>(&mut self, look: impl FnOnce(&Seen<'_>) -> T) -> Result<T, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let (mut account, mut entries) = paper.with_entries(id)?;
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        if account.horizon().is_some_and(|horizon| horizon > now) {
            let stored = entries.iter().take_while(|entry| entry.at.is_none_or(|at| at <= now)).count();
            entries.truncate(stored);
            account = Account::fold_until(&entries, now);
        } else {
            entries.extend(ensure_open(&engine, &mut account, id, now)?.entries);
            entries.extend(engine.advance(&mut account, now).entries);
        }
        let reading = Reading { account: &account, view: engine.view(now) };
        let seen = look(&Seen { reading, entries: &entries });
        Ok(feed.checked(seen)?)
    }

    /// Previews an order: returns the outcome of the checks and the cost.
    pub fn preview(&mut self, request: &Submit) -> Result<Preview, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let mut account = paper.described(id)?;
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        ensure_open(&engine, &mut account, id, now)?;
        // An account whose horizon is later than the clock is not advanced, and refuses every
        // order.
        engine.advance(&mut account, now);
        let preview = preview(&account, &engine.view(now), request);
        Ok(feed.checked(preview)?)
    }

    /// Previews a grid: returns the outcome of the checks and the levels at which the grid would
    /// trade.
    pub fn preview_grid(&mut self, request: &SubmitGrid) -> Result<GridPreview, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let mut account = paper.described(id)?;
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        ensure_open(&engine, &mut account, id, now)?;
        // An account whose horizon is later than the clock is not advanced, and refuses every grid.
        engine.advance(&mut account, now);
        let preview = preview_grid(&account, &engine.view(now), request);
        Ok(feed.checked(preview)?)
    }
}

impl Paper {
    /// Checks whether a new account could be opened with these balances now. Returns the refusal as
    /// an error.
    pub fn check_opening(
        &self,
        opening: &Opening,
        reader: &mut Reader,
        clock: &dyn Clock,
    ) -> Result<(), PaperError> {
        let moment = clock.moment(AccountId(0), None);
        let feed = self.feed(reader, moment)?;
        let engine = Engine::new(&feed, self.tables());
        let opened = open(&engine, &mut Account::default(), AccountId(0), opening, moment.as_of.now());
        feed.checked(opened)?.map(drop)
    }

    /// Returns the account at its journal head, with all journal entries.
    fn with_entries(&self, id: AccountId) -> Result<(Account, Vec<Entry>), PaperError> {
        let Some((head, entries)) = book::read_all(&self.accounts, id)? else {
            return Ok(Default::default());
        };
        let mut account = Account::fold(&entries);
        account.set_horizon(account.began().and(Some(head.horizon)));
        Ok((account, entries))
    }
}
