//! Requests the one-time password of a connection over HTTP.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use ureq::http;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

use crate::error::clipped;
use crate::{Addresses, Credentials, SecretText, SourceError, USER_AGENT};

const PATH: &str = "/v1/socket/token";
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Maximum size of the response in bytes.
const ANSWER_MAX: u64 = 64 << 10;

/// A one-time password, which signs in one connection.
#[derive(Clone, Debug)]
pub struct OneTimePassword {
    pub(crate) text: SecretText,
    /// Number of open connections of the account.
    pub online: i64,
    /// Maximum number of connections of the account.
    pub limit: i64,
}

#[derive(Deserialize)]
struct Envelope {
    code: i64,
    #[serde(default)]
    message: String,
    data: Option<Password>,
}

#[derive(Deserialize)]
struct Password {
    otp: String,
    #[serde(default)]
    online: i64,
    #[serde(default)]
    limit: i64,
}

/// Requests a one-time password. `now_ms` is the current time in Unix milliseconds.
pub fn one_time_password(
    addresses: &Addresses,
    credentials: &Credentials,
    now_ms: i64,
) -> Result<OneTimePassword, SourceError> {
    let url = format!("{}{PATH}", addresses.http());
    // A proxy may serve the API under a path prefix. The signed path includes it.
    let path = url.splitn(4, '/').nth(3).map_or_else(|| PATH.to_owned(), |path| format!("/{path}"));
    let mut request = http::Request::get(&url).header("accept", "application/json");
    for (name, value) in credentials.headers(&path, now_ms)? {
        let mut value = http::HeaderValue::from_str(value.expose())
            .map_err(|_| SourceError::invalid("a header cannot be sent"))?;
        value.set_sensitive(true);
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| SourceError::unreachable(&url, error))?;
    let unreachable = |error: ureq::Error| SourceError::unreachable(addresses.http(), error);
    let mut response = agent(addresses).run(request).map_err(unreachable)?;
    let status = response.status().as_u16();
    let body = response.body_mut().with_config().limit(ANSWER_MAX).read_to_vec().map_err(unreachable)?;
    read(status, &body)
}

fn read(status: u16, body: &[u8]) -> Result<OneTimePassword, SourceError> {
    let envelope: Option<Envelope> = serde_json::from_slice(body).ok();
    let message = envelope.as_ref().map(|envelope| clipped(&envelope.message)).unwrap_or_default();
    let code = envelope.as_ref().map_or(0, |envelope| envelope.code);
    match (status, envelope.and_then(|envelope| envelope.data)) {
        (200, Some(Password { otp, online, limit })) if code == 0 && !otp.is_empty() => {
            if limit > 0 && online >= limit {
                return Err(SourceError::ConnectionsFull { online, limit });
            }
            Ok(OneTimePassword { text: SecretText::new(otp), online, limit })
        }
        (401 | 403, _) => Err(SourceError::Credentials { code, message }),
        (200, _) if (401_000..404_000).contains(&code) => Err(SourceError::Credentials { code, message }),
        _ => Err(SourceError::invalid(format!("status {status}, code {code} for {PATH}: {message}"))),
    }
}

fn agent(addresses: &Addresses) -> ureq::Agent {
    let tls = TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        // A private certificate authority is often installed only in the system's trust store.
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    let mut config = ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        // The credentials must be sent only to the given server.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(CONNECT_WITHIN))
        .timeout_global(Some(ANSWER_WITHIN))
        .user_agent(USER_AGENT);
    if addresses.is_loopback() {
        config = config.proxy(None);
    }
    config.build().new_agent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_classified_by_status_and_code() {
        let good = br#"{"code":0,"message":"","data":{"otp":"x","limit":10,"online":1}}"#;
        assert_eq!(read(200, good).unwrap().limit, 10);
        let full = br#"{"code":0,"message":"","data":{"otp":"x","limit":10,"online":10}}"#;
        assert!(matches!(read(200, full), Err(SourceError::ConnectionsFull { online: 10, limit: 10 })));
        let refused = br#"{"code":401004,"message":"invalid\ttoken","data":null}"#;
        let error = read(401, refused).unwrap_err();
        assert!(error.is_permanent());
        assert_eq!(error.to_string(), "the server refuses the credentials: invalidtoken (code 401004)");
        for (status, body) in [(200, &b"{}"[..]), (200, b"no"), (500, b"{}"), (302, b""), (429, refused)] {
            let error = read(status, body).unwrap_err();
            assert!(!error.is_permanent(), "{status} {error}");
        }
    }
}
