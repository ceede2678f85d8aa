//! Formats all metrics in the Prometheus text format.

use std::sync::atomic::{AtomicU64, Ordering};

use access::{AuditFilter, DatabaseState};
use history::ingest::Counts;
use market::{Market, Timestamp};

use crate::facts;
use crate::kit::Site;
use crate::metrics::{
    Agent, Authenticated, CliCommand, Connection, Counters, Entry, Grant, Granted, Handshake, JobName,
    JobOutcome, Kind, Metrics, Outcome, Reload, Task, Text, TransportLabel, disk, lost_log_lines, process,
    seconds,
};

/// Returns all metrics in the Prometheus text format. `application/openmetrics-text` has more
/// requirements, and every scraper accepts the older format.
pub(crate) fn exposition(site: &Site) -> String {
    let mut text = Text::default();
    about(site, &mut text);
    requests(&site.core.metrics, &mut text);
    connections(site, &mut text);
    pushes(site, &mut text);
    mirrors(site, &mut text);
    limits(site, &mut text);
    nodes(site, &mut text);
    people(site, &mut text);
    cache(site, &mut text);
    copy(site, &mut text);
    store(site, &mut text);
    certificate(site, &mut text);
    jobs(&site.core.metrics, &mut text);
    of_process(site, &mut text);
    text.finish()
}

