//! `GET /v1/quote/history-candlesticks`: the history command without an SDK, in several formats, and with longer answers than the
//! protocol's.

use bytes::Bytes;
use history::{COUNT_MAX, Paged, Paging, Sessions};
use hyper::Method;
use hyper::body::Body;
use hyper::header::{HeaderName, HeaderValue, LINK, VARY};
use market::FloorTable;

use super::format::Format;
use super::parameters::{Parameters, Question};
use crate::caller::Caller;
use crate::command::HistoryCandles;
use crate::kit::Site;
use crate::kit::envelope::Problem;
use crate::kit::packed::{accepts_gzip, packed};
use crate::kit::pieces::{self, AnswerScope, WholeAnswer};
use crate::kit::visible::may_see;
use crate::kit::{Admitted, Answer, Call};
use crate::refusal::Refusal;
use crate::route::{self, Memory};

const NEXT: HeaderName = HeaderName::from_static("x-next");

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let mut answer = reply(call, &admitted, site).unwrap_or_else(Problem::answer);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    Ok(answer)
}

fn reply(call: &Call<'_>, admitted: &Admitted, site: &Site) -> Result<Answer, Problem> {
    let caller = &admitted.caller;
    let parameters = Parameters::parse(call.query)?;
    let question = parameters.question(site.core.history.venues())?;
    let format = match question.format {
        Some(format) => format,
        None => Format::accepted(call.headers)?,
    };
    let whole = match taken_apart(call, &question, format, caller, site)? {
        Some(whole) => whole,
        None => whole(call, &question, format, admitted, site)?,
    };
    let (mut reply, candles) = pieces::cut(&whole, call.method, call.headers)?;
    if format == Format::Json && !pieces::is_piecewise(call) && accepts_gzip(call.headers) {
        reply = packed(reply, &whole.body);
    }
    if pieces::is_piecewise(call) {
        let sent = if call.method == Method::HEAD { 0 } else { reply.body().size_hint().lower() };
        let sent = usize::try_from(sent).unwrap_or(usize::MAX);
        site.pieces.spend(caller.who.account(), &key(call, format), sent);
    }
    call.note.candles(candles);
    if let Some(token) = whole.next {
        let (base, path) = (site.base(), call.path.trim_start_matches('/'));
        let link = format!("<{base}/{path}?{}>; rel=\"next\"", parameters.with_next(&token));
        for (name, value) in [(LINK, link), (NEXT, token)] {
            reply.headers_mut().insert(name, HeaderValue::from_str(&value).map_err(|_| Problem::internal())?);
        }
    }
    Ok(reply)
}

/// A cached answer of which the account has already got a range. It was counted then; whether the account may see it is checked again.
fn taken_apart(
    call: &Call<'_>,
    question: &Question,
    format: Format,
    caller: &Caller,
    site: &Site,
) -> Result<Option<WholeAnswer>, Problem> {
    if !pieces::is_piecewise(call) {
        return Ok(None);
    }
    let key = key(call, format);
    let Some(whole) = site.pieces.find(caller.who.account(), &key, site.core.uptime()) else {
        return Ok(None);
    };
    let visible = may_see(&question.symbol, caller, site)?;
    let has_overnight = question.sessions == Sessions::All && visible.widest == Sessions::All;
    let scope = AnswerScope { has_overnight, floors: visible.floors };
    Ok(Some(whole).filter(|whole| whole.scope == scope))
}

fn whole(
    call: &Call<'_>,
    question: &Question,
    format: Format,
    admitted: &Admitted,
    site: &Site,
) -> Result<WholeAnswer, Problem> {
    affordable(question, &admitted.caller, site)?;
    let (Paged { answer, next }, has_overnight, floors) = ask(question, admitted, site)?;
    let scope = AnswerScope { has_overnight, floors: floors.of(answer.symbol.market()) };
    let candles = answer.candles.len();
    let next = next.map(|at| question.token(at));
    let zone = site.core.history.venue(&answer.symbol).zone();
    let body: Bytes = format.encode(&answer, zone, next.as_deref())?;
    let whole = WholeAnswer { body, content_type: format.content_type(), next, candles, scope };
    if pieces::is_piecewise(call) {
        let (whose, now) = (admitted.account().id, site.core.uptime());
        site.pieces.keep(whose, key(call, format), now, whole.clone());
    }
    Ok(whole)
}

/// The cache key: two requests with the same key ask for the same bytes. Tokens have been removed from the query.
fn key(call: &Call<'_>, format: Format) -> String {
    format!("{} {}", format.name(), call.query)
}

/// Refuses an answer that counts as more calls than the account's rate limit ever allows, and says so.
fn affordable(question: &Question, caller: &Caller, site: &Site) -> Result<(), Problem> {
    let allowance =
        site.core.access.allowance(&caller.who, site.core.uptime()).map_err(Problem::from_access)?;
    match allowance {
        Some(rule) if question.calls() > rule.limit => {
            let (calls, limit, seconds) = (question.calls(), rule.limit, rule.seconds);
            Err(Problem::from(Refusal::BadQuery(format!(
                "limit {} is worth {calls} calls, and this account has {limit} in any {seconds} s: ask for at most {}",
                question.limit,
                u64::from(limit).saturating_mul(COUNT_MAX as u64)
            ))))
        }
        _ => Ok(()),
    }
}

/// The answer, whether overnight hours can be in it, and from when on the account is served.
fn ask(question: &Question, admitted: &Admitted, site: &Site) -> Result<(Paged, bool, FloorTable), Refusal> {
    // Whether the account may see overnight hours is decided on the way, as for a connection that opted in.
    let caller = Caller { overnight: question.sessions == Sessions::All, ..admitted.caller };
    let memory = &mut Memory::of(&caller, &admitted.permit);
    let work = route::admit(&site.core, &caller, question.calls(), memory, |context| {
        question.query(context.floors).map(HistoryCandles::new)
    })?;
    let (has_overnight, floors) = (work.has_overnight(), work.floors(&site.core));
    let paged = work.pages(Paging { limit: question.limit, from: question.from }, &site.core)?;
    Ok((paged, has_overnight, floors))
}
