//! TradingView's UDF protocol under `/udf`: charts that were written for it show our candles. A file a request; history
//! takes the one route like everything else, and costs what it costs there.
//!
//! The protocol is loose where ours is strict: its clients send parameters that nobody has announced, so what is not known
//! here is passed over instead of refused.

mod config;
mod history;
mod hours;
mod marks;
mod resolution;
mod search;
mod symbols;
mod ticker;

use hyper::header::{HeaderValue, VARY};
use serde_json::{Value, json};

use super::envelope::{self, Problem, Told};
use super::{Answer, Asked, allowance};
use crate::refusal::Refusal;
use crate::route::{Caller, Language};
use crate::services::Services;

/// What a datafeed may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feed {
    Config,
    Time,
    Symbols,
    Search,
    History,
    Marks,
}

/// How much of a text that is refused is repeated.
const ECHO_CHARS_MAX: usize = 40;

pub(super) fn answer(asked: &Asked<'_>, feed: Feed, services: &Services) -> Answer {
    let caller = match asked.caller(services) {
        Ok(caller) => in_language(asked, caller),
        // Whoever is not let in gets the status that says so.
        Err(problem) => return told(problem.told(), None),
    };
    let reply = match feed {
        Feed::Config => Ok(document(&config::document())),
        Feed::Time => Ok(envelope::text(services.market_now().0.to_string())),
        Feed::Symbols => symbols::answer(asked, &caller, services).map(|info| document(&info)),
        Feed::Search => search::answer(asked, &caller, services).map(|found| document(&found)),
        Feed::Marks => marks::answer(asked, &caller, services).map(|marks| document(&marks)),
        Feed::History => history::answer(asked, &caller, services),
    };
    let mut answer = reply.unwrap_or_else(refused);
    if feed == Feed::History {
        allowance::tell(&mut answer, &caller, services);
    }
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept-language"));
    answer
}

/// A page can hardly set the header of a request that its datafeed makes; `lang` is for those.
fn in_language(asked: &Asked<'_>, caller: Caller) -> Caller {
    let named = asked.parameter_of("lang").filter(|text| !text.is_empty());
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

/// A parameter that has to be there.
fn required(asked: &Asked<'_>, name: &str) -> Result<String, Refusal> {
    let found = asked.parameter_of(name).filter(|text| !text.is_empty());
    found.ok_or_else(|| Refusal::Malformed(format!("{name} is missing")))
}

/// A whole number, if it is there.
fn number(asked: &Asked<'_>, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(text) = asked.parameter_of(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || Refusal::Malformed(format!("{name} {:?} is not a whole number", echo(&text)));
    text.parse().map(Some).map_err(|_| wrong())
}

fn echo(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}
