//! Checks a store on PostgreSQL: each server in the address, the durability of commits, and the
//! nodes that use the store.

use store::{Address, Archiving, HostSurvey, Occupancy, Replication, ServerFacts, StoreError};

use super::check::Check;
use crate::output;

/// Clock difference in milliseconds that causes a warning.
const CLOCK_WARN_MS: i64 = 2_000;
/// Clock difference in milliseconds at which the service rejects signatures.
const CLOCK_FAIL_MS: i64 = 300_000;
/// Number of connection pools per node: for candles, accounts, shared limits, and paper account
/// locks.
const POOLS: usize = 4;
/// Number of other connections per node: two that listen for notifications and two that hold
/// leases.
const OTHERS: usize = 4;
/// Maximum replication lag of a standby without a warning, in milliseconds.
const BEHIND_WARN_MS: i64 = 60_000;

const NAME: &str = "PostgreSQL";

pub(super) fn all(address: &Address) -> Vec<Check> {
    let hosts = store::survey(address, &crate::clock::machine_ms);
    let has_primary = hosts.iter().any(|host| matches!(&host.found, Ok(facts) if !facts.is_standby));
    let mut checks: Vec<Check> = hosts.iter().map(|host| server(host, has_primary)).collect();
    let primary = hosts.iter().find_map(|host| match &host.found {
        Ok(facts) if !facts.is_standby => Some(facts),
        _ => None,
    });
    let Some(primary) = primary else { return checks };
    checks.push(clock(primary.ahead_ms));
    let occupancy = store::occupancy(address);
    let nodes = occupancy.as_ref().map_or(0, |found| found.nodes.len());
    checks.extend(occupancy.as_ref().ok().map(|found| database(address, primary, found)));
    checks.extend(connections(primary, address.pool(), nodes));
    checks.extend(primary.replication.as_ref().map(standbys));
    checks.extend(primary.archiving.as_ref().map(archiving));
    checks.push(at_work(&occupancy));
    checks
}

/// Checks one host: whether the host is reachable, its role and its version.
fn server(host: &HostSurvey, has_primary: bool) -> Check {
    let at = &host.at;
    let facts = match &host.found {
        Ok(facts) => facts,
        Err(error) if has_primary => {
            let says = format!("{at} does not respond: {error}");
            return Check::warn(NAME, says, "start it: without it there is no failover");
        }
        Err(error) => return Check::fail(NAME, error.to_string(), advice(error).unwrap_or(MEND)),
    };
    let role = if facts.is_standby { "standby" } else { "primary" };
    let tls = facts.tls.as_ref().map_or("no TLS".to_owned(), |version| version.replace("TLSv", "TLS "));
    // Debian appends its package version to PostgreSQL's.
    let version = facts.version.split(' ').next().unwrap_or_default();
    let says = format!("{at}: {role}, version {version}, {tls}");
    if facts.is_read_only {
        return Check::fail(
            NAME,
            format!("{says}, is read-only"),
            "`alter database … reset default_transaction_read_only`, or name the primary",
        );
    }
    let behind = facts.replication.as_ref().and_then(|replication| replication.behind_ms);
    if let Some(behind_ms) = behind.filter(|behind_ms| *behind_ms > BEHIND_WARN_MS) {
        let says = format!("{says}, {} s behind", behind_ms / 1_000);
        return Check::warn(NAME, says, "check its log and the network");
    }
    match facts.checks_pages {
        Some(true) => Check::ok(NAME, format!("{says}, page checksums")),
        None => Check::ok(NAME, says),
        Some(false) => Check::warn(
            NAME,
            format!("{says}, no page checksums: disk corruption is not detected"),
            "stop it, then `pg_checksums --enable -D` its data directory",
        ),
    }
}

const MEND: &str = "fix the reported problem, then retry";

/// Returns advice for an error caused by the database server, or `None` for other errors.
pub(super) fn advice(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Away { .. } => Some("start the server, or use another with --store"),
        StoreError::Refused { .. } | StoreError::NoRights { .. } => {
            Some("grant access to this user (docs/scaling.md)")
        }
        StoreError::ReadOnlyServer { .. } => Some("name the primary, or promote a standby"),
        StoreError::Exhausted { .. } => Some("raise `pool=` in the address, or retry"),
        StoreError::WrongEncoding { .. } => {
            Some("`createdb --encoding UTF8 --template template0`, and name that database")
        }
        StoreError::TooOldServer { .. } => Some("upgrade the server to version 15 or later"),
        _ => None,
    }
}

