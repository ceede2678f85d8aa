//! Redirect addresses. A request must send one of the client's registered addresses, compared byte
//! by byte. Only the port of a loopback address may differ (RFC 8252, 7.3), because native
//! applications listen on any free port.

/// Maximum length of a redirect address in bytes.
pub(super) const ADDRESS_MAX: usize = 1_024;
const LOOPBACKS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Checks that an address can be registered: an `https` URL, an `http` URL on a loopback host, or a
/// URL with an application's private scheme. A private scheme must contain a dot (RFC 8252, 7.1),
/// which excludes schemes such as `javascript:`.
pub(super) fn check(address: &str) -> Result<(), &'static str> {
    if address.is_empty() || address.len() > ADDRESS_MAX {
        return Err("a redirect address has 1 to 1024 bytes");
    }
    if !address.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)) {
        return Err("a redirect address has letters that an address cannot have: escape them");
    }
    if address.contains('#') {
        return Err("a redirect address has no fragment");
    }
    let Some((scheme, rest)) = address.split_once(':') else {
        return Err("a redirect address begins with a scheme");
    };
    let mut letters = scheme.bytes();
    if !letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        || !letters.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        return Err("a redirect address begins with a scheme");
    }
    match scheme {
        "https" | "http" => {
            let host = Parts::of(address).map(|parts| parts.host).unwrap_or_default();
            if host.is_empty() || host.contains('@') {
                return Err("a redirect address has a host, and no user before it");
            }
            if scheme == "http" && !LOOPBACKS.contains(&host) {
                return Err("a redirect address over http is one of this machine: use https");
            }
            Ok(())
        }
        _ if scheme.contains('.') && rest.starts_with('/') => Ok(()),
        _ => Err(
            "a redirect address is https, http of this machine, or a scheme of one's own such as com.example.app:/",
        ),
    }
}

/// Returns whether an address is an `http` URL on a loopback host, and so on the machine of the
/// user's browser.
pub(super) fn is_of_this_machine(address: &str) -> bool {
    Parts::of(address).is_some_and(|parts| parts.scheme == "http" && LOOPBACKS.contains(&parts.host))
}

/// Returns whether `named`, the address of a request, matches one of the registered addresses,
/// which are separated by newlines.
pub(super) fn is_registered(registered: &str, named: &str) -> bool {
    if named.len() > ADDRESS_MAX {
        return false;
    }
    registered.lines().any(|one| one == named || is_same_but_for_port(one, named))
}

fn is_same_but_for_port(registered: &str, named: &str) -> bool {
    let (Some(one), Some(other)) = (Parts::of(registered), Parts::of(named)) else { return false };
    one.scheme == "http"
        && other.scheme == "http"
        && LOOPBACKS.contains(&one.host)
        && one.host == other.host
        && one.rest == other.rest
        && check(named).is_ok()
}

/// Parts of a URL that has an authority.
struct Parts<'a> {
    scheme: &'a str,
    host: &'a str,
    /// Path and query, unmodified.
    rest: &'a str,
}

