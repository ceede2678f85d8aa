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

use access::Scope;
use hyper::header::{HeaderValue, VARY};
use serde::Serialize;

use crate::caller::{Caller, Language};
use crate::kit::envelope::ProblemParts;
use crate::kit::{Admitted, Answer, Asks, Call, PermittedHandler, Problem, Row, Site, allowance, envelope};
use crate::metrics::Task;
use docs::UdfError;

pub(super) const ROUTES: &[Row] = &[
    row("/udf/config", Task::Data, config).doc(&docs::CONFIG),
    row("/udf/time", Task::Data, time).doc(&docs::TIME),
    row("/udf/symbols", Task::Data, symbols).doc(&docs::SYMBOLS),
    row("/udf/search", Task::Data, search).doc(&docs::SEARCH),
    row("/udf/marks", Task::Data, marks).doc(&docs::MARKS),
    row("/udf/history", HISTORY, history).doc(&docs::HISTORY),
    // For charts that can be given an address and nothing else.
    row("/udf/key/{token}/config", Task::Data, config).doc(&docs::CONFIG_BY_KEY),
    row("/udf/key/{token}/time", Task::Data, time).doc(&docs::TIME_BY_KEY),
    row("/udf/key/{token}/symbols", Task::Data, symbols).doc(&docs::SYMBOLS_BY_KEY),
    row("/udf/key/{token}/search", Task::Data, search).doc(&docs::SEARCH_BY_KEY),
    row("/udf/key/{token}/marks", Task::Data, marks).doc(&docs::MARKS_BY_KEY),
    row("/udf/key/{token}/history", HISTORY, history).doc(&docs::HISTORY_BY_KEY),
];

/// Candles count as the command that gives them to other clients.
const HISTORY: Task = Task::of_command(wire::command::HISTORY);

const fn row(path: &'static str, task: Task, handler: PermittedHandler) -> Row {
    // A caller without a proof gets the status that says so.
    Row::get(path, Asks::Address, Scope::Quote, task, handler).refusing(|problem| told(problem.told(), None))
}

fn config(call: &Call<'_>, _: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |_| Ok(document(&config::document())))
}

fn time(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |_| Ok(envelope::text(site.core.market_now().0.to_string())))
}

fn symbols(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |me| symbols::answer(call, &me.caller, site).map(|info| document(&info)))
}

fn search(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |me| search::answer(call, me, site).map(|found| document(&found)))
}

fn marks(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |me| marks::answer(call, &me.caller, site).map(|marks| document(&marks)))
}

fn history(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |me| {
        let mut answer = history::answer(call, me, site).unwrap_or_else(refused);
        allowance::tell(&mut answer, &me.caller, site);
        Ok(answer)
    })
}

fn answer(
    call: &Call<'_>,
    admitted: Admitted,
    reply: impl FnOnce(&Admitted) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    let admitted = Admitted { caller: in_language(call, admitted.caller), ..admitted };
    let mut answer = reply(&admitted).unwrap_or_else(refused);
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
fn told(what: ProblemParts, status: Option<u16>) -> Answer {
    let body = UdfError { s: "error", errmsg: what.text, code: what.code };
    let mut answer = envelope::document(status.unwrap_or(what.status), &body);
    // It counts as what it is, whatever the status says.
    answer.extensions_mut().insert(what.outcome);
    if let Some((name, value)) = what.header {
        answer.headers_mut().insert(name, value);
    }
    answer
}