/// Checks the store's schemas in the database, and the permission to create missing schemas.
fn database(address: &Address, facts: &ServerFacts, found: &Occupancy) -> Check {
    const NAME: &str = "database";
    let [candles, accounts] =
        found.schemas.map(|steps| steps.map_or("none yet".to_owned(), |step| step.to_string()));
    let says = format!(
        "{}, {}: candle schema {candles}, account schema {accounts}",
        address.database(),
        facts.encoding
    );
    if found.is_half_moved {
        return Check::warn(
            NAME,
            format!("{says}; it contains an incomplete move"),
            "run that `chandler move` again to finish it",
        );
    }
    let is_complete = found.schemas.iter().all(Option::is_some);
    match is_complete || facts.may_create {
        true => Check::ok(NAME, says),
        false => Check::fail(
            NAME,
            format!("{says}; {} may not create what is missing", address.user()),
            format!("`grant create on database {} to {}`", address.database(), address.user()),
        ),
    }
}

/// Checks the difference between the database's clock and this machine's clock. Rate limits and
/// leases use the database's clock; signatures use this machine's clock.
fn clock(ahead_ms: i64) -> Check {
    const NAME: &str = "database clock";
    let side = if ahead_ms < 0 { "behind" } else { "ahead of" };
    let says = format!("{:.1} s {side} this machine's clock", ahead_ms.saturating_abs() as f64 / 1_000.0);
    match ahead_ms.saturating_abs() {
        apart if apart >= CLOCK_FAIL_MS => Check::fail(NAME, says, "synchronize both clocks with NTP"),
        apart if apart >= CLOCK_WARN_MS => Check::warn(NAME, says, "synchronize both clocks with NTP"),
        _ => Check::ok(NAME, says),
    }
}

fn connections(facts: &ServerFacts, pool: usize, nodes: usize) -> Option<Check> {
    const NAME: &str = "connections";
    let found = facts.connections?;
    let each = pool.saturating_mul(POOLS).saturating_add(OTHERS);
    let wanted = each.saturating_mul(nodes.max(1));
    let says = format!(
        "{} of {} in use; {} may take {wanted} (pool={pool})",
        found.open,
        found.most,
        output::count(nodes.max(1) as u64, "node")
    );
    let most = usize::try_from(found.most).unwrap_or(usize::MAX);
    Some(match wanted > most {
        true => Check::warn(
            NAME,
            says,
            format!(
                "raise max_connections to {} there, or lower the pool with `pool=` in the address",
                wanted.saturating_add(20)
            ),
        ),
        false => Check::ok(NAME, says),
    })
}

fn standbys(found: &Replication) -> Check {
    const NAME: &str = "standbys";
    let Replication { synchronous_names, standbys, synchronous, .. } = found;
    let connected = output::count(u64::from(*standbys), "standby");
    if synchronous_names.is_empty() {
        let says =
            format!("{connected}; commits wait for none: acknowledged changes can be lost with this server");
        return Check::warn(NAME, says, "set synchronous_standby_names (docs/scaling.md)");
    }
    if *synchronous == 0 {
        let says =
            format!("{connected}; commits wait for {synchronous_names:?}, and none of them is connected");
        return Check::fail(NAME, says, "start a standby of that name, or change synchronous_standby_names");
    }
    Check::ok(NAME, format!("{connected}, commits wait for {synchronous_names}"))
}

fn archiving(found: &Archiving) -> Check {
    const NAME: &str = "archiving";
    let at = |seconds: i64| market::Timestamp(seconds).to_string();
    match (found.is_on, found.last_success_at, found.last_failure_at) {
        (false, ..) => Check::warn(
            NAME,
            "off: only base backups can be restored, not later points in time",
            "set archive_mode and archive_command (docs/scaling.md), or rely on the service that hosts the server",
        ),
        (true, success, Some(failure)) if success.is_none_or(|success| success <= failure) => Check::fail(
            NAME,
            format!("the last attempt, {}, has failed", at(failure)),
            "check the server's log: archive_command must succeed",
        ),
        (true, Some(success), _) => Check::ok(NAME, format!("on, last done {}", at(success))),
        (true, None, _) => Check::ok(NAME, "on, nothing to archive yet"),
    }
}

