//! TradingView's UDF protocol under `/udf`: charts that were written for it show our candles. A file a request; history
//! takes the one route like everything else, and costs what it costs there.
//!
//! The protocol is loose where ours is strict: its clients send parameters that nobody has announced, so what is not known
//! here is passed over instead of refused.

mod config;
mod form;
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
use crate::kit::doc::{AnswerDoc, Doc, Media};
use crate::kit::envelope::ProblemParts;
use crate::kit::{Admitted, Answer, Asks, Call, PermittedHandler, Problem, Row, RowPace, Site, envelope};
use crate::metrics::{Outcome, Task};
use form::{TOKEN, UdfError, WORDS, udf};

pub(super) const ROUTES: &[Row] = &[
    row("/udf/config", Task::Data, config).doc(&config::CONFIG),
    row("/udf/time", Task::Data, time).doc(&TIME),
    row("/udf/symbols", Task::Data, symbols).doc(&symbols::SYMBOLS),
    row("/udf/search", Task::Data, search).paced(RowPace::Search).doc(&search::SEARCH),
    row("/udf/marks", Task::Data, marks).doc(&marks::MARKS),
    row("/udf/history", HISTORY, history).paced(RowPace::History).doc(&history::HISTORY),
    // For charts that can be given an address and nothing else.
    row("/udf/key/{token}/config", Task::Data, config).doc(&config::CONFIG_BY_KEY),
    row("/udf/key/{token}/time", Task::Data, time).doc(&TIME_BY_KEY),
    row("/udf/key/{token}/symbols", Task::Data, symbols).doc(&symbols::SYMBOLS_BY_KEY),
    row("/udf/key/{token}/search", Task::Data, search).paced(RowPace::Search).doc(&search::SEARCH_BY_KEY),
    row("/udf/key/{token}/marks", Task::Data, marks).doc(&marks::MARKS_BY_KEY),
    row("/udf/key/{token}/history", HISTORY, history).paced(RowPace::History).doc(&history::HISTORY_BY_KEY),
];

const TIME: Doc = udf("udfTime", "The market's time in Unix seconds, as text")
    .answers(&[AnswerDoc::ok(WORDS, &[Media::text("text/plain"), Media::json::<UdfError>()])]);
const TIME_BY_KEY: Doc = TIME.also("udfTimeByKey", &[TOKEN]);

/// Candles count as the command that gives them to other clients.
const HISTORY: Task = Task::of_command(wire::command::HISTORY);

const fn row(path: &'static str, task: Task, handler: PermittedHandler) -> Row {
    Row::get(path, Asks::Address, Scope::Quote, task, handler).refusing(not_let_in)
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
    answer(call, admitted, |me| history::answer(call, me, site))
}

fn answer(
    call: &Call<'_>,
    admitted: Admitted,
    reply: impl FnOnce(&Admitted) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    let admitted = Admitted { caller: in_language(call, admitted.caller), ..admitted };
    Ok(by_language(reply(&admitted).unwrap_or_else(refused)))
}

/// A page can hardly set the header of a request that its datafeed makes; `lang` is for those.
fn in_language(call: &Call<'_>, caller: Caller) -> Caller {
    let named = call.parameter_of("lang").filter(|text| !text.is_empty());
    Caller { language: named.map_or(caller.language, |text| Language::preferred(&text)), ..caller }
}

fn document(value: &impl Serialize) -> Answer {
    envelope::document(200, value)
}

/// A caller without a proof gets the status that says so; one who searches too often is told like any other whose question is at fault.
fn not_let_in(problem: Problem) -> Answer {
    let what = problem.into_parts();
    match what.outcome {
        Outcome::TooFast => by_language(refusal_answer(what, Some(200))),
        _ => refusal_answer(what, None),
    }
}

fn by_language(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept-language"));
    answer
}

/// A refusal. The status is 200 wherever the question was at fault: datafeeds that look at it show nothing but "failed" for
/// any other, and the text is what helps. Faults of ours keep theirs.
fn refused(problem: Problem) -> Answer {
    let what = problem.into_parts();
    let status = (what.status < 500).then_some(200);
    refusal_answer(what, status)
}

/// A refusal as the protocol has it, with its own status or another.
fn refusal_answer(what: ProblemParts, status: Option<u16>) -> Answer {
    let body = UdfError { s: "error", errmsg: what.text, code: what.code };
    let mut answer = envelope::document(status.unwrap_or(what.status), &body);
    // It counts as what it is, whatever the status says.
    answer.extensions_mut().insert(what.outcome);
    if let Some((name, value)) = what.header {
        answer.headers_mut().insert(name, value);
    }
    answer
}
