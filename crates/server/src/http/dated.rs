//! Requests of accounts that are pinned to an older API date. Endpoints newer than that date are
//! refused, newer fields are ignored, and the response is converted to the older format.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};

use crate::kit::{Answer, Call, Problem, Row, envelope};
use crate::versions::Dated;

/// Header with the API date of the response.
const API_DATE: HeaderName = HeaderName::from_static("x-api-date");

/// Answers a request in the format of an API date.
pub(super) fn answer(
    dated: Dated,
    row: &Row,
    call: &Call<'_>,
    handle: impl FnOnce(&Call<'_>) -> Result<Answer, Problem>,
) -> Answer {
    let mut answer = in_form(dated, row, call, handle).unwrap_or_else(Problem::answer);
    if let Ok(date) = HeaderValue::from_str(&dated.as_of().to_string()) {
        answer.headers_mut().insert(API_DATE, date);
    }
    answer
}

fn in_form(
    dated: Dated,
    Row { method, path, .. }: &Row,
    call: &Call<'_>,
    handle: impl FnOnce(&Call<'_>) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    dated.endpoint(method, path).map_err(|why| Problem::not_found().because(&why.to_string()))?;
    dated
        .body(method, path, call.body)
        .map_err(|(what, why)| Problem::trade_parameter(format!("{what}: {why}")))?;
    let query = dated.query(method, path, call.query);
    let answer = handle(&Call { query: query.as_deref().unwrap_or(call.query), ..*call })?;
    let headers = answer.headers();
    let is_plain =
        headers.get(CONTENT_TYPE) == Some(&envelope::JSON) && !headers.contains_key(CONTENT_ENCODING);
    if !is_plain || !answer.status().is_success() {
        return Ok(answer);
    }
    let (parts, body) = answer.into_parts();
    let body = whole(body);
    let older = dated.answer(method, path, &body).unwrap_or(body);
    Ok(Answer::from_parts(parts, Full::new(older)))
}

/// Returns the bytes of a fully buffered body.
pub(super) fn whole(body: Full<Bytes>) -> Bytes {
    let mut body = pin!(body);
    match body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
        _ => Bytes::new(),
    }
}
