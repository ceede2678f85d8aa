//! Sends one request to a server, with limits on time and size, and without following redirects.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use access::Secret;
use anyhow::anyhow;
use serde_json::Value;
use ureq::http;
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};

use crate::sdk::Url;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// Maximum size of a response in bytes. The list of all connections of a full server takes three
/// megabytes.
const ANSWER_MAX: u64 = 8 << 20;
/// Names of the response headers that are read.
const READ: [&str; 7] =
    ["date", "retry-after", "x-next", "x-ratelimit-limit", "x-quota-limit", "x-quota-used", "x-quota-reset"];
const HEADER_MAX: usize = 100;
/// User agent of the command-line client.
const AGENT: &str = concat!("cli/", env!("CARGO_PKG_VERSION"));

/// Command name of this process, sent to servers so that operators can distinguish programs.
static COMMAND: OnceLock<String> = OnceLock::new();

/// Sets the command name of this process. Only the first call has an effect.
pub(crate) fn announce(command: String) {
    COMMAND.set(command).ok();
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        }
    }
}

/// HTTP request. `Debug` is not implemented, because the request contains a token.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) bearer: Option<Secret>,
    pub(crate) region: Option<&'static str>,
    pub(crate) accept: &'static str,
    pub(crate) body: Option<Body>,
}

