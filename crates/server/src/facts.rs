//! The state of the service: what the store holds, how far the calendars go, what an operator should look at. `/status` shows it as a
//! document, `/metrics` as numbers.

use market::{Market, Timestamp, Venues};
use serde_json::{Value, json};
use store::StoreError;

use crate::holdings::Holdings;
use crate::kit::Site;
use crate::metrics::{self, Connection};
use crate::settings;

const DAY_S: i64 = 86_400;
/// How long before the end to warn: early enough to act, late enough that the warning is read.
const CALENDAR_WARNING_S: i64 = 30 * DAY_S;
const FREE_BYTES_MIN: u64 = 1 << 30;
const FREE_SHARE_MIN: u64 = 20;

/// The end of the last day that a market's calendar knows.
pub(crate) fn calendar_end(market: Market, venues: &Venues) -> Timestamp {
    let venue = venues.of(market);
    let last = venue.calendar().valid_through();
    venue.zone().midnight(last.tomorrow().unwrap_or(last))
}

/// Warnings for the operator, in whole sentences.
pub(crate) fn warnings(site: &Site) -> Vec<String> {
    let mut warnings = Vec::new();
    for market in Market::ALL {
        let left =
            calendar_end(market, site.core.history.venues()).0.saturating_sub(site.core.market_now().0);
        let (name, through) =
            (market.as_str(), site.core.history.venues().of(market).calendar().valid_through());
        if left <= 0 {
            warnings.push(format!(
                "the calendar of {name} has ended on {through}: weekdays count as trading days"
            ));
        } else if left <= CALENDAR_WARNING_S {
            warnings.push(format!("the calendar of {name} ends on {through}"));
        }
    }
    let certificate = site.tls.as_ref().map(|tls| tls.certificate());
    let concern = certificate.and_then(|certificate| certificate.concern(site.core.machine_now()));
    warnings.extend(concern.map(|concern| concern.to_string()));
    warnings.extend(site.exposure.iter().map(|says| format!("{says}; {}", settings::EXPOSURE_ADVICE)));
    if let Some(disk) = metrics::disk(site.core.store.dir())
        && (disk.free_bytes < FREE_BYTES_MIN || disk.free_bytes < disk.bytes / FREE_SHARE_MIN)
    {
        warnings.push(format!("the disk of the store has {} MiB left", disk.free_bytes >> 20));
    }
    warnings
}

/// The document of `/status`. No paths and no names of accounts: operators pass it on.
pub(crate) fn document(site: &Site) -> Result<Value, StoreError> {
    let (now, market_now) = (site.core.machine_now(), site.core.market_now());
    let holdings = site.holdings()?;
    let calendars = Market::ALL.map(|market| {
        let venue = site.core.history.venues().of(market);
        json!({
            "market": market.as_str(),
            "now": venue.zone().rfc3339(market_now),
            "valid_through": venue.calendar().valid_through().to_string(),
        })
    });
    let connections = Connection::ALL.iter();
    let connections: serde_json::Map<String, Value> =
        connections.map(|kind| (kind.as_str().to_owned(), site.core.metrics.open(*kind).into())).collect();
    let (load, (hits, misses)) = (site.core.shelf.load(), site.core.metrics.cache_looks());
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": site.core.started_at.to_string(),
        "uptime_s": site.core.uptime().as_secs(),
        "now": now.to_string(),
        "market_now": market_now.to_string(),
        "ready": site.core.obstacles().is_empty(),
        "store": store_document(site, &holdings)?,
        "calendars": calendars,
        "connections": connections,
        "signed_in": site.links.count(),
        "connections_max": site.connections_max,
        "cache": {
            "bytes": load.bytes,
            "bytes_max": load.bytes_max,
            "pages": load.pages,
            "hits": hits,
            "misses": misses,
        },
        "tls": tls_document(site),
        "listeners": site.listeners.iter().map(crate::kit::Listening::document).collect::<Vec<_>>(),
        "warnings": warnings(site),
    }))
}

fn store_document(site: &Site, holdings: &Holdings) -> Result<Value, StoreError> {
    let Holdings { version, totals } = holdings;
    let sizes = site.core.store.file_sizes();
    let import = site.core.last_import()?.map(|import| {
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
        "schema": site.core.store.schema(),
        "version": version,
        "series": totals.series,
        "candles": totals.candles,
        "blocks": totals.blocks,
        "block_bytes": totals.bytes,
        "file_bytes": sizes.candles.saturating_add(sizes.candles_log),
        "accounts_file_bytes": sizes.accounts.saturating_add(sizes.accounts_log),
        "disk_free_bytes": metrics::disk(site.core.store.dir()).map(|disk| disk.free_bytes),
        "last_import": import,
    }))
}

fn tls_document(site: &Site) -> Value {
    site.tls.as_ref().map_or(Value::Null, |tls| {
        let certificate = tls.certificate();
        json!({
            "names": certificate.names,
            "not_before": certificate.not_before.to_string(),
            "not_after": certificate.not_after.to_string(),
        })
    })
}
