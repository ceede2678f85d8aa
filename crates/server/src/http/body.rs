//! Reads request bodies: in full if the credentials were used recently, up to a small limit before
//! authentication, and not at all if no endpoint reads the body. The memory for bodies is limited
//! (`unsent.rs`).
//!
//! A file upload is streamed to disk after the caller is authenticated, so the file is never
//! completely in memory. This file also defines the refusals for uploads.

use std::sync::Arc;
use std::time::Duration;

use access::Recognized;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Incoming};
use hyper::header::{COOKIE, EXPECT};
use hyper::http::request::Parts;
use tokio::time::timeout;

use super::routes::{Destination, RouteMatch};
use crate::accepted::Accepted;
use crate::intake::{Arriving, IntakeError};
use crate::kit::{
    Auth, Call, ListenerKind, Permitted, Problem, RequestNotes, Row, RowBody, Site, cookies, credentials,
};
use crate::refusal::Refusal;
use crate::unsent::Held;
use crate::workers::Share;

const BODY_WITHIN: Duration = Duration::from_secs(10);
const BODY_MAX: usize = 256 << 10;
/// Maximum size of an ingested batch.
const BATCH_MAX: usize = crate::ingest::BYTES_MAX;
const _: () = assert!(BATCH_MAX <= DROPPED_MAX);
/// Maximum body size before authentication, in bytes. Slightly above the limits for forms and
/// client registrations, so that those endpoints can refuse an oversized body with a specific
/// error.
const STRANGERS_BODY_MAX: usize = 72 << 10;
/// Maximum number of bytes of an oversized body to read and discard. The body is read because a
/// client that is still writing when the connection closes may never see the refusal.
const DROPPED_MAX: usize = 4 << 20;

/// A request whose body has been read completely.
#[derive(Debug)]
pub(super) struct WholeRequest {
    pub(super) parts: Parts,
    pub(super) body: Bytes,
    /// The caller whose worker queue the request joins, with its concurrency limit.
    pub(super) share: Share,
    /// Reservations against the body memory limits, released on drop.
    #[expect(dead_code, reason = "released on drop")]
    pub(super) held: Vec<Held>,
    /// The uploaded file, on endpoints that accept a file.
    pub(super) arriving: Option<Arriving>,
}

/// How much of a body is read into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyLimit {
    Batch,
    All,
    Strangers,
    Nothing,
}

impl BodyLimit {
    fn bytes(self) -> usize {
        match self {
            BodyLimit::Batch => BATCH_MAX,
            BodyLimit::All => BODY_MAX,
            BodyLimit::Strangers => STRANGERS_BODY_MAX,
            BodyLimit::Nothing => 0,
        }
    }
}

/// Reads the whole request. Fails if the body is too large or too slow.
pub(super) async fn read(
    request: Request<Incoming>,
    way: &RouteMatch,
    accepted: &Accepted,
) -> Result<WholeRequest, Problem> {
    let site = &accepted.site;
    let (parts, body) = request.into_parts();
    let claim = credentials::claim(&parts, site);
    let known = claim.and_then(|claim| site.claims.find(claim, site.core.uptime()));
    let share = known.unwrap_or_else(|| site.core.share_of_address(accepted.peer.ip()));
    if let Some(row) = way.row().filter(|row| row.body == RowBody::File) {
        return read_file((parts, body), way, row, share, accepted).await;
    }
    if body.is_end_stream() {
        return Ok(WholeRequest { parts, body: Bytes::new(), share, held: Vec::new(), arriving: None });
    }
    let declared = body.size_hint().lower();
    // A client that sends `Expect: 100-continue` can be refused before it sends the body.
    let is_batch = way.row().is_some_and(|row| row.body == RowBody::Batch);
    let most = if is_batch { BATCH_MAX } else { BODY_MAX };
    if declared > most as u64 && (declared > DROPPED_MAX as u64 || parts.headers.contains_key(EXPECT)) {
        return Err(Problem::too_large(most));
    }
    let stored = match way.target() {
        None => BodyLimit::Nothing,
        Some(target) if !target.needs_proof() => BodyLimit::Strangers,
        Some(_) if known.is_some() => BodyLimit::All,
        Some(_) => recognized(&parts, share, site).await?,
    };
    let (stored, mut held) = match stored {
        BodyLimit::All if is_batch => (BodyLimit::Batch, site.bodies.tallies_of_batch(share.who)),
        stored => (stored, site.bodies.tallies(share.who)),
    };
    let gathered = timeout(BODY_WITHIN, gather(body, stored, &mut held)).await;
    let body = gathered.unwrap_or_else(|_| Err(Problem::too_slow()))?;
    Ok(WholeRequest { parts, body, share, held, arriving: None })
}

