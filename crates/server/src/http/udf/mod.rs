//! TradingView's UDF protocol under `/udf`: charts that were written for it show our candles. A file a request; history
//! takes the one route like everything else, and costs what it costs there.
//!
//! The protocol is loose where ours is strict: its clients send parameters that nobody has announced, so what is not known
//! here is passed over instead of refused.

mod config;
mod docs;
mod history;
mod hours;
mod marks;
mod query;
mod resolution;
mod search;
mod symbols;
mod ticker;

use hyper::header::{HeaderValue, VARY};
use serde::Serialize;

use crate::caller::{Caller, Language};
use crate::kit::envelope::Told;
use crate::kit::{Answer, Asks, Call, Problem, Row, Site, allowance, envelope};
use crate::metrics::Task;
use docs::UdfError;

pub(super) const ROUTES: &[Row] = &[
    row("/udf/config", config).doc(&docs::CONFIG),
    row("/udf/time", time).doc(&docs::TIME),
    row("/udf/symbols", symbols).doc(&docs::SYMBOLS),
    row("/udf/search", search).doc(&docs::SEARCH),
    row("/udf/marks", marks).doc(&docs::MARKS),
    Row::get("/udf/history", Asks::Address, Task::History, history).doc(&docs::HISTORY),
    // For charts that can be given an address and nothing else.
    row("/udf/key/{token}/config", config).doc(&docs::CONFIG_BY_KEY),
    row("/udf/key/{token}/time", time).doc(&docs::TIME_BY_KEY),
    row("/udf/key/{token}/symbols", symbols).doc(&docs::SYMBOLS_BY_KEY),
    row("/udf/key/{token}/search", search).doc(&docs::SEARCH_BY_KEY),
    row("/udf/key/{token}/marks", marks).doc(&docs::MARKS_BY_KEY),
    Row::get("/udf/key/{token}/history", Asks::Address, Task::History, history).doc(&docs::HISTORY_BY_KEY),
];

type Handler = fn(&Call<'_>, &Site) -> Result<Answer, Problem>;

const fn row(path: &'static str, handler: Handler) -> Row {
    Row::get(path, Asks::Address, Task::Data, handler)
}

fn config(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    answer(call, site, |_| Ok(document(&config::document())))
}

fn time(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    answer(call, site, |_| Ok(envelope::text(site.core.market_now().0.to_string())))
}

fn symbols(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    answer(call, site, |caller| symbols::answer(call, caller, site).map(|info| document(&info)))
}

fn search(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    answer(call, site, |caller| search::answer(call, caller, site).map(|found| document(&found)))
}

fn marks(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    answer(call, site, |caller| marks::answer(call, caller, site).map(|marks| document(&marks)))
}

fn history(call: &Call<'_>, site: &Site) -> Result<Answer, Problem> {
    answer(call, site, |caller| {
        let mut answer = history::answer(call, caller, site).unwrap_or_else(refused);
        allowance::tell(&mut answer, caller, site);
        Ok(answer)
    })
}

fn answer(
    call: &Call<'_>,
    site: &Site,
    reply: impl FnOnce(&Caller) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    let caller = match call.caller(site) {
        Ok(caller) => in_language(call, caller),
        // A caller without a proof gets the status that says so.
        Err(problem) => return Ok(told(problem.told(), None)),
    };
    let mut answer = reply(&caller).unwrap_or_else(refused);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept-language"));
    Ok(answer)
}

/// A page can hardly set the header of a request that its datafeed makes; `lang` is for those.
fn in_language(call: &Call<'_>, caller: Caller) -> Caller {
    let named = call.parameter_of("lang").filter(|text| !text.is_empty());
    Caller { language: named.map_or(caller.language, |text| Language::parse(&text)), ..caller }
}

fn document(value: &impl Serialize) -> Answer {
    envelope::document(200, value)
}

/// A refusal. The status is 200 wherever the question was at fault: datafeeds that look at it show nothing but "failed" for
/// any other, and the text is what helps. Faults of ours keep theirs.
fn refused(problem: Problem) -> Answer {
    let what = problem.told();
    let status = (what.status < 500).then_some(200);
    told(what, status)
}

/// A refusal as the protocol has it, with its own status or another.
fn told(what: Told, status: Option<u16>) -> Answer {
    let body = UdfError { s: "error", errmsg: what.text, code: what.code };
    let mut answer = envelope::document(status.unwrap_or(what.status), &body);
    // It counts as what it is, whatever the status says.
    answer.extensions_mut().insert(what.outcome);
    if let Some((name, value)) = what.header {
        answer.headers_mut().insert(name, value);
    }
    answer
}
