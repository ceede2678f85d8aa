//! What can be told of the service as it is now: what the store holds, how far the calendars go, what an operator should
//! look at. `/status` tells it as a document, `/metrics` as numbers.

use std::sync::Mutex;

use market::{Market, Timestamp, Venues};
use serde_json::{Value, json};
use store::{ImportRecord, Reader, StoreError, Totals};

use crate::metrics::{self, Connection};
use crate::services::Services;

const DAY_S: i64 = 86_400;
/// When to warn: long enough before to act, short enough to be read.
const CALENDAR_WARNING_S: i64 = 30 * DAY_S;
const FREE_BYTES_MIN: u64 = 1 << 30;
const FREE_SHARE_MIN: u64 = 20;

/// What the store holds at a version of it.
#[derive(Clone, Debug)]
pub(crate) struct Holdings {
    pub(crate) version: i64,
    pub(crate) totals: Totals,
}

/// The sums of the version that was last asked for: they take a walk over all series.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Option<Holdings>>);

impl Services {
    pub(crate) fn holdings(&self) -> Result<Holdings, StoreError> {
        self.with_reader(|reader: &mut Reader| {
            let version = reader.version()?;
            let kept = self.kept.0.lock().ok().and_then(|kept| kept.clone());
            if let Some(kept) = kept.filter(|kept| kept.version == version) {
                return Ok(kept);
            }
            let snapshot = reader.snapshot()?;
            let holdings = Holdings { version: snapshot.version()?, totals: snapshot.totals()? };
            if let Ok(mut kept) = self.kept.0.lock() {
                *kept = Some(holdings.clone());
            }
            Ok(holdings)
        })
    }

    pub(crate) fn last_import(&self) -> Result<Option<ImportRecord>, StoreError> {
        self.with_reader(|reader: &mut Reader| reader.view().last_import())
    }

    /// What keeps the service from answering: nothing, or a word for each.
    pub(crate) fn obstacles(&self) -> Vec<&'static str> {
        let mut obstacles = Vec::new();
        if self.is_stopping() {
            obstacles.push("stopping");
        }
        // What is in memory says nothing about the files: both are read anew.
        if let Err(error) = self.store.probe() {
            tracing::error!(%error, "cannot look at the store");
            obstacles.push("store");
        }
        if let Err(error) = self.access.probe() {
            tracing::error!(%error, "cannot look at the accounts");
            obstacles.push("accounts");
        }
        obstacles
    }
}

/// The first moment after the last day that a market's calendar knows.
pub(crate) fn calendar_end(market: Market, venues: &Venues) -> Timestamp {
    let venue = venues.of(market);
    let last = venue.calendar().valid_through();
    venue.zone().midnight(last.tomorrow().unwrap_or(last))
}

/// What an operator should look at, in whole sentences.
pub(crate) fn warnings(services: &Services) -> Vec<String> {
    let mut warnings = Vec::new();
    for market in Market::ALL {
        let left = calendar_end(market, services.history.venues()).0.saturating_sub(services.market_now().0);
        let (name, through) =
            (market.as_str(), services.history.venues().of(market).calendar().valid_through());
        if left <= 0 {
            warnings.push(format!(
                "the calendar of {name} has ended on {through}: weekdays count as trading days"
            ));
        } else if left <= CALENDAR_WARNING_S {
            warnings.push(format!("the calendar of {name} ends on {through}"));
        }
    }
    let certificate = services.tls.as_ref().map(|tls| tls.certificate());
    let concern = certificate.and_then(|certificate| certificate.concern(services.machine_now()));
    warnings.extend(concern.map(|concern| concern.to_string()));
    warnings.extend(services.exposure.iter().map(|says| format!("{says}; {}", crate::EXPOSURE_ADVICE)));
    if let Some(disk) = metrics::disk(services.store.dir())
        && (disk.free_bytes < FREE_BYTES_MIN || disk.free_bytes < disk.bytes / FREE_SHARE_MIN)
    {
        warnings.push(format!("the disk of the store has {} MiB left", disk.free_bytes >> 20));
    }
    warnings
}

/// Everything, as `/status` tells it. No paths and no names of accounts: it may be shown around.
pub(crate) fn document(services: &Services) -> Result<Value, StoreError> {
    let (now, market_now) = (services.machine_now(), services.market_now());
    let holdings = services.holdings()?;
    let calendars = Market::ALL.map(|market| {
        let venue = services.history.venues().of(market);
        json!({
            "market": market.as_str(),
            "now": venue.zone().rfc3339(market_now),
            "valid_through": venue.calendar().valid_through().to_string(),
        })
    });
    let connections = Connection::ALL.iter();
    let connections: serde_json::Map<String, Value> =
        connections.map(|kind| (kind.as_str().to_owned(), services.metrics.open(*kind).into())).collect();
    let (load, (hits, misses)) = (services.shelf.load(), services.metrics.cache_looks());
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": services.started_at.to_string(),
        "uptime_s": services.uptime().as_secs(),
        "now": now.to_string(),
        "market_now": market_now.to_string(),
        "ready": services.obstacles().is_empty(),
        "store": store_document(services, &holdings)?,
        "calendars": calendars,
        "connections": connections,
        "signed_in": services.links.count(),
        "connections_max": services.connections_max,
        "cache": {
            "bytes": load.bytes,
            "bytes_max": load.bytes_max,
            "pages": load.pages,
            "hits": hits,
            "misses": misses,
        },
        "tls": tls_document(services),
        "listeners": services.listeners.iter().map(crate::listen::Listening::document).collect::<Vec<_>>(),
        "warnings": warnings(services),
    }))
}

fn store_document(services: &Services, holdings: &Holdings) -> Result<Value, StoreError> {
    let Holdings { version, totals } = holdings;
    let sizes = services.store.file_sizes();
    let import = services.last_import()?.map(|import| {
        json!({
            "id": import.id.0,
            "kind": import.kind,
            "state": import.state.as_str(),
            "started_at": import.started_at.to_string(),
            "finished_at": import.finished_at.map(|at| at.to_string()),
            "rows_read": import.rows_read,
            "quarantined": import.quarantined,
        })
    });
    Ok(json!({
        "schema": services.store.schema(),
        "version": version,
        "series": totals.series,
        "candles": totals.candles,
        "blocks": totals.blocks,
        "block_bytes": totals.bytes,
        "file_bytes": sizes.candles.saturating_add(sizes.candles_log),
        "accounts_file_bytes": sizes.accounts.saturating_add(sizes.accounts_log),
        "disk_free_bytes": metrics::disk(services.store.dir()).map(|disk| disk.free_bytes),
        "last_import": import,
    }))
}

fn tls_document(services: &Services) -> Value {
    services.tls.as_ref().map_or(Value::Null, |tls| {
        let certificate = tls.certificate();
        json!({
            "names": certificate.names,
            "not_before": certificate.not_before.to_string(),
            "not_after": certificate.not_after.to_string(),
        })
    })
}
