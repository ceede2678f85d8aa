//! `GET /v1/asset/cashflow`: cash movements, newest first.

use market::Timestamp;
use paper::{FlowQuery, FoundFlows};
use schemars::JsonSchema;
use serde::Serialize;
use trading::ledger::CashFlow;

use super::docs::REFUSALS;
use super::equity::further_requests;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::{Query, missing};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, RowPace, Site, envelope};

pub(super) const CASH_FLOW: Doc = Doc::new(Tag::Trade, "cashFlow", "Movements of cash, newest first")
    .parameters(&[
        Parameter::query(
            "start_time",
            Kind::Stamp,
            "Unix seconds, 0 for the beginning; start_at is the same",
        ),
        Parameter::query("end_time", Kind::Stamp, "Unix seconds, 0 for now; end_at is the same"),
        Parameter::query("business_type", Kind::Between(0, 3), "1 cash; there are no movements of others"),
        Parameter::query("symbol", Kind::Text, "As 700.HK"),
        Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1)),
        Parameter::query("size", Kind::Between(1, 10_000), "Rows of a page").or(Word::Number(50)),
    ])
    .answers(&[AnswerDoc::ok("The movements", &[data::<Flows>()])])
    .refuses(REFUSALS);

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

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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

/// Parses one bound of the time range. The parameter is required; 0 means unbounded, which returns
/// `open`.
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
