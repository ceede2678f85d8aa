//! `GET /v1/quote/history-candlesticks`: the history command for people without an SDK, in the form they like, and
//! longer than the protocol's answers if they want.

use access::Demand;
use bytes::Bytes;
use history::Sessions;
use hyper::Method;
use hyper::body::Body;
use hyper::header::{HeaderName, HeaderValue, LINK, VARY};
use market::{Floors, Symbol};

use super::envelope::Problem;
use super::format::Format;
use super::packed::{accepts_gzip, packed};
use super::parameters::{Parameters, Question};
use super::pieces::{self, Whole};
use super::{Answer, Asked, allowance};
use crate::command::{self, Paged, Paging, Request};
use crate::refusal::Refusal;
use crate::route::{self, Caller};
use crate::services::Services;

const NEXT: HeaderName = HeaderName::from_static("x-next");

pub(super) fn answer(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let caller = asked.caller(services)?;
    let mut answer = reply(asked, &caller, services).unwrap_or_else(Problem::answer);
    allowance::tell(&mut answer, &caller, services);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    Ok(answer)
}

fn reply(asked: &Asked<'_>, caller: &Caller, services: &Services) -> Result<Answer, Problem> {
    let parameters = Parameters::parse(asked.query)?;
    let question = parameters.question(services.history.venues())?;
    let format = match question.format {
        Some(format) => format,
        None => Format::accepted(asked.headers)?,
    };
    let whole = match taken_apart(asked, &question, format, caller, services)? {
        Some(whole) => whole,
        None => whole(asked, &question, format, caller, services)?,
    };
    let (mut reply, candles) = pieces::cut(&whole, asked.method, asked.headers)?;
    if format == Format::Json && !pieces::is_piecewise(asked) && accepts_gzip(asked.headers) {
        reply = packed(reply, &whole.body);
    }
    if pieces::is_piecewise(asked) {
        let sent = if asked.method == Method::HEAD { 0 } else { reply.body().size_hint().lower() };
        let sent = usize::try_from(sent).unwrap_or(usize::MAX);
        services.pieces.spend(caller.who.account(), &key(asked, format), sent);
    }
    asked.note.candles(candles);
    if let Some(token) = whole.next {
        let (base, path) = (services.base(), asked.path.trim_start_matches('/'));
        let link = format!("<{base}/{path}?{}>; rel=\"next\"", parameters.with_next(&token));
        for (name, value) in [(LINK, link), (NEXT, token)] {
            reply.headers_mut().insert(name, HeaderValue::from_str(&value).map_err(|_| Problem::internal())?);
        }
    }
    Ok(reply)
}

/// An answer of which somebody has had a piece already. It was counted then; whether they may see it is asked again.
fn taken_apart(
    asked: &Asked<'_>,
    question: &Question,
    format: Format,
    caller: &Caller,
    services: &Services,
) -> Result<Option<Whole>, Problem> {
    if !pieces::is_piecewise(asked) {
        return Ok(None);
    }
    let key = key(asked, format);
    let Some(whole) = services.pieces.find(caller.who.account(), &key, services.uptime()) else {
        return Ok(None);
    };
    let visible = may_see(&command::symbol(&question.message.symbol)?, caller, services)?;
    // Made when the account could see other hours than now, it is another answer.
    let has_overnight = question.overnight && visible.widest == Sessions::All;
    Ok(Some(whole).filter(|whole| whole.has_overnight == has_overnight))
}

fn whole(
    asked: &Asked<'_>,
    question: &Question,
    format: Format,
    caller: &Caller,
    services: &Services,
) -> Result<Whole, Problem> {
    affordable(question, caller, services)?;
    let (Paged { answer, next }, has_overnight) = ask(question, caller, services)?;
    let candles = answer.candles.len();
    let next = next.map(|at| question.token(at));
    let zone = services.history.venue(&answer.symbol).zone();
    let body: Bytes = format.encode(&answer, zone, next.as_deref())?;
    let whole = Whole { body, content_type: format.content_type(), next, candles, has_overnight };
    if pieces::is_piecewise(asked) {
        let (whose, now) = (caller.who.account(), services.uptime());
        services.pieces.keep(whose, key(asked, format), now, whole.clone());
    }
    Ok(whole)
}

/// What makes two requests ask for the same bytes. Tokens are not in the query any more.
fn key(asked: &Asked<'_>, format: Format) -> String {
    format!("{} {}", format.name(), asked.query)
}

/// What somebody may see of a security.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visible {
    /// At most these hours.
    pub(super) widest: Sessions,
    /// From when on.
    pub(super) floors: Floors,
}

/// Whether whoever asks may look at a security, and what of it; nothing is counted for that.
pub(super) fn may_see(symbol: &Symbol, caller: &Caller, services: &Services) -> Result<Visible, Refusal> {
    services.known(symbol, services.glance()?)?;
    services.at_home(caller)?;
    let demand = Demand::Quotes { caller: &caller.who, market: symbol.market().into() };
    let permit = services.access.admit(demand, services.market_now())?;
    let widest = if permit.overnight() { Sessions::All } else { Sessions::Extended };
    let floors = services.floors_of(permit.account()).of(symbol.market());
    services.access.spend(permit, services.machine_now())?;
    Ok(Visible { widest, floors })
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

/// The answer, and whether overnight hours can be in it.
fn ask(question: &Question, caller: &Caller, services: &Services) -> Result<(Paged, bool), Refusal> {
    // Whether the account may see overnight hours is decided on the way, as for a connection that opted in.
    let caller = Caller { overnight: question.overnight, ..*caller };
    let request = Request::History(question.message.clone());
    let work = route::admit_calls(services, &caller, request, question.calls())?;
    let has_overnight = work.has_overnight();
    let paged = work.run_pages(Paging { limit: question.limit, from: question.from }, services)?;
    Ok((paged, has_overnight))
}
