//! Checks that either all or none of the public SDKs' environment variables are set. Prints
//! variable names, but no values other than addresses.

use std::collections::BTreeSet;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::check::Check;
use crate::sdk::{HEEDLESS, HEEDLESS_ADVICE};

const NAME: &str = "SDK variables";
const FAMILIES: [&str; 2] = ["LONGBRIDGE", "LONGPORT"];
const CREDENTIALS: [&str; 3] = ["APP_KEY", "APP_SECRET", "ACCESS_TOKEN"];
const HTTP: &str = "HTTP_URL";
/// Variables for the socket addresses. One complete pair is sufficient; the Go package uses the
/// second pair (docs/sdk-go.md).
const SOCKETS: [[&str; 2]; 2] = [["QUOTE_WS_URL", "TRADE_WS_URL"], ["QUOTE_URL", "TRADE_URL"]];
/// Timeout for connecting to a server.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks the variables, and whether a server listens at their addresses.
pub(super) fn all(env: &dyn Fn(&str) -> Option<String>, listens: &dyn Fn(&str, u16) -> bool) -> Vec<Check> {
    let value = |family: &str, name: &str| env(&format!("{family}_{name}")).filter(|text| !text.is_empty());
    let mut checks: Vec<Check> =
        FAMILIES.into_iter().filter_map(|family| halves(family, &|name| value(family, name))).collect();
    let differ: Vec<&str> = CREDENTIALS
        .into_iter()
        .chain(addresses())
        .filter(|name| match FAMILIES.map(|family| value(family, name)) {
            [Some(one), Some(other)] => one != other,
            _ => false,
        })
        .collect();
    if !differ.is_empty() {
        let says = format!("LONGBRIDGE_ and LONGPORT_ differ in {}", differ.join(", "));
        checks.push(Check::warn(
            NAME,
            says,
            "newer packages read the first, older ones the second: set both to the same values",
        ));
    }
    let pointed: BTreeSet<String> = FAMILIES
        .into_iter()
        .flat_map(|family| addresses().filter_map(move |name| value(family, name)))
        .collect();
    checks.extend(pointed.iter().filter_map(|address| reach(address, listens)));
    let set = |family: &&str| CREDENTIALS.iter().any(|name| value(family, name).is_some());
    if checks.is_empty() {
        let says =
            if FAMILIES.iter().any(set) { "complete, and a server responds there" } else { "none are set" };
        checks.push(Check::ok(NAME, says));
    }
    checks.extend(FAMILIES.iter().any(set).then(heedless));
    checks
}

/// Returns a reminder that some SDK packages send hard-coded keys to their vendor's host and ignore
/// the variables. This check does not read the programs' source code.
fn heedless() -> Check {
    let advice = format!("{HEEDLESS_ADVICE}. Programs that use longbridge 5 respect them in any case");
    Check::warn(NAME, HEEDLESS, advice)
}

fn addresses() -> impl Iterator<Item = &'static str> {
    [HTTP].into_iter().chain(SOCKETS.into_iter().flatten())
}

/// Warns if only some of a family's variables are set.
fn halves(family: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<Check> {
    let missing = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| value(name).is_none()).map(|name| format!("{family}_{name}")).collect()
    };
    let credentials = missing(&CREDENTIALS);
    if !credentials.is_empty() && credentials.len() < CREDENTIALS.len() {
        let says = format!("partly set: {} missing", list(&credentials));
        return Some(Check::warn(
            NAME,
            says,
            "`chandler account create` prints all of them, as lines for a shell",
        ));
    }
    if addresses().all(|name| value(name).is_none()) {
        let all = missing(&[HTTP, "QUOTE_WS_URL", "TRADE_WS_URL"]);
        let says =
            format!("{family}_ has credentials but no addresses: an SDK would use its default service");
        return credentials.is_empty().then(|| Check::warn(NAME, says, format!("set {}", all.join(", "))));
    }
    // Each pair must be complete, and at least one pair must be set.
    let begun = SOCKETS.iter().filter(|pair| missing(pair.as_slice()).len() < pair.len());
    let mut wanted: Vec<&str> = begun.flatten().copied().collect();
    if wanted.is_empty() {
        wanted.extend(SOCKETS.first().into_iter().flatten());
    }
    wanted.insert(0, HTTP);
    let missing = missing(&wanted);
    if missing.is_empty() {
        return None;
    }
    let says =
        format!("partly set: {} missing, so parts of an SDK would use its default service", list(&missing));
    Some(Check::warn(NAME, says, "`chandler account create --url URL` prints all of them"))
}

