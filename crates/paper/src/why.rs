//! The story of one order, out of the part of the journal in which it lived: not of the years before it and after.

use store::{AccountId, Reader};
use trading::OrderId;

use crate::PaperError;
use crate::book::parsed;
use crate::service::{Moment, Paper};
use crate::story::{Story, story};

impl Paper {
    /// What happened to an order up to now; `None` if there is none of that number.
    pub fn story(
        &self,
        id: AccountId,
        order: OrderId,
        (reader, moment): (&mut Reader, Moment),
    ) -> Result<Option<Story>, PaperError> {
        let now = moment.as_of.now();
        let lived = self.read(id, (reader, moment), |reading| {
            let order = reading.account.order(order)?;
            Some((order.submitted_at, if order.is_open() { now } else { order.updated_at }))
        })?;
        let Some(lived) = lived else { return Ok(None) };
        let (mut entries, mut after) = (Vec::new(), 0);
        loop {
            let rows = self.accounts.journal_entries_between(id, after, lived)?;
            let Some(last) = rows.last() else { return Ok(story(&entries, order)) };
            after = last.number;
            for row in &rows {
                let entry = parsed(id, row)?;
                if entry.event.order() == Some(order) {
                    entries.push(entry);
                }
            }
        }
    }
}
