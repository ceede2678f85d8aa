//! Cash flows of an account, read from its journal.

use market::{Symbol, Timestamp};
use store::{AccountId, JournalEntry};
use trading::ledger::{CashFlow, cash_flows};

use crate::PaperError;
use crate::account::PaperAccount;
use crate::account::book::parsed;
use crate::look::Seen;
use crate::service::Paper;

/// Selects cash flows. Results are sorted newest first.
#[derive(Clone, Debug)]
pub struct FlowQuery {
    /// Time range in market time, both ends inclusive.
    pub from: Timestamp,
    pub through: Timestamp,
    pub symbol: Option<Symbol>,
    /// Maximum number of flows. The newest flows are returned.
    pub most: usize,
}

/// Cash flows, newest first, and the number of journal entries that were read to find them.
#[derive(Clone, Debug, Default)]
pub struct FoundFlows {
    pub flows: Vec<CashFlow>,
    pub entries: u64,
}

/// Number of entries per store query.
const ENTRIES_TOGETHER: u64 = 4_096;

impl PaperAccount<'_> {
    /// Returns the newest cash flows in a time range, newest first. Flows entered before the
    /// account's first request are dated at that request. The journal is read backwards until
    /// enough flows are found; if a symbol has fewer flows than requested, the whole journal is
    /// read.
    pub fn flows(&mut self, query: &FlowQuery) -> Result<FoundFlows, PaperError> {
        let (paper, id) = (self.paper, self.id);
        if paper.only_looks {
            return self.look(|seen| seen_flows(seen, query));
        }
        let (began, now) = self.read(|reading| (reading.account.began(), reading.view.at))?;
        let began = began.unwrap_or(now);
        let through = query.through.min(now);
        let mut found = FoundFlows::default();
        let since = (query.from.max(Timestamp(1)), through);
        paper.add_flows(id, query, since, began, &mut found)?;
        if (query.from..=through).contains(&began) {
            // Entries without an instant are stored at the zero timestamp.
            let prepared = (Timestamp::default(), Timestamp::default());
            paper.add_flows(id, query, prepared, began, &mut found)?;
        }
        Ok(found)
    }
}

impl Paper {
    fn add_flows(
        &self,
        id: AccountId,
        query: &FlowQuery,
        (from, through): (Timestamp, Timestamp),
        began: Timestamp,
        found: &mut FoundFlows,
    ) -> Result<(), PaperError> {
        if from > through {
            return Ok(());
        }
        let FoundFlows { flows, entries } = found;
        let first = self.accounts.journal_number_at(id, Timestamp(from.0.saturating_sub(1)))?;
        let mut last = self.accounts.journal_number_at(id, through)?;
        while last > first && flows.len() < query.most {
            let after = first.max(last.saturating_sub(ENTRIES_TOGETHER));
            let rows = self.accounts.journal_entries(id, after)?;
            *entries = entries.saturating_add(last.saturating_sub(after));
            for row in rows.iter().rev().filter(|row| row.number <= last) {
                let wanted = flows_of(id, row, query.symbol.as_ref())?.into_iter().rev();
                flows.extend(wanted.map(|flow| CashFlow { at: flow.at.or(Some(began)), ..flow }));
            }
            last = after;
        }
        flows.truncate(query.most);
        Ok(())
    }
}

/// Selects cash flows from an account view in memory, whose newest entries are not stored.
fn seen_flows(seen: &Seen<'_>, query: &FlowQuery) -> FoundFlows {
    let began = seen.reading.account.began().unwrap_or(seen.reading.view.at);
    let flows = seen.entries.iter().rev().flat_map(|entry| cash_flows(entry).into_iter().rev());
    let dated = flows.map(|flow| CashFlow { at: flow.at.or(Some(began)), ..flow });
    let wanted = dated.filter(|flow| {
        flow.at.is_some_and(|at| (query.from..=query.through).contains(&at))
            && query.symbol.as_ref().is_none_or(|symbol| flow.symbol.as_ref() == Some(symbol))
    });
    FoundFlows { flows: wanted.take(query.most).collect(), entries: 0 }
}

/// Returns the cash flows of an entry, or only those of `symbol`. Entries that do not contain the
/// symbol, which are most entries of a long journal, are not decoded.
fn flows_of(id: AccountId, row: &JournalEntry, symbol: Option<&Symbol>) -> Result<Vec<CashFlow>, PaperError> {
    let Some(symbol) = symbol else { return Ok(cash_flows(&parsed(id, row)?)) };
    if !row.text.contains(&format!("\"{symbol}\"")) {
        return Ok(Vec::new());
    }
    let mut flows = cash_flows(&parsed(id, row)?);
    flows.retain(|flow| flow.symbol.as_ref() == Some(symbol));
    Ok(flows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_with_the_symbol_are_decoded() {
        let row = |text: &str| JournalEntry {
            number: 1,
            at: Timestamp(0),
            text: text.to_owned(),
            account: AccountId(1),
        };
        let symbol: Symbol = "700.HK".parse().unwrap();
        for other in ["not an entry", r#"{"symbol":"1700.HK"}"#] {
            assert_eq!(flows_of(AccountId(1), &row(other), Some(&symbol)).unwrap(), []);
            assert!(flows_of(AccountId(1), &row(other), None).is_err());
        }
        assert!(flows_of(AccountId(1), &row(r#"{"symbol":"700.HK"}"#), Some(&symbol)).is_err());
    }
}
