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
    /// So many are wanted, counted from the newest.
    pub most: usize,
}

/// Entries that are read at a time, from the newest on.
const ENTRIES_TOGETHER: u64 = 4_096;

impl Paper {
    /// The newest movements within two instants, newest first. What was entered before the first request happened with it. The journal
    /// is read backwards, and no further than it takes.
    pub fn flows(
        &self,
        id: AccountId,
        query: &FlowQuery,
        at: (&mut Reader, impl Clock),
    ) -> Result<Vec<CashFlow>, PaperError> {
        let (began, now) = self.read(id, at, |reading| (reading.account.began(), reading.view.at))?;
        let began = began.unwrap_or(now);
        let through = query.through.min(now);
        let mut flows = Vec::new();
        let since = (query.from.max(Timestamp(1)), through);
        self.add_flows(id, query, since, began, &mut flows)?;
        if (query.from..=through).contains(&began) {
            // Entries without an instant are stored with the first one there is.
            let prepared = (Timestamp::default(), Timestamp::default());
            self.add_flows(id, query, prepared, began, &mut flows)?;
        }
        Ok(flows)
    }

    fn add_flows(
        &self,
        id: AccountId,
        query: &FlowQuery,
        (from, through): (Timestamp, Timestamp),
        began: Timestamp,
        flows: &mut Vec<CashFlow>,
    ) -> Result<(), PaperError> {
        if from > through {
            return Ok(());
        }
        let first = self.accounts.journal_number_at(id, Timestamp(from.0.saturating_sub(1)))?;
        let mut last = self.accounts.journal_number_at(id, through)?;
        while last > first && flows.len() < query.most {
            let after = first.max(last.saturating_sub(ENTRIES_TOGETHER));
            let rows = self.accounts.journal_entries(id, after)?;
            for row in rows.iter().rev().filter(|row| row.number <= last) {
                let of_entry = cash_flows(&parsed(id, row)?).into_iter().rev();
                let wanted = of_entry
                    .filter(|flow| query.symbol.is_none() || flow.symbol.as_ref() == query.symbol.as_ref());
                flows.extend(wanted.map(|flow| CashFlow { at: flow.at.or(Some(began)), ..flow }));
            }
            last = after;
        }
        flows.truncate(query.most);
        Ok(())
    }
}