/// Reads and discards the body of a refused request, because a client that is still writing when
/// the connection closes may never see the refusal. Bodies that are long, or that the client sends
/// only after `100 Continue`, are not read.
pub(super) async fn drop_short(parts: &Parts, body: Incoming) {
    if body.size_hint().lower() > DROPPED_MAX as u64 || parts.headers.contains_key(EXPECT) {
        return;
    }
    // The request is refused in any case, so errors and timeouts are ignored.
    timeout(BODY_WITHIN, gather(body, BodyLimit::Nothing, &mut [])).await.map(drop).ok();
}

async fn gather(mut body: Incoming, stored: BodyLimit, held: &mut [Held]) -> Result<Bytes, Problem> {
    let (mut bytes, mut seen) = (BytesMut::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::bad_request("the body ended early"))?;
        let Some(data) = frame.data_ref() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= stored.bytes() {
            held.iter_mut().for_each(|held| held.set(seen));
            if held.iter().any(Held::is_full) {
                return Err(Problem::too_many_bodies());
            }
            bytes.extend_from_slice(data);
        } else if seen > DROPPED_MAX {
            break;
        }
    }
    match stored {
        // No endpoint reads the body.
        BodyLimit::Nothing => Ok(Bytes::new()),
        _ if seen <= stored.bytes() => Ok(bytes.freeze()),
        _ => Err(Problem::too_large(stored.bytes())),
    }
}

/// Returns how much to read from a caller whose credentials were not used recently. A request
/// without credentials will be refused, so its body is not read. With a valid token the full body
/// is read. An app key is not secret, and its signature can only be verified with the body, so the
/// limit for unauthenticated callers applies.
async fn recognized(parts: &Parts, share: Share, site: &Arc<Site>) -> Result<BodyLimit, Problem> {
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (authorization, app_key) = (text("authorization"), text("x-api-key"));
    let cookie = text(COOKIE.as_str());
    let cookie = cookie.and_then(|cookies| cookies::session(&cookies, site.is_https()).map(str::to_owned));
    if authorization.is_none() && cookie.is_none() && app_key.is_none() {
        return Ok(BodyLimit::Nothing);
    }
    let looking = site.clone();
    let answer = site.core.workers.submit(share, move || {
        let (access, now) = (&looking.core.access, looking.core.machine_now());
        if cookie.is_some_and(|cookie| access.identify_browser(&cookie, now).is_ok()) {
            return Ok(Recognized::Token);
        }
        access.recognize(authorization.as_deref(), app_key.as_deref(), now)
    });
    let answer = answer.map_err(|_| Problem::from(Refusal::Busy))?;
    match answer.await.map_err(|_| Problem::internal())?.map_err(Problem::from_access)? {
        Recognized::Token => Ok(BodyLimit::All),
        Recognized::Key => Ok(BodyLimit::Strangers),
        Recognized::Anonymous => Ok(BodyLimit::Nothing),
    }
}

/// Buffer size in bytes for writing an upload to disk.
const PIECE: usize = 256 << 10;
/// Idle timeout of an upload.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Total timeout of an upload; enough for the default maximum file size over a slow connection.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2 * 3_600);