impl<'a> Parts<'a> {
    fn of(address: &'a str) -> Option<Parts<'a>> {
        let (scheme, after) = address.split_once("://")?;
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let (authority, rest) = after.split_at_checked(end)?;
        // User information stays part of the host, so that an address with user information is
        // refused.
        let host_end = match authority.strip_prefix('[') {
            Some(inner) => inner.find(']')? + 2,
            None => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at_checked(host_end)?;
        let digits = port.strip_prefix(':').unwrap_or(port);
        if authority.contains('@') {
            return Some(Parts { scheme, host: authority, rest });
        }
        let fits =
            port.is_empty() || digits.parse::<u16>().is_ok_and(|number| number > 0 && digits.len() <= 5);
        (fits && !digits.starts_with('+') && port.len() != 1).then_some(Parts { scheme, host, rest })
    }
}

/// Appends query parameters to an address.
pub(super) fn with(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    parameters.iter().for_each(|(name, value)| {
        query.append_pair(name, value);
    });
    let joint = match address.split_once('?') {
        None => "?",
        Some((_, before)) if before.is_empty() || before.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{address}{joint}{}", query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_addresses_can_be_registered() {
        for address in [
            "http://localhost:60355/callback",
            "http://localhost",
            "http://127.0.0.1/",
            "http://127.0.0.1:1/x?y=z",
            "http://[::1]:8080/callback",
            "https://example.com",
            "https://example.com:8443/a/b?c=d&e",
            "com.example.app:/done",
            "com.example.app://done",
        ] {
            assert_eq!(check(address), Ok(()), "{address}");
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        let long = format!("https://example.com/{}", "a".repeat(1_005));
        for address in [
            "",
            "/callback",
            "localhost:60355/callback",
            "http://example.com/callback",
            "http://localhost.example.com/",
            "http://localhost@example.com/",
            "http://127.0.0.1:80@example.com/",
            "http://127.0.0.1:99999/",
            "http://127.0.0.1:+80/",
            "http://127.0.0.1:/",
            "http://127.1/",
            "http://[::2]/",
            "https://",
            "https:///path",
            "https://user@example.com/",
            "https://example.com/#fragment",
            "https://example.com/#",
            "https://example.com/a b",
            "https://example.com/\r\nx",
            "https://example.com\\@evil/",
            "https://例子.com/",
            "HTTP://localhost/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "myapp:/done",
            "com.example.app:done",
            ":/x",
            "1.2:/x",
            &long,
        ] {
            assert!(check(address).is_err(), "{address}");
        }
    }

    #[test]
    fn a_registered_address_matches_exactly_except_for_a_loopback_port() {
        let registered = "http://localhost:60355/callback\nhttps://example.com/cb\ncom.example.app:/done";
        for named in [
            "http://localhost:60355/callback",
            "http://localhost:1/callback",
            "http://localhost/callback",
            "https://example.com/cb",
            "com.example.app:/done",
        ] {
            assert!(is_registered(registered, named), "{named}");
        }
        for named in [
            "",
            "http://127.0.0.1:60355/callback",
            "http://localhost:60355/callback/",
            "http://localhost:60355/callback?x",
            "http://localhost:60355",
            "http://localhost:60355@evil.com/callback",
            "http://localhost:60355/callback#x",
            "https://example.com:8443/cb",
            "https://example.com/cb2",
            "https://example.com/",
            "https://EXAMPLE.com/cb",
            "com.example.app:/other",
            "http://localhost:60355/callback\nhttps://example.com/cb",
        ] {
            assert!(!is_registered(registered, named), "{named}");
        }
        assert!(!is_registered("", ""));
        assert!(!is_registered("", "http://localhost/"));
    }

    #[test]
    fn query_parameters_are_appended_and_escaped() {
        let pairs = [("code", "a b&c"), ("state", "1=2")];
        assert_eq!(with("https://e.com/cb", &pairs), "https://e.com/cb?code=a+b%26c&state=1%3D2");
        assert_eq!(with("https://e.com/cb?x=y", &pairs), "https://e.com/cb?x=y&code=a+b%26c&state=1%3D2");
        assert_eq!(with("https://e.com/cb?", &pairs), "https://e.com/cb?code=a+b%26c&state=1%3D2");
    }

    proptest::proptest! {
        /// Addresses are generated from few parts, so that two addresses are often nearly equal.
        #[test]
        fn a_matching_address_has_the_same_host_and_path(
            one in "https?://(a@)?(localhost|127\\.0\\.0\\.1|\\[::1\\]|b\\.c)(:[18]?0?)?(/d?)?(\\?e)?(#)?",
            other in "https?://(a@)?(localhost|127\\.0\\.0\\.1|\\[::1\\]|b\\.c)(:[18]?0?)?(/d?)?(\\?e)?(#)?",
        ) {
            proptest::prop_assert!(is_registered(&one, &one));
            if check(&one).is_ok() && is_registered(&one, &other) {
                proptest::prop_assert_eq!(check(&other), Ok(()));
                let (one, other) = (Parts::of(&one).unwrap(), Parts::of(&other).unwrap());
                proptest::prop_assert_eq!((one.scheme, one.host, one.rest), (other.scheme, other.host, other.rest));
            }
        }
    }
}