fn at_work(found: &Result<Occupancy, StoreError>) -> Check {
    const NAME: &str = "nodes";
    let found = match found {
        Ok(found) => found,
        Err(error) => return Check::warn(NAME, error.to_string(), MEND),
    };
    let mut says = match found.nodes.as_slice() {
        [] => "none is running".to_owned(),
        nodes => format!("{} running: {}", nodes.len(), nodes.join(", ")),
    };
    if !found.leases.is_empty() {
        says.push_str(&format!("; leases held: {}", found.leases.join(", ")));
    }
    match found.silent.first() {
        None => Check::ok(NAME, says),
        Some((name, ago_ms)) => Check::warn(
            NAME,
            format!("{says}; {name} was last seen {} s ago", ago_ms / 1_000),
            "check its log if it should be running",
        ),
    }
}

#[cfg(test)]
mod tests {
    use store::ConnectionCount;

    use super::super::check::Verdict;
    use super::*;

    fn host(change: impl FnOnce(&mut ServerFacts)) -> HostSurvey {
        let mut facts =
            ServerFacts { version: "15.18".to_owned(), checks_pages: Some(true), ..ServerFacts::default() };
        change(&mut facts);
        HostSurvey { at: "one:5432".to_owned(), found: Ok(facts) }
    }

    fn away() -> HostSurvey {
        let place = store::StoreUrl::from("x");
        let error = StoreError::Away { what: "connect to the database", place, source: "nobody".into() };
        HostSurvey { at: "two:5432".to_owned(), found: Err(error) }
    }

    #[test]
    fn an_unreachable_standby_is_a_warning() {
        let good = server(&host(|facts| facts.tls = Some("TLSv1.3".to_owned())), true);
        assert_eq!(
            (good.verdict, good.says.as_str()),
            (Verdict::Ok, "one:5432: primary, version 15.18, TLS 1.3, page checksums")
        );
        assert_eq!(server(&host(|facts| facts.checks_pages = Some(false)), true).verdict, Verdict::Warn);
        assert_eq!(server(&host(|facts| facts.is_read_only = true), true).verdict, Verdict::Fail);
        let late = |facts: &mut ServerFacts| {
            facts.is_standby = true;
            facts.replication = Some(Replication { behind_ms: Some(90_000), ..Replication::default() });
        };
        assert!(
            server(&host(late), true).says.contains("standby")
                && server(&host(late), true).says.ends_with("90 s behind")
        );
        assert_eq!(
            (server(&away(), true).verdict, server(&away(), false).verdict),
            (Verdict::Warn, Verdict::Fail)
        );
    }

    #[test]
    fn small_clock_differences_are_accepted() {
        for (ahead_ms, verdict) in
            [(0, Verdict::Ok), (-1_900, Verdict::Ok), (2_000, Verdict::Warn), (-300_000, Verdict::Fail)]
        {
            assert_eq!(clock(ahead_ms).verdict, verdict, "{ahead_ms}");
        }
        assert_eq!(clock(-1_540).says, "1.5 s behind this machine's clock");
    }

    #[test]
    fn a_connection_limit_too_low_for_all_nodes_is_a_warning() {
        let facts = |most| ServerFacts {
            connections: Some(ConnectionCount { open: 3, most }),
            ..ServerFacts::default()
        };
        assert_eq!(connections(&facts(68), 16, 1).unwrap().verdict, Verdict::Ok);
        let two = connections(&facts(97), 16, 2).unwrap();
        assert_eq!(
            (two.verdict, two.says.as_str()),
            (Verdict::Warn, "3 of 97 in use; 2 nodes may take 136 (pool=16)")
        );
        assert!(two.advice.unwrap().contains("max_connections to 156"));
        assert!(connections(&ServerFacts::default(), 16, 1).is_none());
    }

    #[test]
    fn a_missing_standby_and_a_failing_archive_are_reported() {
        let of = |names: &str, standbys, synchronous| {
            let synchronous_names = names.to_owned();
            self::standbys(&Replication { synchronous_names, standbys, synchronous, behind_ms: None }).verdict
        };
        assert_eq!(
            [of("", 1, 0), of("s1", 1, 0), of("s1", 1, 1)],
            [Verdict::Warn, Verdict::Fail, Verdict::Ok]
        );
        let of = |is_on, last_success_at, last_failure_at| {
            archiving(&Archiving { is_on, last_success_at, last_failure_at }).verdict
        };
        assert_eq!(
            [of(false, None, None), of(true, None, None), of(true, Some(5), Some(4))],
            [Verdict::Warn, Verdict::Ok, Verdict::Ok]
        );
        assert_eq!([of(true, None, Some(4)), of(true, Some(3), Some(4))], [Verdict::Fail; 2]);
    }
}
