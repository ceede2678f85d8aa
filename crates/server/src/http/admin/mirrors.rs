//! `GET /v1/admin/mirrors` and `POST /v1/admin/mirrors/{name}/fetch`: the mirrors of the store with
//! their state, and what a security would cost before it is fetched.

use std::collections::BTreeMap;
use std::time::Duration;

use collect::{CollectError, Cost, Fetched, FollowState, ReadThrough, Settings, State, cost, followed};
use market::{Symbol, Timestamp};
use mirror::Month;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{MirrorRow, StoreError, View};

use super::admin_request::{AdminRequest, WRONG_OR_UNKNOWN, wrong};
use crate::command;
use crate::kit::Problem;
use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data};
use crate::refusal::Refusal;
use crate::written::Instant;

/// Maximum time that a request waits for the source.
const FETCH_WITHIN: Duration = Duration::from_secs(3);

pub(super) const LIST: Doc = Doc::new(Tag::Admin, "adminMirrors", "Mirrors of the store, with their state")
    .about(
        "With `symbol`, each mirror also has what a run would request for this security. Nothing is \
         requested from the sources.",
    )
    .parameters(&[Parameter::query("symbol", Kind::Text, "A security, such as 700.HK")])
    .answers(&[AnswerDoc::ok("The mirrors", &[data::<Mirrors>()])])
    .refuses(WRONG_OR_UNKNOWN);

