//! Service state: store totals, calendar expiry and operator warnings. `/status` returns the state
//! as JSON, and `/metrics` as numbers.

use std::collections::BTreeMap;

use market::{CALENDAR_WARNING_DAYS, Market, Timestamp, Venues};
use schemars::JsonSchema;
use serde::Serialize;
use store::StoreError;

use crate::kit::{ListenerDocument, Site, StoreTotals};
use crate::metrics::{self, Connection, PushLoad};
use crate::settings;
use crate::written::{Day, Instant};

const DAY_S: i64 = 86_400;
const CALENDAR_WARNING_S: i64 = CALENDAR_WARNING_DAYS as i64 * DAY_S;
const FREE_BYTES_MIN: u64 = 1 << 30;
const FREE_SHARE_MIN: u64 = 20;

/// Response body of `/status`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Status {
    version: &'static str,
    started_at: Instant,
    uptime_s: u64,
    /// Time on the machine clock.
    now: Instant,
    /// Time on the market clock, which may differ from the machine clock.
    market_now: Instant,
    ready: bool,
    /// Resident memory of the process; null if the operating system does not report it.
    memory_bytes: Option<u64>,
    requests: RequestsStatus,
    store: StoreStatus,
    calendars: Vec<CalendarStatus>,
    /// Number of open connections, by kind.
    connections: BTreeMap<&'static str, i64>,
    signed_in: usize,
    connections_max: usize,
    subscriptions: SubscriptionsStatus,
    cache: CacheStatus,
    tls: Option<TlsStatus>,
    listeners: Vec<ListenerDocument>,
    /// Warnings for the operator.
    warnings: Vec<String>,
}

/// Number of connections and streams with quote subscriptions, and number of distinct subscribed
/// securities.
#[derive(Debug, Serialize, JsonSchema)]
struct SubscriptionsStatus {
    connections: usize,
    streams: usize,
    securities: usize,
    /// Number of queued pushes of quotes and trades.
    pushes_waiting: usize,
}

/// Number of requests since the server started, over HTTP and on long connections.
#[derive(Debug, Serialize, JsonSchema)]
struct RequestsStatus {
    answered: u64,
    refused: u64,
}

