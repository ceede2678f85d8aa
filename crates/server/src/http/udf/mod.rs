//! TradingView's UDF protocol under `/udf`: charts that were written for it show our candles. A file a request; history
//! takes the one route like everything else, and costs what it costs there.
//!
//! The protocol is loose where ours is strict: its clients send parameters that nobody has announced, so what is not known
//! here is passed over instead of refused.

mod config;
mod history;
mod hours;
mod marks;
mod query;
mod resolution;
mod search;
mod symbols;
mod ticker;

use hyper::header::{HeaderValue, VARY};
use serde_json::{Value, json};

use crate::caller::{Caller, Language};
use crate::kit::envelope::Told;
use crate::kit::{Answer, Asks, Call, Problem, Row, Site, allowance, envelope};
use crate::metrics::Task;

pub(super) const ROUTES: &[Row] = &[
    row("/udf/config", config),
    row("/udf/time", time),
    row("/udf/symbols", symbols),
    row("/udf/search", search),
    row("/udf/marks", marks),
    Row::get("/udf/history", Asks::Address, Task::History, history),
    // For charts that can be given an address and nothing else.
    row("/udf/key/{token}/config", config),
    row("/udf/key/{token}/time", time),
    row("/udf/key/{token}/symbols", symbols),
    row("/udf/key/{token}/search", search),
    row("/udf/key/{token}/marks", marks),
    Row::get("/udf/key/{token}/history", Asks::Address, Task::History, history),
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

fn document(value: &Value) -> Answer {
    envelope::json(200, value.to_string().into())
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
    let body = json!({"s": "error", "errmsg": what.text, "code": what.code});
    let mut answer = envelope::json(status.unwrap_or(what.status), body.to_string().into());
    // It counts as what it is, whatever the status says.
    answer.extensions_mut().insert(what.outcome);
    if let Some((name, value)) = what.header {
        answer.headers_mut().insert(name, value);
    }
    answer
}