fn list(names: &[String]) -> String {
    format!("{} {}", names.join(", "), if names.len() == 1 { "is" } else { "are" })
}

/// Warns if an address is invalid or no server listens there.
fn reach(address: &str, listens: &dyn Fn(&str, u16) -> bool) -> Option<Check> {
    let advice = "start the server there (`chandler serve`), or set the variables to its address";
    let Some((host, port)) = host_and_port(address) else {
        let says = "one of the addresses in the variables is invalid";
        return Some(Check::warn(NAME, says, "write http://127.0.0.1:8080 and ws://127.0.0.1:8080/v2"));
    };
    if listens(&host, port) {
        return None;
    }
    Some(Check::warn(NAME, format!("no server listens at {host}:{port}"), advice))
}

fn host_and_port(address: &str) -> Option<(String, u16)> {
    let (scheme, rest) = address.split_once("://")?;
    let usual = match scheme {
        "http" | "ws" => 80,
        "https" | "wss" => 443,
        // Raw TCP, which only the Go package uses, has no default port.
        "tcp" => 0,
        _ => return None,
    };
    // The part before an @ may be a user name or a secret and is not shown.
    let authority = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(six) => six.split_once(']').map(|(host, rest)| (host, rest.strip_prefix(':')))?,
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        Some(text) => text.parse().ok()?,
        None => usual,
    };
    (!host.is_empty() && port != 0).then(|| (host.to_owned(), port))
}

