//! Receives a file upload. The caller is authenticated first, and the file is streamed to disk, so
//! it is never completely in memory.

use std::time::Duration;

use bytes::BytesMut;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::http::request::Parts;
use tokio::time::timeout;

use super::body::{self, WholeRequest};
use super::routes::{Destination, RouteMatch};
use crate::entrance::Entrance;
use crate::intake::{Arriving, IntakeError};
use crate::kit::{Call, Gate, ListenerKind, Permitted, Problem, RequestNotes, Row};
use crate::refusal::Refusal;
use crate::workers::Share;

/// Buffer size in bytes for writing an upload to disk.
const PIECE: usize = 256 << 10;
/// Idle timeout of an upload.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Total timeout of an upload; enough for the default maximum file size over a slow connection.
const ARRIVES_WITHIN: Duration = Duration::from_secs(2 * 3_600);

/// Reads a request and streams its body to a file. The file is removed if the request is refused or
/// the connection closes.
pub(super) async fn read(
    (parts, mut file): (Parts, Incoming),
    way: &RouteMatch,
    row: &'static Row,
    share: Share,
    entrance: &Entrance,
) -> Result<WholeRequest, Problem> {
    let declared = file.size_hint().exact();
    let (inner, found) = (entrance.clone(), way.found.clone());
    let admitted = entrance.site.core.workers.submit(share, move || {
        let begun = begin(&parts, &found, row, declared, &inner);
        (parts, begun)
    });
    let admitted = admitted.map_err(|_| Problem::from(Refusal::Busy))?;
    let (parts, begun) = admitted.await.map_err(|_| Problem::internal())?;
    let mut arriving = match begun {
        Ok(arriving) => arriving,
        Err(problem) => {
            body::drop_short(&parts, file).await;
            return Err(problem);
        }
    };
    let filled = timeout(ARRIVES_WITHIN, fill(&mut file, &mut arriving)).await;
    match filled.unwrap_or(Err(Ending::Slow)) {
        Ok(()) => {}
        Err(Ending::Slow) => return Err(Problem::too_slow()),
        Err(Ending::Cut) => return Err(Problem::bad_request("the file ended early: it was not kept")),
        Err(Ending::Refused(error)) => {
            drop(arriving);
            body::drop_short(&parts, file).await;
            return Err(error.into());
        }
    }
    let (body, held) = (bytes::Bytes::new(), Vec::new());
    Ok(WholeRequest { parts, body, share, held, arriving: Some(arriving) })
}

/// Authenticates the caller and reserves space for the file. The complete request is authenticated
/// again, like every request.
fn begin(
    parts: &Parts,
    found: &Destination,
    row: &Row,
    declared: Option<u64>,
    entrance: &Entrance,
) -> Result<Arriving, Problem> {
    let Gate::Permitted(Permitted { scope, or, .. }) = row.gate else { return Err(Problem::not_found()) };
    if entrance.listener_kind == ListenerKind::Internal {
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
        peer: entrance.peer,
        reached: entrance.reached,
        region: entrance.region,
        address_token: None,
        listener_kind: entrance.listener_kind,
        is_local: false,
        note: &note,
    };
    if call.headers.contains_key("x-api-signature") {
        return Err(Problem::signed_file());
    }
    call.admit_either(scope, or, &entrance.site)?;
    let name = call.parameter_of("name");
    Ok(entrance.site.core.intake.receive(name.as_deref(), declared)?)
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
