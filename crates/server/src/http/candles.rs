//! `GET /v1/quote/history-candlesticks`: the history command for people without an SDK, in the form they like, and
//! longer than the protocol's answers if they want.

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue, LINK, VARY};

use super::envelope::{self, Problem};
use super::format::Format;
use super::parameters::{Parameters, Question};
use super::{Answer, Asked, allowance};
use crate::command::{Paged, Paging, Request};
use crate::refusal::Refusal;
use crate::route::{self, Caller};
use crate::services::Services;

const NEXT: HeaderName = HeaderName::from_static("x-next");

pub(super) fn answer(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let caller = asked.caller(services)?;
    let mut answer = reply(asked, &caller, services).unwrap_or_else(Problem::answer);
    allowance::tell(&mut answer, &caller, services);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    Ok(answer)
}

fn reply(asked: &Asked<'_>, caller: &Caller, services: &Services) -> Result<Answer, Problem> {
    let parameters = Parameters::parse(asked.query)?;
    let question = parameters.question(services.history.venues())?;
    let format = match question.format {
        Some(format) => format,
        None => Format::accepted(asked.headers)?,
    };
    affordable(&question, caller, services)?;
    let Paged { answer, next } = ask(&question, caller, services)?;
    let token = next.map(|at| question.token(at));
    let zone = services.history.venue(&answer.symbol).zone();
    let body: Bytes = format.encode(&answer, zone, token.as_deref())?;
    let mut reply = envelope::respond(200, format.content_type(), body);
    if let Some(token) = token {
        let path = asked.path.trim_start_matches('/');
        let link = format!("</{path}?{}>; rel=\"next\"", parameters.with_next(&token));
        for (name, value) in [(LINK, link), (NEXT, token)] {
            reply.headers_mut().insert(name, HeaderValue::from_str(&value).map_err(|_| Problem::internal())?);
        }
    }
    Ok(reply)
}

/// An answer that is worth more calls than the account's rule has would never be let in; better to say so.
fn affordable(question: &Question, caller: &Caller, services: &Services) -> Result<(), Problem> {
    let allowance =
        services.access.allowance(&caller.who, services.uptime()).map_err(Problem::from_access)?;
    match allowance {
        Some(rule) if question.calls() > rule.limit => {
            let (calls, limit, seconds) = (question.calls(), rule.limit, rule.seconds);
            Err(Problem::from(Refusal::BadQuery(format!(
                "limit {} is worth {calls} calls, and this account has {limit} in any {seconds} s: ask for at most {}",
                question.limit,
                u64::from(limit).saturating_mul(1000)
            ))))
        }
        _ => Ok(()),
    }
}

fn ask(question: &Question, caller: &Caller, services: &Services) -> Result<Paged, Refusal> {
    // Whether the account may see overnight hours is decided on the way, as for a connection that opted in.
    let caller = Caller { overnight: question.overnight, ..*caller };
    let request = Request::History(question.message.clone());
    let work = route::admit_calls(services, &caller, request, question.calls())?;
    work.run_pages(Paging { limit: question.limit, from: question.from }, services)
}
