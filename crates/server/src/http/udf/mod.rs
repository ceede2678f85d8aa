//! TradingView's UDF protocol under `/udf`, for charts that support it. One file per request.
//! History requests take the same route as on other transports, with the same limits and quota.
//!
//! UDF clients send undocumented parameters, so unknown parameters are ignored instead of refused.

mod config;
mod form;
mod history;
mod hours;
mod marks;
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
use crate::kit::{Accepts, Admitted, Answer, Call, PermittedHandler, Problem, Row, RowPace, Site, envelope};
use crate::metrics::{Outcome, Task};
use form::{TOKEN, UdfError, WORDS, udf};

pub(super) const ROUTES: &[Row] = &[
    row("/udf/config", Task::Data, config).doc(&config::CONFIG),
    row("/udf/time", Task::Data, time).doc(&TIME),
    row("/udf/symbols", Task::Data, symbols).doc(&symbols::SYMBOLS),
    row("/udf/search", Task::Data, search).paced(RowPace::Search).doc(&search::SEARCH),
    row("/udf/marks", Task::Data, marks).doc(&marks::MARKS),
    row("/udf/history", HISTORY, history).paced(RowPace::History).doc(&history::HISTORY),
    // For charts whose only setting is a URL, the token is part of the path.
    row("/udf/key/{token}/config", Task::Data, config).doc(&config::CONFIG_BY_KEY),
    row("/udf/key/{token}/time", Task::Data, time).doc(&TIME_BY_KEY),
    row("/udf/key/{token}/symbols", Task::Data, symbols).doc(&symbols::SYMBOLS_BY_KEY),
    row("/udf/key/{token}/search", Task::Data, search).paced(RowPace::Search).doc(&search::SEARCH_BY_KEY),
    row("/udf/key/{token}/marks", Task::Data, marks).doc(&marks::MARKS_BY_KEY),
    row("/udf/key/{token}/history", HISTORY, history).paced(RowPace::History).doc(&history::HISTORY_BY_KEY),
];

const TIME: Doc = udf("udfTime", "Market time in Unix seconds, as text")
    .answers(&[AnswerDoc::ok(WORDS, &[Media::text("text/plain"), Media::json::<UdfError>()])]);
const TIME_BY_KEY: Doc = TIME.also("udfTimeByKey", &[TOKEN]);

/// History requests are measured as calls of the history command.
const HISTORY: Task = Task::of_command(wire::command::HISTORY);

const fn row(path: &'static str, task: Task, handler: PermittedHandler) -> Row {
    Row::get(path, Accepts::Address, Scope::Quote, task, handler).refusing(not_let_in)
}

fn config(call: &Call<'_>, _: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |_| Ok(document(&config::document())))
}

fn time(call: &Call<'_>, _: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    answer(call, admitted, |me| Ok(envelope::text(me.now().0.to_string())))
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

/// Applies the `lang` parameter, which takes precedence over `Accept-Language`, because pages often
/// cannot set headers on datafeed requests.
fn in_language(call: &Call<'_>, caller: Caller) -> Caller {
    let named = call.parameter_of("lang").filter(|text| !text.is_empty());
    Caller { language: named.map_or(caller.language, |text| Language::preferred(&text)), ..caller }
}

fn document(value: &impl Serialize) -> Answer {
    envelope::document(200, value)
}

/// Converts a refused admission. An authentication failure keeps its status. An exceeded rate limit
/// gets status 200 like other client errors.
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

/// Converts a refusal. Client errors get status 200, because datafeeds that check the status show
/// only "failed" for any other status and hide the message. Server errors keep their status.
fn refused(problem: Problem) -> Answer {
    let what = problem.into_parts();
    let status = (what.status < 500).then_some(200);
    refusal_answer(what, status)
}

/// Returns a refusal in UDF format with `status`, or with the refusal's status if `status` is
/// `None`.
fn refusal_answer(what: ProblemParts, status: Option<u16>) -> Answer {
    let body = UdfError { s: "error", errmsg: what.text, code: what.code };
    let mut answer = envelope::document(status.unwrap_or(what.status), &body);
    // Metrics record the actual outcome, whatever the status is.
    answer.extensions_mut().insert(what.outcome);
    if let Some((name, value)) = what.header {
        answer.headers_mut().insert(name, value);
    }
    answer
}