/// Reads a request and streams its body to a file. The file is removed if the request is refused or
/// the connection closes.
pub(super) async fn read_file(
    (parts, mut file): (Parts, Incoming),
    way: &RouteMatch,
    row: &'static Row,
    share: Share,
    accepted: &Accepted,
) -> Result<WholeRequest, Problem> {
    let declared = file.size_hint().exact();
    let (inner, found) = (accepted.clone(), way.found.clone());
    let admitted = accepted.site.core.workers.submit(share, move || {
        let begun = begin(&parts, &found, row, declared, &inner);
        (parts, begun)
    });
    let admitted = admitted.map_err(|_| Problem::from(Refusal::Busy))?;
    let (parts, begun) = admitted.await.map_err(|_| Problem::internal())?;
    let mut arriving = match begun {
        Ok(arriving) => arriving,
        Err(problem) => {
            drop_short(&parts, file).await;
            return Err(problem);
        }
    };
    let filled = timeout(ARRIVES_WITHIN, fill(&mut file, &mut arriving)).await;
    match filled.unwrap_or(Err(Ending::Slow)) {
        Ok(()) => {}
        Err(Ending::Slow) => return Err(Problem::too_slow()),
        Err(Ending::Cut) => return Err(Problem::bad_request("the upload was incomplete and was discarded")),
        Err(Ending::Refused(error)) => {
            drop(arriving);
            drop_short(&parts, file).await;
            return Err(error.into());
        }
    }
    let (body, held) = (bytes::Bytes::new(), Vec::new());
    Ok(WholeRequest { parts, body, share, held, arriving: Some(arriving) })
}

/// Authenticates the caller and reserves space for the file. The request is authenticated again
/// once it is complete.
fn begin(
    parts: &Parts,
    found: &Destination,
    row: &Row,
    declared: Option<u64>,
    accepted: &Accepted,
) -> Result<Arriving, Problem> {
    let Auth::Permitted(Permitted { scope, or, .. }) = row.auth else { return Err(Problem::not_found()) };
    if accepted.listener_kind == ListenerKind::Internal {
        return Err(Problem::not_found());
    }
    let note = RequestNotes::default();
    let call = Call {
        terms: found.credential_terms(),
        method: &parts.method,
        path: parts.uri.path(),
        path_values: found.path_values(),
        query: parts.uri.query().unwrap_or_default(),
        headers: &parts.headers,
        body: &[],
        arriving: None,
        peer: accepted.peer,
        reached: accepted.reached,
        region: accepted.region,
        address_token: None,
        world: None,
        listener_kind: accepted.listener_kind,
        is_local: false,
        note: &note,
    };
    if call.headers.contains_key("x-api-signature") {
        return Err(Problem::signed_file());
    }
    call.admit_either(scope, or, &accepted.site)?;
    let name = call.parameter_of("name");
    Ok(accepted.site.core.intake.receive(name.as_deref(), declared)?)
}

/// Reason why an upload failed.
enum Ending {
    Slow,
    Cut,
    Refused(IntakeError),
}

impl From<IntakeError> for Ending {
    fn from(error: IntakeError) -> Ending {
        Ending::Refused(error)
    }
}

async fn fill(file: &mut Incoming, arriving: &mut Arriving) -> Result<(), Ending> {
    let mut piece = BytesMut::with_capacity(PIECE);
    loop {
        let frame = timeout(IDLE_MAX, file.frame()).await.map_err(|_| Ending::Slow)?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| Ending::Cut)?;
        let Some(data) = frame.data_ref() else { continue };
        arriving.count(data.len())?;
        piece.extend_from_slice(data);
        if piece.len() >= PIECE {
            arriving.write(piece.split().freeze()).await?;
        }
    }
    if !piece.is_empty() {
        arriving.write(piece.freeze()).await?;
    }
    Ok(())
}

/// `Retry-After` for an upload, in seconds.
const RETRY_AFTER_S: i64 = 5;

impl From<IntakeError> for Problem {
    fn from(error: IntakeError) -> Problem {
        let text = error.to_string();
        match error {
            IntakeError::Name | IntakeError::Empty => Refusal::BadQuery(text).into(),
            IntakeError::TooLarge { .. } => Problem::file_too_large(text),
            IntakeError::TooManyAtOnce | IntakeError::Looking => Problem::too_often(&text, RETRY_AFTER_S),
            IntakeError::TooMany | IntakeError::Running { .. } | IntakeError::StoreBusy => {
                Problem::conflict(text)
            }
            IntakeError::DiskFull => Problem::disk_full(text),
            IntakeError::Unknown => Problem::nothing_there(&text),
            IntakeError::Stopping => Refusal::Busy.into(),
            error @ (IntakeError::Io(_) | IntakeError::Store(_) | IntakeError::Unexpected) => {
                tracing::error!(%error, "cannot store or import an upload");
                Problem::internal()
            }
        }
    }
}
