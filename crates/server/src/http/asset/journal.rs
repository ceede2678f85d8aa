//! Endpoints computed from the whole journal. `GET /v1/asset/equity` returns the account's value at
//! the end of each day; no SDK calls it. `GET /v1/asset/cashflow` returns cash movements.

use market::Timestamp;
use paper::{Equity, FlowQuery, FoundFlows};
use schemars::JsonSchema;
use serde::Serialize;
use trading::ledger::CashFlow;

use super::benchmark;
use crate::kit::doc::refusals::{NO_QUOTES, TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::{Query, missing};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, RowPace, Site, envelope};

pub(super) const EQUITY: Doc = Doc::new(
    Tag::Trade,
    "equity",
    "Net assets at the end of each day, in HKD",
)
.about(
    "A date ends at 09:00 Hong Kong time on the following day, when US trading has ended too. Positions are \
     valued at the closing prices of the date; the last point uses current prices. A benchmark is relative to its \
     last close before the account's first date, or to its close on the first point if earlier points are omitted.",
)
.parameters(&[
    Parameter::query("days", Kind::Between(1, DAYS_MAX), "Number of dates up to now")
        .or(Word::Number(DAYS_DEFAULT)),
    Parameter::query("benchmark", Kind::Text, "Security to compare with, such as 2800.HK"),
])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<Equity>()])])
.refuses(&[TRADE_REFUSED, TRADE_TOO_FAST, NO_QUOTES]);

pub(super) const DAYS_DEFAULT: u32 = 366;
/// Maximum length of the requested range in calendar days, about eight years.
pub(super) const DAYS_MAX: u32 = 3_000;

pub(super) fn equity(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let days = query.number("days", (1, DAYS_MAX), DAYS_DEFAULT)?;
    let benchmark = query.word("benchmark")?;
    let (left, mut equity) = trader.ask(|account| {
        let left = account.equity_left()?;
        account.catch_up()?;
        Ok((left, account.equity(days)?))
    })?;
    RowPace::Journal.charge(&admitted, site, further_requests(left).saturating_add(days / DAYS_EACH));
    if let Some(symbol) = benchmark {
        benchmark::add(&mut equity, &symbol, &admitted, site)?;
    }
    Ok(envelope::success(equity))
}

/// Number of journal entries that count as one additional request in the rate limit.
const ENTRIES_EACH: u64 = 5_000;
const DAYS_EACH: u32 = 1_000;
/// Maximum number of additional requests, because the rate limit is only 30 requests per window.
const FURTHER_MAX: u64 = 20;

/// Returns the number of additional requests to count for a request that read `entries` journal
/// entries.
pub(super) fn further_requests(entries: u64) -> u32 {
    u32::try_from((entries / ENTRIES_EACH).min(FURTHER_MAX)).unwrap_or(0)
}

pub(super) const CASH_FLOW: Doc = Doc::new(Tag::Trade, "cashFlow", "Cash flows, newest first")
    .parameters(&[
        Parameter::query("start_time", Kind::Stamp, "Unix seconds; 0 for the earliest. start_at is an alias"),
        Parameter::query("end_time", Kind::Stamp, "Unix seconds; 0 for now. end_at is an alias"),
        Parameter::query("business_type", Kind::Between(0, 3), "1 for cash; other types have no flows"),
        Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK"),
        Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1)),
        Parameter::query("size", Kind::Between(1, 10_000), "Rows per page").or(Word::Number(50)),
    ])
    .answers(&[AnswerDoc::ok("The cash flows", &[data::<Flows>()])])
    .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

/// Balance type "cash". Stock and fund movements are not recorded.
const CASH: u32 = 1;
const OUT: u32 = 1;
const IN: u32 = 2;
const SIZE_DEFAULT: u32 = 50;
const SIZE_MAX: u32 = 10_000;
const PAGES_MAX: u32 = 1_000_000;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CashFlows")]
pub(super) struct Flows {
    list: Vec<Flow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CashFlow")]
struct Flow {
    transaction_flow_name: &'static str,
    direction: u32,
    business_type: u32,
    balance: String,
    currency: String,
    business_time: String,
    symbol: String,
    description: String,
}

pub(super) fn cash_flow(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    // One SDK sends `start_at` and `end_at` instead of `start_time` and `end_time`.
    let from = bound(&query, ["start_time", "start_at"], Timestamp::default())?;
    let through = bound(&query, ["end_time", "end_at"], Timestamp(i64::MAX))?;
    if from > through {
        return Err(Problem::trade_parameter("start_time is after end_time"));
    }
    let kind = query.number("business_type", (0, 3), 0)?;
    let page = query.number("page", (1, PAGES_MAX), 1)?;
    let size = query.number("size", (1, SIZE_MAX), SIZE_DEFAULT)?;
    let symbol = query.symbol()?;
    if kind > CASH {
        return Ok(envelope::success(Flows { list: Vec::new() }));
    }
    let before = (size as usize).saturating_mul(page.saturating_sub(1) as usize);
    let most = before.saturating_add(size as usize);
    let FoundFlows { flows, entries } =
        trader.ask(|account| account.flows(&FlowQuery { from, through, symbol, most }))?;
    RowPace::Journal.charge(&admitted, site, further_requests(entries));
    let list = flows.iter().skip(before).take(size as usize).map(Flow::of).collect();
    Ok(envelope::success(Flows { list }))
}

/// Parses one bound of the time range. The parameter is required. For 0, which means unbounded,
/// returns `open`.
fn bound(query: &Query, names: [&'static str; 2], open: Timestamp) -> Result<Timestamp, Problem> {
    let [name, _] = names;
    if names.iter().all(|name| query.get(name).is_none()) {
        return Err(missing(name));
    }
    Ok(query.time(&names)?.unwrap_or(open))
}

impl Flow {
    fn of(flow: &CashFlow) -> Flow {
        Flow {
            transaction_flow_name: flow.name,
            direction: if flow.amount.is_negative() { OUT } else { IN },
            business_type: CASH,
            balance: flow.amount.text().to_string(),
            currency: flow.currency.to_string(),
            business_time: flow.at.unwrap_or_default().0.to_string(),
            symbol: flow.symbol.as_ref().map(ToString::to_string).unwrap_or_default(),
            description: flow.description.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_many_entries_counts_as_more_requests() {
        for (entries, further) in [(0, 0), (4_999, 0), (5_000, 1), (12_000, 2), (u64::MAX, 20)] {
            assert_eq!(further_requests(entries), further, "{entries} entries");
        }
    }
}