/// Schema and data versions, totals over all series, sizes in bytes, and the last import.
#[derive(Debug, Serialize, JsonSchema)]
struct StoreStatus {
    schema: i64,
    version: i64,
    series: u64,
    candles: u64,
    blocks: u64,
    block_bytes: u64,
    file_bytes: u64,
    accounts_file_bytes: u64,
    disk_free_bytes: Option<u64>,
    last_import: Option<LastImport>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LastImport {
    id: i64,
    kind: String,
    state: &'static str,
    started_at: Instant,
    finished_at: Option<Instant>,
    rows_read: u64,
    quarantined: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CalendarStatus {
    market: &'static str,
    now: Instant,
    valid_through: Day,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CacheStatus {
    bytes: u64,
    bytes_max: u64,
    pages: usize,
    hits: u64,
    misses: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TlsStatus {
    names: Vec<String>,
    not_before: Instant,
    not_after: Instant,
}

/// Returns the end of the last day that a market's calendar covers.
pub(crate) fn calendar_end(market: Market, venues: &Venues) -> Timestamp {
    let venue = venues.of(market);
    let last = venue.calendar().valid_through();
    venue.zone().midnight(last.tomorrow().unwrap_or(last))
}

/// Returns warnings for the operator, each a whole sentence.
pub(crate) fn warnings(site: &Site) -> Vec<String> {
    let mut warnings = Vec::new();
    let market_now = site.core.market_now().now();
    for market in Market::ALL {
        let left = calendar_end(market, site.core.history.venues()).0.saturating_sub(market_now.0);
        let (name, through) =
            (market.as_str(), site.core.history.venues().of(market).calendar().valid_through());
        if left <= 0 {
            warnings.push(format!(
                "the calendar of {name} ended on {through}: weekdays are treated as trading days"
            ));
        } else if left <= CALENDAR_WARNING_S {
            warnings.push(format!("the calendar of {name} ends on {through}"));
        }
    }
    let certificate = site.tls.as_ref().map(|tls| tls.certificate());
    let concern = certificate.and_then(|certificate| certificate.concern(site.core.machine_now()));
    warnings.extend(concern.map(|concern| concern.to_string()));
    warnings.extend(site.exposure.iter().map(|says| format!("{says}; {}", settings::EXPOSURE_ADVICE)));
    if let Some(disk) = metrics::disk(site.core.folder())
        && (disk.free_bytes < FREE_BYTES_MIN || disk.free_bytes < disk.bytes / FREE_SHARE_MIN)
    {
        let whose = if site.core.store.url().path().is_some() { "store" } else { "cache" };
        warnings.push(format!("the disk of the {whose} has {} MiB left", disk.free_bytes >> 20));
    }
    warnings
}

/// Returns the body of `/status`. The body contains no paths or account names, because operators
/// share it with others.
pub(crate) fn document(site: &Site) -> Result<Status, StoreError> {
    let (now, market_now) = (site.core.machine_now(), site.core.market_now().now());
    let totals = site.totals()?;
    let calendars = Market::ALL.map(|market| {
        let venue = site.core.history.venues().of(market);
        CalendarStatus {
            market: market.as_str(),
            now: Instant::local(market_now, venue.zone()),
            valid_through: Day(venue.calendar().valid_through()),
        }
    });
    let connections = Connection::ALL.iter();
    let connections = connections.map(|kind| (kind.as_str(), site.core.metrics.open(*kind))).collect();
    let (load, (hits, misses)) = (site.core.page_cache.load(), site.core.metrics.cache_looks());
    let (answered, refused) = site.core.metrics.request_totals();
    let PushLoad { connections: subscribed, streams, securities, waiting, longest: _ } =
        site.core.live.load().and(site.core.world_lives.load());
    Ok(Status {
        version: env!("CARGO_PKG_VERSION"),
        started_at: Instant::utc(site.core.started_at),
        uptime_s: site.core.uptime().as_secs(),
        now: Instant::utc(now),
        market_now: Instant::utc(market_now),
        ready: site.core.obstacles().is_empty(),
        memory_bytes: metrics::resident_bytes(),
        requests: RequestsStatus { answered, refused },
        store: store_status(site, &totals)?,
        calendars: calendars.into(),
        connections,
        signed_in: site.links.count(),
        connections_max: site.connections_max,
        subscriptions: SubscriptionsStatus {
            connections: subscribed,
            streams,
            securities,
            pushes_waiting: waiting,
        },
        cache: CacheStatus { bytes: load.bytes, bytes_max: load.bytes_max, pages: load.pages, hits, misses },
        tls: tls_status(site),
        listeners: site.listeners.iter().map(crate::kit::Listening::document).collect(),
        warnings: warnings(site),
    })
}

fn store_status(site: &Site, totals: &StoreTotals) -> Result<StoreStatus, StoreError> {
    let StoreTotals { version, totals } = totals;
    let sizes = site.core.store.file_sizes();
    let import = site.core.last_import()?.map(|import| LastImport {
        id: import.id.0,
        kind: import.kind,
        state: import.state.as_str(),
        started_at: Instant::utc(import.started_at),
        finished_at: import.finished_at.map(Instant::utc),
        rows_read: import.rows_read,
        quarantined: import.quarantined,
    });
    Ok(StoreStatus {
        schema: site.core.store.schema(),
        version: *version,
        series: totals.series,
        candles: totals.candles,
        blocks: totals.blocks,
        block_bytes: totals.bytes,
        file_bytes: sizes.candles + sizes.candles_log + sizes.ingest + sizes.ingest_log,
        accounts_file_bytes: sizes.accounts.saturating_add(sizes.accounts_log),
        disk_free_bytes: metrics::disk(site.core.folder()).map(|disk| disk.free_bytes),
        last_import: import,
    })
}

fn tls_status(site: &Site) -> Option<TlsStatus> {
    site.tls.as_ref().map(|tls| {
        let certificate = tls.certificate();
        TlsStatus {
            names: certificate.names.clone(),
            not_before: Instant::utc(certificate.not_before),
            not_after: Instant::utc(certificate.not_after),
        }
    })
}
