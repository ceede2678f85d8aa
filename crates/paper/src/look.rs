//! Reads of an account that write nothing: the market's effects since the last entry are computed
//! in memory only.
//!
//! A command line that only reads must not advance an account: the next one may run with another
//! clock. All reads of its [`Paper`] are of this kind ([`Paper::for_command_line`]).

use std::sync::PoisonError;

use history::AsOf;
use store::{AccountId, JournalHead, Reader};
use trading::{Account, Engine, Entry, Submit, SubmitGrid};

use crate::PaperError;
use crate::book;
use crate::grid_preview::{GridPreview, preview_grid};
use crate::opening::{Opening, ensure_open, open};
use crate::preview::{Preview, preview};
use crate::service::{Clock, Moment, Paper, Reading};

/// An account as of an instant, and its entries up to then.
#[derive(Debug)]
pub struct Seen<'a> {
    pub reading: Reading<'a>,
    /// The journal up to that instant, and the unwritten entries since.
    pub entries: &'a [Entry],
}

/// The account of the last look. A command line sends several requests about one account at one
/// instant.
#[derive(Debug)]
pub(crate) struct Looked {
    id: AccountId,
    head: Option<JournalHead>,
    as_of: AsOf,
    moment: Moment,
    account: Account,
    entries: Vec<Entry>,
}

impl Paper {
    /// Shows an account as of now, or in the past if the clock is before the account's horizon. The
    /// journal does not change.
    pub fn look<T>(
        &self,
        id: AccountId,
        (reader, clock): (&mut Reader, impl Clock),
        look: impl FnOnce(&Seen<'_>) -> T,
    ) -> Result<T, PaperError> {
        let asked = clock.moment();
        let last = self.looked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let head = self.accounts.journal_head(id)?;
        let is_same = |last: &Looked| (last.id, last.as_of, last.head) == (id, asked.as_of, head);
        let (last, (head, mut account, mut entries)) = match last.filter(is_same) {
            Some(Looked { moment, head, account, entries, .. }) => (Some(moment), (head, account, entries)),
            None => (None, self.with_entries(id)?),
        };
        let moment = last.unwrap_or_else(|| asked.not_before(account.horizon()));
        let now = moment.as_of.now();
        let feed = self.feed(reader, moment)?;
        let engine = Engine::new(&feed, self.tables());
        if last.is_some() {
            // It is as of now already.
        } else if account.horizon().is_some_and(|horizon| horizon > now) {
            let kept = entries.iter().take_while(|entry| entry.at.is_none_or(|at| at <= now)).count();
            entries.truncate(kept);
            account = Account::fold_until(&entries, now);
        } else {
            entries.extend(ensure_open(&engine, &mut account, id, now)?.entries);
            entries.extend(engine.advance(&mut account, now).entries);
        }
        let reading = Reading { account: &account, view: engine.view(now) };
        let seen = look(&Seen { reading, entries: &entries });
        let seen = feed.checked(seen)?;
        if self.only_looks {
            let looked = Looked { id, head, as_of: asked.as_of, moment, account, entries };
            *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(looked);
        }
        Ok(seen)
    }

    /// Whether an account that does not exist yet could be opened like this now.
    pub fn check_opening(
        &self,
        opening: &Opening,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<(), PaperError> {
        let moment = clock.moment();
        let feed = self.feed(reader, moment)?;
        let engine = Engine::new(&feed, self.tables());
        let opened = open(&engine, &mut Account::default(), AccountId(0), opening, moment.as_of.now());
        feed.checked(opened)?.map(drop)
    }

    /// The outcome and the cost of an order.
    pub fn preview(
        &self,
        id: AccountId,
        request: &Submit,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<Preview, PaperError> {
        let mut account = self.described(id)?;
        let moment = clock.moment().not_before(account.horizon());
        let now = moment.as_of.now();
        let feed = self.feed(reader, moment)?;
        let engine = Engine::new(&feed, self.tables());
        ensure_open(&engine, &mut account, id, now)?;
        // An account ahead of the clock is not advanced, and refuses every order.
        engine.advance(&mut account, now);
        let preview = preview(&account, &engine.view(now), request);
        Ok(feed.checked(preview)?)
    }

    /// The outcome of a grid, and where it would trade.
    pub fn preview_grid(
        &self,
        id: AccountId,
        asked: &SubmitGrid,
        (reader, clock): (&mut Reader, impl Clock),
    ) -> Result<GridPreview, PaperError> {
        let mut account = self.described(id)?;
        let moment = clock.moment().not_before(account.horizon());
        let now = moment.as_of.now();
        let feed = self.feed(reader, moment)?;
        let engine = Engine::new(&feed, self.tables());
        ensure_open(&engine, &mut account, id, now)?;
        // An account ahead of the clock is not advanced, and refuses every grid.
        engine.advance(&mut account, now);
        let preview = preview_grid(&account, &engine.view(now), asked);
        Ok(feed.checked(preview)?)
    }

    /// The head of a journal, the account there, and the journal.
    fn with_entries(&self, id: AccountId) -> Result<(Option<JournalHead>, Account, Vec<Entry>), PaperError> {
        let Some((head, entries)) = book::read_all(&self.accounts, id)? else {
            return Ok(Default::default());
        };
        let mut account = Account::fold(&entries);
        account.set_horizon(account.began().and(Some(head.horizon)));
        Ok((Some(head), account, entries))
    }
}