pub(crate) enum Body {
    Json(Value),
    Form(Vec<(&'static str, Secret)>),
}

impl Request {
    pub(crate) fn new(method: Method, url: String) -> Request {
        Request { method, url, bearer: None, region: None, accept: "application/json", body: None }
    }

    pub(crate) fn form(url: String, fields: &[(&'static str, &str)]) -> Request {
        let fields = fields.iter().map(|(name, value)| (*name, Secret::new((*value).to_owned()))).collect();
        Request { body: Some(Body::Form(fields)), ..Request::new(Method::Post, url) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

/// Response headers, limited to the names in [`READ`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(&'static str, String)>);

impl Headers {
    fn of(all: &http::HeaderMap) -> Headers {
        let read = |name: &'static str| {
            let text = all.get(name)?.to_str().ok().filter(|text| text.len() <= HEADER_MAX)?;
            Some((name, text.to_owned()))
        };
        Headers(READ.into_iter().filter_map(read).collect())
    }

    #[cfg(test)]
    pub(crate) fn with(pairs: &[(&'static str, &str)]) -> Headers {
        Headers(pairs.iter().map(|(name, text)| (*name, (*text).to_owned())).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

impl Answer {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns whether the response is a TLS port's error for a plain HTTP request. The port may
    /// belong to a proxy, so the wording of other servers is recognised as well.
    fn wants_tls(&self) -> bool {
        const WORDS: [&str; 4] = ["write https://", "https port", "https server", "https scheme"];
        let text = String::from_utf8_lossy(&self.body).to_ascii_lowercase();
        self.status == 400 && WORDS.iter().any(|words| text.contains(words))
    }
}

/// Returns a field of a JSON document, or null if it is absent.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    value.get(name).unwrap_or(&NULL)
}

/// Moves a field out of a document, which avoids a copy of a long response. Null if the field is
/// absent.
pub(crate) fn taken(mut body: Value, name: &str) -> Value {
    body.get_mut(name).map(Value::take).unwrap_or_default()
}

/// Sends HTTP requests. An error means that there was no response; an error status is returned as a
/// response.
pub(crate) trait Http {
    fn send(&self, request: &Request) -> anyhow::Result<Answer>;
}

/// Sends requests over the network.
#[derive(Debug)]
pub(crate) struct Network {
    agent: ureq::Agent,
    within: Duration,
    /// Whether the server is on this machine.
    is_here: bool,
}

impl Network {
    pub(crate) fn to(url: &Url) -> Network {
        Network::within(url, ANSWER_WITHIN)
    }

    /// Creates a client with the given response timeout. Probes use a short timeout.
    pub(crate) fn within(url: &Url, answer: Duration) -> Network {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            // A private certificate authority is often installed only in the operating system's
            // trust store.
            .root_certs(RootCerts::PlatformVerifier)
            .build();
        let mut config = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            // The token must be sent only to the named server, not to the target of a redirect.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT_WITHIN.min(answer)))
            .timeout_global(Some(answer))
            .user_agent(AGENT);
        let is_here = url.is_loopback();
        if is_here {
            // Requests to a local server never use a proxy.
            config = config.proxy(None);
        }
        Network { agent: config.build().new_agent(), within: answer, is_here }
    }
}

impl Http for Network {
    fn send(&self, request: &Request) -> anyhow::Result<Answer> {
        let method = request.method.as_str();
        let mut head =
            http::Request::builder().method(method).uri(&request.url).header("accept", request.accept);
        if let Some(command) = COMMAND.get() {
            head = head.header("x-cli-cmd", command);
        }
        if let Some(token) = &request.bearer {
            let value = Some(token.expose()).filter(|token| is_token(token));
            let value = value.and_then(|token| http::HeaderValue::from_str(&format!("Bearer {token}")).ok());
            let mut value = value
                .ok_or_else(|| anyhow!("the access token cannot be sent: it contains invalid characters"))?;
            value.set_sensitive(true);
            head = head.header("authorization", value);
        }
        if let Some(region) = request.region {
            head = head.header("x-dc-region", region);
        }
        let unreachable = |error: ureq::Error| self.unreachable(&request.url, &error);
        let mut response = match &request.body {
            None => self.agent.run(head.body(())?),
            Some(Body::Json(value)) => self
                .agent
                .run(head.header("content-type", "application/json").body(value.to_string().into_bytes())?),
            Some(Body::Form(fields)) => {
                let mut form = form_urlencoded::Serializer::new(String::new());
                form.extend_pairs(fields.iter().map(|(name, value)| (*name, value.expose())));
                let head = head.header("content-type", "application/x-www-form-urlencoded");
                self.agent.run(head.body(form.finish().into_bytes())?)
            }
        }
        .map_err(unreachable)?;
        let status = response.status().as_u16();
        if (300..400).contains(&status) {
            let to =
                response.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            let to = crate::output::printable(&to.chars().take(200).collect::<String>());
            return Err(anyhow!(
                "{} redirects to {to}: name that server with --server",
                origin(&request.url)
            ));
        }
        let headers = Headers::of(response.headers());
        let body = response.body_mut().with_config().limit(ANSWER_MAX).read_to_vec().map_err(unreachable)?;
        let answer = Answer { status, headers, body };
        if let Some(rest) = origin(&request.url).strip_prefix("http://")
            && answer.wants_tls()
        {
            return Err(anyhow!("http://{rest} accepts only TLS: write https://{rest}"));
        }
        Ok(answer)
    }
}

impl Network {
    /// Converts an error without a response into a message with advice. The cause is included only
    /// as text, because a broken connection must not be mistaken for a closed stdout, which is not
    /// a failure.
    fn unreachable(&self, url: &str, error: &ureq::Error) -> anyhow::Error {
        let tls = match error {
            ureq::Error::Rustls(error) => Some(error),
            ureq::Error::Io(error) => error.get_ref().and_then(|error| error.downcast_ref()),
            _ => None,
        };
        let origin = origin(url);
        let why = match (error, tls) {
            (_, Some(rustls::Error::InvalidMessage(_))) if self.is_here => {
                format!("the port does not use TLS: write {}", origin.replacen("https:", "http:", 1))
            }
            (_, Some(error)) => untrusted(error),
            (ureq::Error::Timeout(of), _) => {
                let within = match of {
                    ureq::Timeout::Connect => CONNECT_WITHIN.min(self.within),
                    _ => self.within,
                };
                format!("no response within {} s: retry, or check the server", within.as_secs())
            }
            (ureq::Error::HostNotFound, _) => "unknown host name: is it spelled correctly?".to_owned(),
            (ureq::Error::Io(error), _) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "no server listens there: start it, or name another with --server".to_owned()
            }
            (ureq::Error::Io(error), _) => error.to_string(),
            (error, _) => error.to_string(),
        };
        anyhow!(why).context(format!("cannot reach {origin}"))
    }
}

/// Describes the cause of a TLS error, with advice.
fn untrusted(error: &rustls::Error) -> String {
    use rustls::{CertificateError, Error};
    let certificate = match error {
        // The advice does not suggest plain HTTP, because an attacker could have caused the error.
        Error::InvalidMessage(_) => return "the port does not use TLS: is it the right port?".to_owned(),
        Error::General(text) if text.contains("No CA certificates") => {
            return "no certificate authority is trusted: install the system's certificates (ca-certificates), or name \
                a file with some in SSL_CERT_FILE"
                .to_owned();
        }
        Error::InvalidCertificate(certificate) => certificate,
        error => return format!("TLS failed: {error}"),
    };
    match certificate {
        // The last two errors mean that a trusted authority with the same name has a different key,
        // for example after a self-signed certificate was renewed.
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate is not signed by an authority that this machine trusts: add that authority to the system's \
             certificates, or name its file in SSL_CERT_FILE"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it, if the local clock is right"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: correct the local clock, if it is wrong"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name: use a name that the certificate contains"
        }
        CertificateError::Revoked => "its certificate is revoked: it needs a new one",
        // The verifier has no variant for this error, but the error's text contains the name.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is that of an authority (CA:TRUE), not of a server: create one with CA:FALSE, as in docs/tls.md"
        }
        // Other errors contain bytes rather than a readable message.
        _ => "its certificate cannot be verified: `openssl s_client -connect HOST:PORT` shows it",
    }
    .to_owned()
}

/// Returns whether a text has the form of a token: one word of printable ASCII characters. Any
/// other text was probably not copied completely.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the scheme and authority of a URL. Used in messages, because the path may be private.
fn origin(url: &str) -> String {
    let mut parts = url.splitn(4, '/');
    let (scheme, _, authority) = (parts.next(), parts.next(), parts.next());
    format!("{}//{}", scheme.unwrap_or_default(), authority.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Starts a server that answers one request with the given bytes. The thread returns the
    /// request.
    fn answer(with: &'static [u8]) -> (Url, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::of(listener.local_addr().unwrap());
        let requests = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut text, mut room) = (String::new(), [0; 4096]);
            while !is_whole(&text) {
                let read = stream.read(&mut room).unwrap();
                text += std::str::from_utf8(&room[..read]).unwrap();
            }
            stream.write_all(with).unwrap();
            text
        });
        (url, requests)
    }

    /// Returns whether the request's head and body have been received completely.
    fn is_whole(request: &str) -> bool {
        let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        body.len() >= length.map_or(0, |length| length.parse().unwrap())
    }

    #[test]
    fn an_error_status_is_returned_as_a_response() {
        let (url, requests) =
            answer(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        let mut request =
            Request::form(format!("{}/oauth2/token", url.as_str()), &[("a", "b c&"), ("d", "z")]);
        request.region = Some("ap");
        request.bearer = Some(Secret::new("ap_token".to_owned()));
        let answer = Network::to(&url).send(&request).unwrap();
        assert_eq!(answer, Answer { status: 400, headers: Headers::default(), body: b"{}".to_vec() });
        let requests = requests.join().unwrap().to_ascii_lowercase();
        for part in [
            "post /oauth2/token http/1.1\r\n",
            "x-dc-region: ap\r\n",
            concat!("user-agent: cli/", env!("CARGO_PKG_VERSION"), "\r\n"),
            "authorization: bearer ap_token\r\n",
            "content-type: application/x-www-form-urlencoded\r\n",
            "\r\n\r\na=b+c%26&d=z",
        ] {
            assert!(requests.contains(part), "{part:?} is not in {requests:?}");
        }
    }

    #[test]
    fn a_redirect_is_not_followed() {
        let (url, requests) =
            answer(b"HTTP/1.1 302 Found\r\nlocation: https://example.org/\x1b\r\ncontent-length: 0\r\n\r\n");
        let error = Network::to(&url).send(&Request::new(Method::Get, url.as_str().to_owned())).unwrap_err();
        requests.join().unwrap();
        let text = error.to_string();
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert!(text.contains("--server") || text.contains("cannot reach"), "{text}");
    }

    #[test]
    fn an_oversized_response_is_an_error() {
        let (url, requests) = answer(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\nx");
        Network::to(&url).send(&Request::new(Method::Get, url.as_str().to_owned())).unwrap_err();
        requests.join().unwrap();
    }

    #[test]
    fn a_connection_error_does_not_show_the_request_path() {
        // No process listens on this port, and the system does not assign it to other tests.
        let url = Url::of(std::net::SocketAddr::from(([127, 0, 0, 1], 1)));
        let request = Request::new(Method::Delete, format!("{}/v1/connections/secret", url.as_str()));
        let error = Network::to(&url).send(&request).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot reach {}", url.as_str()));
    }
}