pub(super) fn listens(host: &str, port: u16) -> bool {
    let Ok(found) = (host, port).to_socket_addrs() else { return false };
    found.into_iter().take(2).any(|address| TcpStream::connect_timeout(&address, PATIENCE).is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    fn describe(variables: &[(&str, &str)]) -> Vec<String> {
        let env = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let checks = all(&env, &|host, port| (host, port) == ("127.0.0.1", 8080));
        let is_set = variables.iter().any(|(name, _)| CREDENTIALS.iter().any(|one| name.ends_with(one)));
        assert_eq!(checks.iter().filter(|check| check.says == HEEDLESS).count(), usize::from(is_set));
        let others = checks.iter().filter(|check| check.says != HEEDLESS);
        others.map(|check| format!("{}: {}", check.verdict.as_str(), check.says)).collect()
    }

    #[test]
    fn setting_keys_warns_about_hard_coded_keys() {
        let [_, care] = &all(
            &|name| WHOLE.iter().find(|one| one.0 == name).map(|one| one.1.to_owned()),
            &|_, _| true,
        )[..] else {
            panic!("no warning")
        };
        assert_eq!(care.verdict, Verdict::Warn);
        assert!(care.says.contains("longport up to 3.0.18"), "{care:?}");
        assert!(care.advice.as_ref().is_some_and(|advice| advice.contains("Config.from_env")), "{care:?}");
    }

    const WHOLE: [(&str, &str); 6] = [
        ("LONGPORT_APP_KEY", "key"),
        ("LONGPORT_APP_SECRET", "hush"),
        ("LONGPORT_ACCESS_TOKEN", "hush2"),
        ("LONGPORT_HTTP_URL", "http://127.0.0.1:8080"),
        ("LONGPORT_QUOTE_WS_URL", "ws://127.0.0.1:8080/v2"),
        ("LONGPORT_TRADE_WS_URL", "ws://127.0.0.1:8080/v2"),
    ];

    #[test]
    fn setting_all_variables_or_none_is_ok() {
        assert_eq!(describe(&[]), ["ok: none are set"]);
        assert_eq!(describe(&WHOLE), ["ok: complete, and a server responds there"]);
    }

    #[test]
    fn a_partial_set_is_reported_without_secrets() {
        let without = |name: &str| -> Vec<(&str, &str)> {
            WHOLE.into_iter().filter(|(known, _)| *known != name).collect()
        };
        assert_eq!(
            describe(&without("LONGPORT_APP_SECRET")),
            ["warn: partly set: LONGPORT_APP_SECRET is missing"]
        );
        assert_eq!(
            describe(&without("LONGPORT_HTTP_URL")),
            [
                "warn: partly set: LONGPORT_HTTP_URL is missing, so parts of an SDK would use its default service"
            ]
        );
        assert_eq!(
            describe(&WHOLE[..3]),
            ["warn: LONGPORT_ has credentials but no addresses: an SDK would use its default service"]
        );
        let mut differs = WHOLE.to_vec();
        differs.extend(
            WHOLE.map(|(name, value)| (name.replace("LONGPORT", "LONGBRIDGE").leak() as &str, value)),
        );
        differs[6].1 = "other";
        assert_eq!(describe(&differs), ["warn: LONGBRIDGE_ and LONGPORT_ differ in APP_KEY"]);
        assert!(!describe(&differs).concat().contains("hush"));
    }

    #[test]
    fn the_go_variables_are_accepted_as_a_complete_set() {
        let go = |names: &[&'static str]| -> Vec<(&str, &str)> {
            let sockets = [
                ("LONGPORT_QUOTE_URL", "ws://127.0.0.1:8080/v2"),
                ("LONGPORT_TRADE_URL", "tcp://127.0.0.1:8080"),
            ];
            let sockets = sockets.into_iter().filter(|(name, _)| names.contains(name));
            WHOLE[..4].iter().copied().chain(sockets).collect()
        };
        assert_eq!(
            describe(&go(&["LONGPORT_QUOTE_URL", "LONGPORT_TRADE_URL"])),
            ["ok: complete, and a server responds there"]
        );
        let half = "warn: partly set: LONGPORT_TRADE_URL is missing, so parts of an SDK would use its default service";
        assert_eq!(describe(&go(&["LONGPORT_QUOTE_URL"])), [half]);
        // One pair is complete, but only one variable of the other pair is set.
        let mut both = WHOLE.to_vec();
        both.push(("LONGPORT_QUOTE_URL", "ws://127.0.0.1:8080/v2"));
        assert_eq!(describe(&both), [half]);
        assert_eq!(
            describe(&go(&[])),
            [
                "warn: partly set: LONGPORT_QUOTE_WS_URL, LONGPORT_TRADE_WS_URL are missing, so parts of an SDK would \
                 use its default service"
            ]
        );
        assert_eq!(host_and_port("tcp://127.0.0.1:2020"), Some(("127.0.0.1".to_owned(), 2020)));
        assert_eq!(host_and_port("tcp://127.0.0.1"), None);
    }

    #[test]
    fn an_unreachable_address_is_shown_without_its_user_name() {
        let mut away = WHOLE;
        away[3].1 = "https://name:hush@example.org/x";
        assert_eq!(describe(&away), ["warn: no server listens at example.org:443"]);
        away[3].1 = "nowhere";
        assert_eq!(describe(&away), ["warn: one of the addresses in the variables is invalid"]);
        assert_eq!(host_and_port("ws://[::1]:9/v2"), Some(("::1".to_owned(), 9)));
        assert_eq!(all(&|_| None, &|_, _| false)[0].verdict, Verdict::Ok);
    }
}
