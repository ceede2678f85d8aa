//! Reads of an account that write nothing: the market's effects since the last entry are computed
//! in memory only.
//!
//! A command line that only reads must not advance an account: the next one may run with another
//! clock. All reads of its [`Paper`] are of this kind ([`Paper::for_command_line`]).

use store::{AccountId, Reader};
use trading::{Account, Engine, Entry, Submit, SubmitGrid};

use crate::PaperError;
use crate::account::{PaperAccount, Reading, book};
use crate::clock::Clock;
use crate::grid_preview::{GridPreview, preview_grid};
use crate::opening::{Opening, ensure_open, open};
use crate::preview::{Preview, preview};
use crate::service::Paper;

/// An account as of an instant, and its entries up to then.
#[derive(Debug)]
pub struct Seen<'a> {
    pub reading: Reading<'a>,
    /// The journal up to that instant, and the unwritten entries since.
    pub entries: &'a [Entry],
}

impl PaperAccount<'_> {
    /// Shows the account as of now, or in the past if the clock is before the account's horizon.
    /// The journal does not change.
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

    /// The outcome and the cost of an order.
    pub fn preview(&mut self, request: &Submit) -> Result<Preview, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let mut account = paper.described(id)?;
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        ensure_open(&engine, &mut account, id, now)?;
        // An account ahead of the clock is not advanced, and refuses every order.
        engine.advance(&mut account, now);
        let preview = preview(&account, &engine.view(now), request);
        Ok(feed.checked(preview)?)
    }

    /// The outcome of a grid, and where it would trade.
    pub fn preview_grid(&mut self, request: &SubmitGrid) -> Result<GridPreview, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let mut account = paper.described(id)?;
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        ensure_open(&engine, &mut account, id, now)?;
        // An account ahead of the clock is not advanced, and refuses every grid.
        engine.advance(&mut account, now);
        let preview = preview_grid(&account, &engine.view(now), request);
        Ok(feed.checked(preview)?)
    }
}

impl Paper {
    /// Whether an account that does not exist yet could be opened like this now.
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

    /// The account at the head of its journal, and the journal.
    fn with_entries(&self, id: AccountId) -> Result<(Account, Vec<Entry>), PaperError> {
        let Some((head, entries)) = book::read_all(&self.accounts, id)? else {
            return Ok(Default::default());
        };
        let mut account = Account::fold(&entries);
        account.set_horizon(account.began().and(Some(head.horizon)));
        Ok((account, entries))
    }
}
