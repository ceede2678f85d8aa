//! `GET /v1/live`: quotes, trades, and changes of the account and the markets, as server-sent events.
//! Pages use it, because a browser session cannot sign in on a long connection.

use access::{Freshness, Secret};
use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};

use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Site, cookies};
use crate::live::STREAMS_MAX;
use crate::message::SYMBOLS_MAX;
use crate::pushes::{self, StreamCredentials};
use crate::refusal::Refusal;

const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// Turns off response buffering in nginx.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

pub(super) const LIVE: Doc = Doc::new(Tag::Candles, "live", "Quotes and trades as they happen")
    .about(
        "Server-sent events. The first, `subscribed`, lists the subscribed symbols, those that wait for \
         data, and those left out with the reason. `clock` shows the market clock: at the start, and \
         when a stopped clock was moved. In a world its kind is `world`, and it is also sent when the world \
         has moved to the next event, is started or stopped. `quote` and `trades` have the fields of pushes 101 and 104; \
         each security begins with its last quote. `market` has the trading status of a market, as \
         `GET /v1/quote/market-status` does: at the start, and when it changes. `account` names what has \
         changed: `trading` (orders, executions, positions, cash; with the scope `trade`) or `watchlists`, \
         at most four times a second. `end` has the reason why the server ends the stream. \
         A comment is sent every 15 seconds. The securities count toward the account's limit of \
         subscriptions, and an account may have 8 streams.",
    )
    .parameters(&[Parameter::query(
        "symbols",
        Kind::Text,
        "At most 500 symbols, separated by commas. Without symbols there are no quotes and trades",
    )
    .such_as("700.HK,AAPL.US")])
    .answers(&[AnswerDoc::ok("The events", &[Media::text("text/event-stream")])])
    .refuses(&[BAD_REQUEST]);
const _: () = assert!(STREAMS_MAX == 8);
const _: () = assert!(SYMBOLS_MAX == 500);

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["symbols"])?;
    let texts = named.get("symbols").unwrap_or_default().split(',').filter(|text| !text.is_empty());
    let symbols: Vec<String> = texts.map(str::to_owned).collect();
    if symbols.len() > SYMBOLS_MAX {
        return Err(Refusal::BadQuery(format!("symbols has more than {SYMBOLS_MAX} symbols")).into());
    }
    let (core, caller) = (&site.core, admitted.caller);
    core.version_check()?;
    core.access
        .admit_call(&caller.who, core.limits.calls, Freshness::Recent, core.uptime())
        .map_err(Refusal::from)?;
    let mut answer = envelope::respond(200, EVENTS, bytes::Bytes::new());
    answer.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    if *call.method != Method::HEAD {
        let cookie = call.header("cookie").unwrap_or_default();
        let session = cookies::session(cookie, site.is_https()).filter(|_| caller.who.is_browser());
        let session = session.map(|session| Secret::new(session.to_owned()));
        let stream = pushes::open(core, StreamCredentials { caller, session }, call.peer, &symbols)?;
        answer.extensions_mut().insert(stream.into_handle());
    }
    Ok(answer)
}
