//! Selects the server, and decides whether tokens may be sent to it.

use clap::Args;

use super::files::Logins;
use crate::failure::{Failure, usage};
use crate::sdk::Url;

/// Default address of `chandler serve`.
const SERVER_DEFAULT: &str = "http://127.0.0.1:8080";

/// The flags of every command that uses a server.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// The server [default: the one last signed in to, else http://127.0.0.1:8080]
    #[arg(long, env = "CHANDLER_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Send tokens over plain http to another machine
    #[arg(long)]
    pub(crate) insecure_http: bool,
}

impl Flags {
    /// Returns the server to use. A login over plain HTTP implies consent to send that login's
    /// tokens over plain HTTP.
    pub(crate) fn server(&self, logins: &Logins) -> Result<Url, Failure> {
        let text = self.server.as_deref().or(logins.current.as_deref()).unwrap_or(SERVER_DEFAULT);
        let url = Url::parse(text)?;
        let agreed = self.insecure_http || logins.servers.contains_key(url.as_str());
        check(&url, agreed)?;
        Ok(url)
    }
}

/// Refuses to send a token over plain HTTP to another machine without the user's consent, because a
/// token is equivalent to a password.
pub(crate) fn check(url: &Url, agreed: bool) -> Result<(), Failure> {
    if url.as_str().starts_with("http://") && !url.is_loopback() && !agreed {
        return Err(usage(format!(
            "{} is plain http to another machine, so others on the network could read the token: use https, or add \
            --insecure-http",
            url.as_str()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str, agreed: bool) -> bool {
        Url::parse(text).is_ok_and(|url| check(&url, agreed).is_ok())
    }

    #[test]
    fn plain_http_to_another_machine_requires_consent() {
        for here in ["http://127.0.0.1:8080", "http://127.3.2.1", "http://localhost:1", "http://[::1]:8080/x"]
        {
            assert!(allowed(here, false), "{here}");
        }
        assert!(allowed("https://quotes.example.org", false));
        for there in ["http://quotes.example.org", "http://10.0.0.1:80", "http://localhost.example.org"] {
            assert!(!allowed(there, false), "{there}");
            assert!(allowed(there, true), "{there}");
        }
    }

    #[test]
    fn an_address_with_a_user_name_is_rejected() {
        for text in
            ["http://127.0.0.1:80@example.org", "http://localhost@example.org/", "https://a@example.org"]
        {
            assert!(!allowed(text, true), "{text}");
        }
    }
}
