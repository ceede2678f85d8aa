//! Environment variables of the public SDKs: server addresses and credentials.

use std::net::IpAddr;

use access::Secret;
use serde::{Deserialize, Serialize};
use server::{ParsePublicUrlError, PublicUrl};

use crate::failure::{Failure, usage};

/// Credentials of an account, printed once when the account is created.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Credentials {
    pub(crate) app_key: String,
    #[serde(with = "exposed")]
    pub(crate) app_secret: Secret,
    #[serde(with = "exposed")]
    pub(crate) access_token: Secret,
}

/// URL of a server as seen by its clients, such as `http://host:port`, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url(String);

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Url, Failure> {
        // Text before an `@` is a user name or a password, but could be mistaken for the host.
        if text.contains('@') {
            return Err(usage("the server address contains a user name: remove it"));
        }
        let address = match text.parse::<PublicUrl>() {
            // The URL parser trims surrounding spaces, but here such spaces are more likely a
            // mistake in a script.
            Ok(address) if text.trim() == text => address,
            Err(ParsePublicUrlError::Port(_)) => {
                return Err(usage(format!("{text:?} has an invalid port: ports are 1 to 65535")));
            }
            Ok(_) | Err(ParsePublicUrlError::Form(_)) => {
                return Err(usage(format!("{text:?} is not a server address: write http://127.0.0.1:8080")));
            }
        };
        Ok(Url(address.as_str().to_owned()))
    }

    pub(crate) fn of(address: std::net::SocketAddr) -> Url {
        Url(format!("http://{address}"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the WebSocket address: `http` becomes `ws`, and `https` becomes `wss`. The server
    /// accepts any path; SDKs use `/v2`.
    fn socket(&self) -> String {
        format!("{}/v2", self.0.replacen("http", "ws", 1))
    }

    pub(crate) fn host(&self) -> &str {
        let authority =
            self.0.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        match authority.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            Some(host) => host,
            None => authority.split(':').next().unwrap_or_default(),
        }
    }

    /// Returns whether the host is a loopback name or address.
    pub(crate) fn is_loopback(&self) -> bool {
        let host = self.host();
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// Returns the environment variables for all SDKs, in the order in which they are printed. Older
/// packages read only variables with the `LONGPORT` prefix, and the Go package uses different names
/// for the socket addresses.
pub(crate) fn environment(url: &Url, credentials: &Credentials) -> Vec<(String, String)> {
    let Credentials { app_key, app_secret, access_token } = credentials;
    let values = [
        ("APP_KEY", app_key.as_str()),
        ("APP_SECRET", app_secret.expose()),
        ("ACCESS_TOKEN", access_token.expose()),
    ];
    variables(url, &values)
}

/// Returns the variables for the server's addresses, without credentials. Used for programs that
/// read a token file.
pub(crate) fn addresses(url: &Url) -> Vec<(String, String)> {
    variables(url, &[])
}

/// Returns the variables for the server's addresses, with an app key as the only credential.
pub(crate) fn with_app_key(url: &Url, app_key: Option<&str>) -> Vec<(String, String)> {
    let key: Vec<(&str, &str)> = app_key.map(|key| ("APP_KEY", key)).into_iter().collect();
    variables(url, &key)
}

fn variables(url: &Url, credentials: &[(&str, &str)]) -> Vec<(String, String)> {
    let socket = url.socket();
    let addresses = [
        ("HTTP_URL", url.as_str()),
        ("QUOTE_WS_URL", &socket),
        ("TRADE_WS_URL", &socket),
        ("QUOTE_URL", &socket),
        ("TRADE_URL", &socket),
    ];
    let mut lines = Vec::new();
    for prefix in ["LONGBRIDGE", "LONGPORT"] {
        let values = credentials.iter().chain(&addresses);
        lines.extend(values.map(|(name, value)| (format!("{prefix}_{name}"), (*value).to_owned())));
    }
    // The SDKs apply the proxy settings to HTTP requests, and a proxy could not reach a local
    // server.
    lines.push(("NO_PROXY".to_owned(), url.host().to_owned()));
    lines
}

/// Warning about packages that ignore these addresses in some programs. The text contains no shell
/// metacharacters, because some shells execute pasted comments.
pub(crate) const HEEDLESS: &str = "longport up to 3.0.18 and longbridge 0.2 ignore these addresses where a program \
    passes its keys to Config, and send app key and token to the host of their vendor";
pub(crate) const HEEDLESS_ADVICE: &str = "use Config.from_env there, pass http_url, quote_ws_url and trade_ws_url \
    too, or use chandler sdk-env --python-shim: docs/sdk-python.md";

/// Returns the variables as shell `export` lines, preceded by a warning. The SDKs can also read
/// these lines from a file named `.env`.
pub(crate) fn exports(url: &Url, credentials: &Credentials) -> String {
    let lines = export_lines(&environment(url, credentials));
    format!("# Careful: {HEEDLESS}:\n# {HEEDLESS_ADVICE}\n{lines}")
}

/// Formats variables as shell `export` lines.
pub(crate) fn export_lines(variables: &[(String, String)]) -> String {
    variables.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect()
}

pub(crate) mod exposed {
    use access::Secret;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(url: &str, name: &str) -> String {
        let credentials = Credentials {
            app_key: "key".to_owned(),
            app_secret: Secret::new("secret".to_owned()),
            access_token: Secret::new("token".to_owned()),
        };
        let all = environment(&Url::parse(url).unwrap(), &credentials);
        all.into_iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    #[test]
    fn every_sdk_gets_its_three_addresses() {
        let url = "http://127.0.0.1:8080";
        for prefix in ["LONGBRIDGE", "LONGPORT"] {
            assert_eq!(variable(url, &format!("{prefix}_HTTP_URL")), url);
            for name in ["QUOTE_WS_URL", "TRADE_WS_URL", "QUOTE_URL", "TRADE_URL"] {
                assert_eq!(variable(url, &format!("{prefix}_{name}")), "ws://127.0.0.1:8080/v2");
            }
        }
        assert_eq!(variable(url, "LONGPORT_ACCESS_TOKEN"), "token");
    }

    #[test]
    fn the_shell_warning_has_no_metacharacters() {
        let secret = || Secret::new("x".to_owned());
        let credentials =
            Credentials { app_key: "key".to_owned(), app_secret: secret(), access_token: secret() };
        let lines = exports(&Url::parse("http://127.0.0.1:8080").unwrap(), &credentials);
        let (comments, others): (Vec<&str>, Vec<&str>) =
            lines.lines().partition(|line| line.starts_with("# "));
        assert!(others.iter().all(|line| line.starts_with("export ")), "{lines}");
        let comments = comments.concat();
        for word in ["longport up to 3.0.18", "Config.from_env", "http_url, quote_ws_url and trade_ws_url"] {
            assert!(comments.contains(word), "{comments}");
        }
        // A shell that executes the comments reports an unknown command and continues.
        assert!(
            !comments.contains(['(', ')', '`', '$', '\'', '"', ';', '&', '|', '<', '>', '*', '?', '[', '!'])
        );
    }

    #[test]
    fn an_address_behind_a_proxy_retains_its_scheme_and_path() {
        let url = "https://quotes.example.org/chandler/";
        assert_eq!(variable(url, "LONGBRIDGE_HTTP_URL"), "https://quotes.example.org/chandler");
        assert_eq!(variable(url, "LONGBRIDGE_QUOTE_WS_URL"), "wss://quotes.example.org/chandler/v2");
        assert_eq!(variable(url, "NO_PROXY"), "quotes.example.org");
        assert_eq!(variable("http://[::1]:80", "NO_PROXY"), "::1");
    }

    #[test]
    fn an_invalid_address_is_refused() {
        for text in [
            "",
            "127.0.0.1:8080",
            "ws://x",
            "http://",
            "http:///x",
            "http://a b",
            " http://a",
            "http://a\n",
            "http://a'b",
            "http://:1",
            "http://a?b",
            "http://a#b",
            "http://a\\b",
            "http://[::1",
        ] {
            let Err(Failure::Usage(says)) = Url::parse(text) else { panic!("{text:?}") };
            assert!(says.contains("http://127.0.0.1:8080"), "{says}");
        }
    }

    #[test]
    fn an_invalid_port_is_refused() {
        for text in ["http://127.0.0.1:99999", "http://127.0.0.1:0", "https://a:", "https://a:8o80/x"] {
            let Err(Failure::Usage(says)) = Url::parse(text) else { panic!("{text:?}") };
            assert!(says.contains("65535"), "{says}");
        }
    }

    #[test]
    fn the_error_for_a_user_name_does_not_show_the_password() {
        for text in ["http://127.0.0.1:80@example.org", "https://ann:hush@example.org", "https://a/@"] {
            let Err(Failure::Usage(says)) = Url::parse(text) else { panic!("{text:?}") };
            assert!(says.contains("user name") && !says.contains("hush"), "{says}");
        }
    }
}