pub(super) const FETCH: Doc = Doc::new(
    Tag::Admin,
    "adminFetch",
    "Fetch a security from the source of a mirror",
)
.about(
    "Requests the static data, all days and the minutes of the last seven days, and waits for them for at \
         most three seconds. The rate and the quota of the mirror apply.",
)
.parameters(&[Parameter::path("name", "Name of the mirror")])
.body(&[Media::json::<FetchRequest>()])
.answers(&[AnswerDoc::ok("The state of the security", &[data::<FetchedSecurity>()])])
.refuses(&[BAD_REQUEST, NOT_FOUND, CONFLICT]);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Mirrors {
    mirrors: Vec<Mirror>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Mirror {
    name: String,
    /// HTTP address of the source.
    server: String,
    /// Number of securities of the list.
    securities: usize,
    /// Number of requests of all runs.
    requests: u64,
    /// Month of the quota, in Hong Kong.
    month: String,
    /// Number of securities that were requested this month.
    quota_used: usize,
    /// Maximum number of securities per month; null if unknown.
    quota_limit: Option<u32>,
    quota_left: Option<u32>,
    /// When the last run began.
    began_at: Option<Instant>,
    /// When the last run ended; null while it is in progress.
    ended_at: Option<Instant>,
    /// How the last run ended.
    outcome: Option<String>,
    /// Whether this server requests data of clients' requests from the source.
    read_through: bool,
    /// Whether this server can fetch a security on request.
    can_fetch: bool,
    following: Option<FollowedMirror>,
    cost: Option<SecurityCost>,
}

/// State of a server that follows the source.
#[derive(Debug, Serialize, JsonSchema)]
struct FollowedMirror {
    /// Whether a server follows the source now.
    running: bool,
    connected: bool,
    /// When the connection was opened or lost.
    since: Option<Instant>,
    /// Number of securities whose pushes are received.
    subscribed: usize,
    /// Securities without pushes, with the reason.
    left_out: BTreeMap<String, String>,
    /// Number of rows that were ingested since the start of that server.
    rows: u64,
    last_push_at: Option<Instant>,
    error: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SecurityCost {
    symbol: String,
    /// Number of history requests.
    requests: u64,
    /// Number of candles if every minute and day was traded.
    candles: u64,
    /// Whether the security counts toward the quota of this month.
    is_new: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FetchRequest {
    /// Such as 700.HK.
    symbol: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FetchedSecurity {
    symbol: String,
    /// `stored`; `fetching` if the source has not answered yet; `unknown` if the source does not have
    /// the security, or refuses it.
    state: &'static str,
}

impl AdminRequest<'_> {
    pub(super) fn mirrors(&self) -> Result<Mirrors, Problem> {
        let symbol = self.call.parameter_of("symbol").map(|text| command::symbol(&text)).transpose()?;
        let core = &self.site.core;
        let now = self.present.machine;
        let read = core.with_reader(|reader| {
            let view = reader.view();
            let rows = view.mirrors()?;
            let all = rows.iter().map(|row| self.mirror(view, row, symbol.as_ref(), now));
            Ok::<_, StoreError>(all.collect::<Result<Vec<_>, CollectError>>())
        });
        let mirrors = read.map_err(|error| Refusal::of_store(&error, "cannot read the mirrors"))?;
        Ok(Mirrors { mirrors: mirrors.map_err(|error| problem(&error))? })
    }

    fn mirror(
        &self,
        view: &View,
        row: &MirrorRow,
        symbol: Option<&Symbol>,
        now: Timestamp,
    ) -> Result<Mirror, CollectError> {
        let core = &self.site.core;
        let settings: Settings = serde_json::from_str(&row.settings)?;
        let (state, month) = (State::parse(&row.state), Month::of(now).to_string());
        let used = view.mirror_month(row.id, &month)?.len();
        let left = |limit: u32| limit.saturating_sub(u32::try_from(used).unwrap_or(u32::MAX));
        let instant = |at: Option<i64>| at.map(|at| Instant::utc(Timestamp(at)));
        let own = core.read_through.as_ref().filter(|of| of.mirror() == row.name);
        let following = followed(&core.store, row)?.map(|(stored, running)| {
            let live = core.following.as_ref().filter(|of| of.mirror() == row.name && running);
            let state = live.map_or(stored, |live| live.state());
            let FollowState { is_connected, since, subscribed, left_out, rows, last_push_at, error, .. } =
                state;
            FollowedMirror {
                running,
                connected: running && is_connected,
                since: instant(since),
                subscribed,
                left_out,
                rows,
                last_push_at: instant(last_push_at),
                error,
            }
        });
        let costs = |symbol: &Symbol| cost(view, core.history.venues(), row, symbol, now);
        let cost = symbol.map(costs).transpose()?.zip(symbol);
        Ok(Mirror {
            name: row.name.clone(),
            server: settings.http_url,
            securities: view.mirror_securities(row.id)?.len(),
            requests: state.requests,
            month,
            quota_used: used,
            quota_limit: state.month_limit,
            quota_left: state.month_limit.map(left),
            began_at: instant(state.began_at),
            ended_at: instant(state.ended_at),
            outcome: state.outcome,
            read_through: own.is_some_and(ReadThrough::is_automatic),
            can_fetch: own.is_some(),
            following,
            cost: cost.map(|(Cost { requests, candles, is_new, .. }, symbol)| SecurityCost {
                symbol: symbol.to_string(),
                requests,
                candles,
                is_new,
            }),
        })
    }

    pub(super) fn fetch(&self) -> Result<FetchedSecurity, Problem> {
        let FetchRequest { symbol } = self.change("symbol")?;
        let symbol = command::symbol(&symbol)?;
        if symbol.is_us_option() {
            return Err(wrong("options cannot be fetched"));
        }
        let core = &self.site.core;
        let name = self.call.path_value("name");
        let read = core.with_reader(|reader| reader.view().mirror(name));
        let row = read.map_err(|error| Refusal::of_store(&error, "cannot read the mirrors"))?;
        row.ok_or_else(Problem::not_found)?;
        let own = core.read_through.as_ref().filter(|of| of.mirror() == name);
        let own = own.ok_or_else(|| {
            Problem::conflict("the server does not fetch from this mirror: start it with --read-through")
        })?;
        let fetched = own.fetch_security(&symbol, self.present.machine, FETCH_WITHIN);
        // The local copy of a node must not answer from an older version.
        core.with_reader(|reader| reader.snapshot().map(drop))
            .map_err(|error: StoreError| Refusal::of_store(&error, "cannot read the store"))?;
        let state = match (core.is_stored(&symbol)?, fetched) {
            (true, Fetched::Done) => "stored",
            (false, Fetched::Done) => "unknown",
            (_, Fetched::Pending) => "fetching",
        };
        Ok(FetchedSecurity { symbol: symbol.to_string(), state })
    }
}

fn problem(error: &CollectError) -> Problem {
    match error {
        CollectError::Store(error) => Refusal::of_store(error, "cannot read the mirrors").into(),
        error => {
            tracing::error!(%error, "cannot read the mirrors");
            Refusal::Internal.into()
        }
    }
}