fn about(site: &Site, text: &mut Text) {
    text.family(Kind::Gauge, "chandler_build_info", "Always 1; the version is in the label.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let name = "chandler_calendar_end_timestamp_seconds";
    text.family(Kind::Gauge, name, "Time at which a market's calendar ends.");
    for market in Market::ALL {
        let end = facts::calendar_end(market, site.core.history.venues());
        text.sample(&[("market", market.as_str())], end.0);
    }
    let name = "chandler_market_timestamp_seconds";
    text.one(
        Kind::Gauge,
        name,
        "Market clock, which may be set independently of the machine clock.",
        Some(site.core.market_now().now().0),
    );
}

fn requests(metrics: &Metrics, text: &mut Text) {
    let name = "chandler_requests_total";
    text.family(Kind::Counter, name, "Requests answered or refused, by transport, command and outcome.");
    let mut refused = [0_u64; Outcome::COUNT];
    for (transport, task) in pairs() {
        let requests = metrics.requests(transport, task);
        for (outcome, refused) in Outcome::ALL.iter().zip(&mut refused) {
            let count = requests.outcomes.get(outcome.index());
            *refused = refused.saturating_add(count);
            // Samples for successful requests are written from the start; samples for refusals are
            // written once a refusal occurs.
            if count > 0 || *outcome == Outcome::Ok {
                let labels =
                    [("door", transport.as_str()), ("command", task.as_str()), ("outcome", outcome.as_str())];
                text.sample(&labels, count);
            }
        }
    }
    let name = "chandler_request_duration_seconds";
    text.family(Kind::Histogram, name, "Time from the last byte of a request until its response is ready.");
    for (transport, task) in pairs() {
        let durations = metrics.requests(transport, task).durations;
        if !durations.is_empty() {
            text.histogram(&[("door", transport.as_str()), ("command", task.as_str())], &durations);
        }
    }
    text.family(Kind::Counter, "chandler_refusals_total", "Refused requests, by reason.");
    for (outcome, count) in Outcome::ALL.iter().zip(refused).filter(|(outcome, _)| **outcome != Outcome::Ok) {
        text.sample(&[("kind", outcome.as_str())], count);
    }
    text.family(Kind::Counter, "chandler_sent_bytes_total", "Response bytes, excluding HTTP headers.");
    for transport in TransportLabel::ALL {
        text.sample(
            &[("door", transport.as_str())],
            metrics.sum(|stripe| stripe.sent_bytes.get(transport.index())),
        );
    }
    let name = "chandler_http_requests_total";
    text.family(Kind::Counter, name, "HTTP requests, by kind of client.");
    for agent in Agent::ALL {
        text.sample(&[("program", agent.as_str())], metrics.sum(|stripe| stripe.agents.get(agent.index())));
    }
    let name = "chandler_cli_requests_total";
    text.family(Kind::Counter, name, "Requests of command-line clients, by command.");
    for command in CliCommand::ALL {
        let count = metrics.sum(|stripe| stripe.cli_commands.get(command.index()));
        if count > 0 {
            text.sample(&[("command", command.as_str())], count);
        }
    }
    let candles = metrics.sum(|stripe| stripe.candles.load(Ordering::Relaxed));
    text.one(Kind::Counter, "chandler_candles_served_total", "Candles in responses.", Some(candles));
}

/// Returns all valid pairs of transport and task.
fn pairs() -> impl Iterator<Item = (TransportLabel, Task)> {
    let all =
        TransportLabel::ALL.iter().flat_map(|transport| Task::all().map(move |task| (*transport, task)));
    all.filter(|(transport, task)| match task {
        Task::Heartbeat | Task::SignIn | Task::Resume | Task::Subscriptions | Task::Trade => {
            *transport != TransportLabel::Http
        }
        Task::SocketToken
        | Task::Upgrade
        | Task::Account
        | Task::Admin
        | Task::OAuth
        | Task::Page
        | Task::Data
        | Task::Orders
        | Task::Community
        | Task::Watch => *transport == TransportLabel::Http,
        Task::Command(_) | Task::Other => true,
    })
}

fn connections(site: &Site, text: &mut Text) {
    let metrics = &site.core.metrics;
    text.family(Kind::Gauge, "chandler_connections", "Open connections, by kind.");
    for kind in Connection::ALL {
        text.sample(&[("kind", kind.as_str())], metrics.open(*kind).max(0));
    }
    let name = "chandler_connections_opened_total";
    text.family(Kind::Counter, name, "Connections opened, or upgraded to this kind.");
    by_label(text, "kind", Connection::ALL.iter().map(|kind| kind.as_str()), &metrics.opened);
    let limit = Some(site.connections_max);
    text.one(Kind::Gauge, "chandler_connections_limit", "Maximum number of concurrent connections.", limit);
    let name = "chandler_connections_signed_in";
    text.one(Kind::Gauge, name, "Authenticated long connections.", Some(site.links.count()));
}

/// Writes the metrics of live pushes and of the ingest that causes them.
fn pushes(site: &Site, text: &mut Text) {
    let load = site.core.live.load().and(site.core.world_lives.load());
    let pushes = &site.core.metrics.pushes;
    let name = "chandler_subscribers";
    text.family(Kind::Gauge, name, "Connections and streams with quote subscriptions, by kind.");
    for (kind, count) in [("connection", load.connections), ("stream", load.streams)] {
        text.sample(&[("kind", kind)], count);
    }
    let mut gauge = |name, help, value: usize| text.one(Kind::Gauge, name, help, Some(value));
    gauge(
        "chandler_subscribed_securities",
        "Securities with a subscriber, in each world and under the server's clock.",
        load.securities,
    );
    gauge("chandler_pushes_waiting", "Quotes and trades that wait for their clients.", load.waiting);
    let help = "The largest number of quotes and trades that wait for one client.";
    gauge("chandler_pushes_waiting_longest", help, load.longest);
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let name = "chandler_pushes_total";
    text.family(Kind::Counter, name, "Pushes queued for a client, by kind.");
    for (kind, counter) in [("quote", &pushes.quotes), ("trades", &pushes.trades)] {
        text.sample(&[("kind", kind)], count(counter));
    }
    let help = "Connections and streams closed because their client reads too slowly.";
    text.one(Kind::Counter, "chandler_slow_readers_closed_total", help, Some(count(&pushes.slow_readers)));
    let help = "Complete minutes that do not continue what clients have built of their trades.";
    text.one(Kind::Counter, "chandler_push_unreachable_total", help, Some(count(&pushes.unreachable)));
    let name = "chandler_push_lag_seconds";
    let help = "Time from the commit of an ingested batch by this server until its pushes are queued.";
    text.family(Kind::Histogram, name, help).histogram(&[], &pushes.lag);
    let Counts { accepted, replaced, unchanged, refused } = site.core.ingest.rows();
    text.family(Kind::Counter, "chandler_ingest_rows_total", "Ingested rows, by outcome.");
    let outcomes =
        [("accepted", accepted), ("replaced", replaced), ("unchanged", unchanged), ("refused", refused)];
    for (outcome, rows) in outcomes {
        text.sample(&[("outcome", outcome)], rows);
    }
}

/// Writes the metrics of read-through, and of following the source of a mirror.
fn mirrors(site: &Site, text: &mut Text) {
    let now = site.core.machine_now();
    if let Some(read_through) = &site.core.read_through {
        let counts = read_through.counts(now);
        let name = "chandler_read_through_available";
        let help = "Whether the source of read-through can be used.";
        text.one(Kind::Gauge, name, help, Some(u8::from(counts.is_on)));
        let help = "Fetches that are queued or in progress.";
        text.one(Kind::Gauge, "chandler_read_through_fetches", help, Some(counts.fetches));
        let help = "Requests that wait for data from the source.";
        text.one(Kind::Gauge, "chandler_read_through_waiting", help, Some(counts.waiting));
        let name = "chandler_read_through_total";
        text.family(Kind::Counter, name, "Requests for data that is not stored, by outcome.");
        for (outcome, count) in [("fetched", counts.done), ("pending", counts.pending)] {
            text.sample(&[("outcome", outcome)], count);
        }
    }
    let Some(following) = &site.core.following else { return };
    let state = following.state();
    let name = "chandler_follow_connected";
    let help = "Whether this server is connected to the source that it follows.";
    text.one(Kind::Gauge, name, help, Some(u8::from(state.is_connected)));
    let name = "chandler_follow_securities";
    text.family(Kind::Gauge, name, "Securities of the mirror, by whether their pushes are received.");
    let left = state.securities.saturating_sub(state.subscribed);
    for (kind, count) in [("subscribed", state.subscribed), ("waiting", left)] {
        text.sample(&[("state", kind)], count);
    }
    let mut counter = |name, help, value: u64| text.one(Kind::Counter, name, help, Some(value));
    counter("chandler_follow_connections_total", "Connections to the followed source.", state.connections);
    counter("chandler_follow_pushes_total", "Pushes received from the followed source.", state.pushes);
    counter("chandler_follow_rows_total", "Rows ingested from the followed source.", state.rows);
    let silent = state.last_push_at.map(|at| now.0.saturating_sub(at).max(0));
    let name = "chandler_follow_silent_seconds";
    text.one(Kind::Gauge, name, "Time since the last push of the followed source.", silent);
}

/// Returns how far the database's clock is ahead of this machine's clock, in seconds.
fn seconds_ahead(database: Timestamp, machine: Timestamp) -> i64 {
    database.0.saturating_sub(machine.0)
}

/// Writes the number of nodes, and whether the database is reachable. A server with a local store
/// is a single node.
fn nodes(site: &Site, text: &mut Text) {
    let (access, uptime) = (&site.core.access, site.core.uptime());
    let name = "chandler_nodes";
    text.one(Kind::Gauge, name, "Servers on the database, including this one.", Some(access.nodes_online()));
    let (is_there, away) = match access.reached(uptime) {
        DatabaseState::Yes | DatabaseState::Settling => (1_u8, 0),
        DatabaseState::Away(since) | DatabaseState::Lost(since) => (0, since.as_secs()),
    };
    let help = "Whether the database is reachable; 1 if the store is a directory.";
    text.one(Kind::Gauge, "chandler_database_up", help, Some(is_there));
    let help = "Time since the database became unreachable; 0 if it is reachable.";
    text.one(Kind::Gauge, "chandler_database_away_seconds", help, Some(away));
    let help = "Offset of the database clock from this machine's clock; positive if it is ahead.";
    let ahead =
        access.database_clock(uptime).map_or(0, |there| seconds_ahead(there, site.core.machine_now()));
    text.one(Kind::Gauge, "chandler_database_clock_ahead_seconds", help, Some(ahead));
    let help = "Whether this node's share of the rate limit is enforced: while the database is unreachable, \
     and for 30 s after.";
    let shares = !matches!(access.reached(uptime), DatabaseState::Yes);
    text.one(Kind::Gauge, "chandler_rates_by_share", help, Some(u8::from(shares)));
}

/// Writes the limits on callers and their current use.
fn limits(site: &Site, text: &mut Text) {
    let (load, limits) = (site.core.workers.load(), site.core.limits);
    let mut gauge = |name, help, value| text.one(Kind::Gauge, name, help, Some(value));
    gauge("chandler_workers", "Worker threads for blocking requests.", load.threads);
    gauge("chandler_workers_running", "Requests running on worker threads.", load.running);
    gauge("chandler_workers_waiting", "Requests waiting for a worker thread.", load.waiting);
    gauge("chandler_unsent_bytes", "Size of the responses waiting to be sent.", site.core.unsent.bytes());
    let help = "Maximum size of the responses waiting to be sent to one caller.";
    gauge("chandler_unsent_limit_bytes", help, limits.unsent_bytes);
    gauge("chandler_bodies_bytes", "Size of the HTTP requests being read.", site.bodies.bytes());
    let help = "Maximum number of unauthenticated connections from one address.";
    gauge("chandler_unproven_connections_limit", help, limits.unproven_connections);
    let number = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
    let help = "Maximum number of quote commands per second and account, excluding history; 0 for no limit.";
    gauge("chandler_calls_limit", help, number(limits.calls.per_second));
    let help = "Maximum number of concurrent quote commands per account.";
    gauge("chandler_calls_at_once_limit", help, number(limits.calls.at_once));
    let help = "Refusals per second above which a caller is throttled; 0 for no limit.";
    gauge("chandler_refusals_limit", help, number(limits.refusals_per_second));
    let help = "Requests refused because the queue was full.";
    text.one(Kind::Counter, "chandler_workers_full_total", help, Some(load.refused));
    let turned_away = Some(site.unauthenticated.turned_away());
    let help = "Connections refused because of the limit per address.";
    text.one(Kind::Counter, "chandler_unproven_turned_away_total", help, turned_away);
    let pauses = site.core.metrics.pauses.load(Ordering::Relaxed);
    let help = "Times that reading from a caller was paused after repeated refusals.";
    text.one(Kind::Counter, "chandler_backoff_pauses_total", help, Some(pauses));
}

fn people(site: &Site, text: &mut Text) {
    let metrics = &site.core.metrics;
    let name = "chandler_sign_ins_total";
    text.family(
        Kind::Counter,
        name,
        "Authentication attempts: of connections, of browser sign-ins and of HTTP requests.",
    );
    for entry in Entry::ALL {
        for authenticated in Authenticated::ALL {
            let count = metrics.credentials.get(entry.index() * Authenticated::COUNT + authenticated.index());
            text.sample(&[("door", entry.as_str()), ("outcome", authenticated.as_str())], count);
        }
    }
    let name = "chandler_oauth_grants_total";
    text.family(Kind::Counter, name, "OAuth token requests, by grant type.");
    for grant in Grant::ALL {
        for granted in Granted::ALL {
            let count = metrics.grants.get(grant.index() * Granted::COUNT + granted.index());
            text.sample(&[("grant", grant.as_str()), ("outcome", granted.as_str())], count);
        }
    }
    let spends = metrics.quota_spends.load(Ordering::Relaxed);
    let name = "chandler_quota_spends_total";
    text.one(Kind::Counter, name, "Securities charged to account quotas.", Some(spends));
    // Rows are numbered from 1, so the last number is the number of rows written. The audit log is
    // not read while the database is known to be unreachable.
    let last = (!site.core.is_degraded())
        .then(|| site.core.access.audit(&AuditFilter { limit: 1, ..AuditFilter::default() }));
    let last = last.and_then(|last| match last {
        Ok(rows) => Some(rows),
        // Already logged by the heartbeat job.
        Err(error) if error.is_unreachable() => None,
        Err(error) => {
            tracing::error!(%error, "cannot read the accounts");
            None
        }
    });
    let rows = last.map(|rows| rows.first().map_or(0, |row| row.id.0));
    text.one(Kind::Counter, "chandler_audit_rows_total", "Rows written to the audit log.", rows);
}

fn cache(site: &Site, text: &mut Text) {
    let (load, (hits, misses)) = (site.core.page_cache.load(), site.core.metrics.cache_looks());
    text.one(Kind::Gauge, "chandler_cache_bytes", "Size of the cache of encoded candles.", Some(load.bytes));
    text.one(
        Kind::Gauge,
        "chandler_cache_limit_bytes",
        "Maximum size of the cache of encoded candles.",
        Some(load.bytes_max),
    );
    text.one(Kind::Gauge, "chandler_cache_entries", "Cached pages of encoded candles.", Some(load.pages));
    text.one(Kind::Counter, "chandler_cache_hits_total", "Cache hits.", Some(hits));
    let help = "Cache misses.";
    text.one(Kind::Counter, "chandler_cache_misses_total", help, Some(misses));
}

/// Writes the metrics of a node's local copy. Writes nothing if the server has a local store.
fn copy(site: &Site, text: &mut Text) {
    let Some(load) = site.core.store.copy_load() else { return };
    let mut gauge = |name, help, value: u64| text.one(Kind::Gauge, name, help, Some(value));
    let help = "Whether the shared database was reachable at the last check.";
    gauge("chandler_copy_database_up", help, u64::from(load.is_reachable));
    let help = "Whether the local copy is used; 0 if the shared database has been unreachable for too long.";
    gauge("chandler_copy_serving", help, u64::from(load.is_serving));
    let help = "Time since the shared database was last checked for changes.";
    gauge("chandler_copy_age_seconds", help, load.looked_ago.as_secs());
    gauge("chandler_copy_symbols", "Symbols in the local copy.", load.symbols);
    let help = "Symbols in the local copy that are up to date.";
    gauge("chandler_copy_symbols_current", help, load.current);
    gauge("chandler_copy_symbols_waiting", "Symbols waiting to be fetched.", load.waiting);
    gauge("chandler_copy_bytes", "Disk space used by the local copy.", load.bytes);
    gauge("chandler_copy_limit_bytes", "Maximum disk space of the local copy.", load.bytes_max);
    let mut count = |name, help, value: u64| text.one(Kind::Counter, name, help, Some(value));
    count("chandler_copy_hits_total", "Queries answered by the local copy.", load.hits);
    count("chandler_copy_misses_total", "Queries answered by the shared database.", load.misses);
    let help = "Blocks fetched from the shared database.";
    count("chandler_copy_blocks_fetched_total", help, load.blocks_fetched);
    count(
        "chandler_copy_fetched_bytes_total",
        "Bytes of blocks fetched from the shared database.",
        load.bytes_fetched,
    );
    count("chandler_copy_evicted_total", "Symbols evicted from the local copy.", load.evicted);
    let help = "Times that the local copy was discarded and rebuilt.";
    count("chandler_copy_begun_anew_total", help, load.begun_anew);
}

/// Writes store metrics. If the store cannot be read, the other metrics are still written.
fn store(site: &Site, text: &mut Text) {
    // A pooled reader keeps a removed file open, so a new one is opened.
    let store = site.core.store.probe().and_then(|()| site.totals());
    let store = store.inspect_err(|error| tracing::error!(%error, "cannot read the store")).ok();
    let totals = store.as_ref().map(|store| store.totals);
    let version = store.as_ref().map(|store| store.version);
    text.one(
        Kind::Gauge,
        "chandler_store_up",
        "Whether the store can be read.",
        Some(u8::from(version.is_some())),
    );
    text.one(
        Kind::Gauge,
        "chandler_store_version",
        "Data version of the store, which increases with each change.",
        version,
    );
    let one = |text: &mut Text, name, help, value: Option<u64>| text.one(Kind::Gauge, name, help, value);
    one(text, "chandler_store_series", "Series in the store.", totals.map(|totals| totals.series));
    let help = "Candles in the store, including rolled-up ones.";
    one(text, "chandler_store_candles", help, totals.map(|totals| totals.candles));
    one(text, "chandler_store_blocks", "Blocks in the store.", totals.map(|totals| totals.blocks));
    one(text, "chandler_store_block_bytes", "Bytes of all blocks.", totals.map(|totals| totals.bytes));
    let sizes = site.core.store.file_sizes();
    text.family(Kind::Gauge, "chandler_store_file_bytes", "Size of the store's files.");
    for (file, bytes) in [
        ("candles", sizes.candles),
        ("candles_log", sizes.candles_log),
        ("ingest", sizes.ingest),
        ("ingest_log", sizes.ingest_log),
        ("accounts", sizes.accounts),
        ("accounts_log", sizes.accounts_log),
    ] {
        text.sample(&[("file", file)], bytes);
    }
    let disk = disk(site.core.folder());
    one(
        text,
        "chandler_disk_free_bytes",
        "Free space on the store's disk.",
        disk.map(|disk| disk.free_bytes),
    );
    one(text, "chandler_disk_size_bytes", "Size of the store's disk.", disk.map(|disk| disk.bytes));
    let read = Some(site.core.store.blocks_read());
    text.one(Kind::Counter, "chandler_blocks_read_total", "Blocks read from the store.", read);
    let finished =
        site.core.last_import().ok().flatten().and_then(|import| import.finished_at).map(|at| at.0);
    let name = "chandler_import_finished_timestamp_seconds";
    text.one(Kind::Gauge, name, "Time at which the last import ended; absent while it runs.", finished);
}

fn certificate(site: &Site, text: &mut Text) {
    let end = site.tls.as_ref().map(|tls| tls.certificate().not_after.0);
    let name = "chandler_tls_certificate_expiry_timestamp_seconds";
    text.one(Kind::Gauge, name, "Expiry of the certificate in use; absent without TLS.", end);
    text.family(Kind::Counter, "chandler_tls_handshakes_total", "TLS handshakes, by outcome.");
    let handshakes = Handshake::ALL.iter().map(|handshake| handshake.as_str());
    by_label(text, "outcome", handshakes, &site.core.metrics.handshakes);
    text.family(Kind::Counter, "chandler_tls_reloads_total", "Certificate reloads, by outcome.");
    by_label(text, "outcome", Reload::ALL.iter().map(|reload| reload.as_str()), &site.core.metrics.reloads);
}

/// Writes job metrics. The label is not called `job`, because Prometheus reserves that name.
fn jobs(metrics: &Metrics, text: &mut Text) {
    let each = || JobName::ALL.iter().map(|name| name.as_str()).zip(&metrics.jobs);
    text.family(Kind::Counter, "chandler_job_runs_total", "Background job runs, by name and outcome.");
    for (name, job) in each() {
        for outcome in JobOutcome::ALL {
            let labels = [("name", name), ("outcome", outcome.as_str())];
            text.sample(&labels, job.outcomes.get(outcome.index()));
        }
    }
    let metric = "chandler_job_last_success_timestamp_seconds";
    text.family(
        Kind::Gauge,
        metric,
        "Time of a background job's last success on this server; absent if there was none.",
    );
    for (name, job) in each() {
        if let Some(at) = job.succeeded_at() {
            text.sample(&[("name", name)], at.0);
        }
    }
    let metric = "chandler_job_duration_seconds";
    text.family(Kind::Histogram, metric, "Duration of background job runs, including pauses.");
    for (name, job) in each().filter(|(_, job)| !job.durations.is_empty()) {
        text.histogram(&[("name", name)], &job.durations);
    }
}

fn of_process(site: &Site, text: &mut Text) {
    let lost = lost_log_lines();
    let help = "Log lines dropped because the log could not be written.";
    text.one(Kind::Counter, "chandler_log_lines_lost_total", help, Some(lost));
    let process = process();
    let one = |text: &mut Text, name, help, value: Option<u64>| text.one(Kind::Gauge, name, help, value);
    one(text, "process_resident_memory_bytes", "Resident memory.", process.resident_bytes);
    one(text, "process_virtual_memory_bytes", "Virtual memory.", process.virtual_bytes);
    one(text, "process_open_fds", "Open file descriptors.", process.open_files);
    one(text, "process_max_fds", "Maximum number of open file descriptors.", process.files_max);
    one(text, "process_threads", "Threads.", process.threads);
    let cpu = process.cpu_ticks.map(|ticks| seconds(ticks.saturating_mul(10_000_000)));
    text.one(Kind::Counter, "process_cpu_seconds_total", "User and system CPU time.", cpu);
    let started = Some(site.core.started_at.0);
    text.one(Kind::Gauge, "process_start_time_seconds", "Start time of the server.", started);
}

fn by_label<'a, const N: usize>(
    text: &mut Text,
    name: &str,
    values: impl Iterator<Item = &'a str>,
    counters: &Counters<N>,
) {
    for (at, value) in values.enumerate() {
        text.sample(&[(name, value)], counters.get(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_a_database_ahead_is_positive() {
        let (early, late) = (Timestamp(100), Timestamp(103));
        assert_eq!((seconds_ahead(late, early), seconds_ahead(early, late)), (3, -3));
    }
}
