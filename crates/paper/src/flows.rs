//! The movements of an account's money, out of its journal.

use market::{Symbol, Timestamp};
use store::{AccountId, Reader};
use trading::ledger::{CashFlow, cash_flows};

use crate::PaperError;
use crate::book::parsed;
use crate::service::{Clock, Paper};

/// Which movements are asked for. They are listed newest first.
#[derive(Clone, Debug)]
pub struct FlowQuery {
    /// The market's time, both included.
    pub from: Timestamp,
    pub through: Timestamp,
    pub symbol: Option<Symbol>,
}

impl Paper {
    /// The movements within two instants, newest first. What was entered before the first request happened with it.
    pub fn flows(
        &self,
        id: AccountId,
        query: &FlowQuery,
        at: (&mut Reader, impl Clock),
    ) -> Result<Vec<CashFlow>, PaperError> {
        let (began, now) = self.read(id, at, |reading| (reading.account.began(), reading.scene.at))?;
        let began = began.unwrap_or(now);
        let through = query.through.min(now);
        let mut flows = Vec::new();
        if (query.from..=through).contains(&began) {
            // Entries without an instant are stored with the first one there is.
            let prepared = (Timestamp::default(), Timestamp::default());
            self.add_flows((id, query.symbol.as_ref()), prepared, began, &mut flows)?;
        }
        let since = (query.from.max(Timestamp(1)), through);
        self.add_flows((id, query.symbol.as_ref()), since, began, &mut flows)?;
        flows.reverse();
        Ok(flows)
    }

    fn add_flows(
        &self,
        (id, symbol): (AccountId, Option<&Symbol>),
        range: (Timestamp, Timestamp),
        began: Timestamp,
        flows: &mut Vec<CashFlow>,
    ) -> Result<(), PaperError> {
        let mut after = 0;
        loop {
            let rows = self.accounts.journal_entries_between(id, after, range)?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.number;
            for row in &rows {
                let of_entry = cash_flows(&parsed(id, row)?).into_iter();
                let wanted = of_entry.filter(|flow| symbol.is_none() || flow.symbol.as_ref() == symbol);
                flows.extend(wanted.map(|flow| CashFlow { at: flow.at.or(Some(began)), ..flow }));
            }
        }
    }
}
