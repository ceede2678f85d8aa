//! TLS on the HTTP and WebSocket listeners, with certificates created for each test.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use access::{Created, Terms};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use server::{Settings, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wire::quote;

use crate::support::{Client, PATIENCE, Response, Running, pass};

const NAME: &str = "candles.example.com";

/// The files of a self-signed certificate and its key.
struct Pair {
    files: TlsFiles,
    certificate: CertificateDer<'static>,
    _dir: tempfile::TempDir,
}

impl Pair {
    fn new() -> Pair {
        let dir = tempfile::tempdir().unwrap();
        let files = TlsFiles { certificate: dir.path().join("cert.pem"), key: dir.path().join("key.pem") };
        let certificate = write(&files);
        Pair { files, certificate, _dir: dir }
    }

    fn settings(&self) -> Settings {
        Settings { tls: Some(self.files.clone()), ..Settings::default() }
    }

    /// Replaces both files with a new pair.
    fn renew(&mut self) {
        self.certificate = write(&self.files);
    }
}

fn write(files: &TlsFiles) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(vec![NAME.to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    made.cert.der().clone()
}

/// Connects as a client that trusts only this certificate.
async fn connect(at: SocketAddr, trusted: &CertificateDer<'static>) -> std::io::Result<TlsStream<TcpStream>> {
    connect_with(at, trusted, rustls::DEFAULT_VERSIONS).await
}

async fn connect_with(
    at: SocketAddr,
    trusted: &CertificateDer<'static>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(at).await.unwrap();
    let name = ServerName::try_from(NAME).unwrap();
    timeout(PATIENCE, TlsConnector::from(Arc::new(config)).connect(name, stream)).await.unwrap()
}

/// Sends one request and leaves the connection open.
async fn get(stream: &mut TlsStream<TcpStream>, path: &str, head: &str) -> Response {
    let request = format!("GET {path} HTTP/1.1\r\nhost: {NAME}\r\n{head}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let whole = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        Some(body.len() >= length.parse().unwrap())
    };
    while whole(&bytes) != Some(true) {
        let mut part = [0; 4096];
        let length = timeout(PATIENCE, stream.read(&mut part)).await.unwrap().unwrap();
        assert_ne!(length, 0, "the connection has ended");
        bytes.extend_from_slice(&part[..length]);
    }
    Response::parse(request.as_bytes(), &bytes)
}

fn bearer(account: &Created) -> String {
    format!("authorization: Bearer {}\r\n", account.access_token.expose())
}

#[tokio::test]
async fn http_is_served_over_tls_1_2_and_1_3_only() {
    let pair = Pair::new();
    let server = Running::start_with(pair.settings()).await;
    let ann = server.account("ann", Terms::default());
    for version in rustls::ALL_VERSIONS {
        let mut stream = connect_with(server.addresses.http, &pair.certificate, &[version]).await.unwrap();
        let (_, connection) = stream.get_ref();
        assert_eq!(connection.protocol_version(), Some(version.version));
        assert_eq!(connection.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert_eq!(get(&mut stream, "/healthz", "").await.text(), "ok\n");
        assert_eq!(get(&mut stream, "/v1/quota", &bearer(&ann)).await.status, 200);
    }
    let other = Pair::new();
    connect(server.addresses.http, &other.certificate).await.expect_err("a certificate that nobody trusts");
}

#[tokio::test]
async fn regional_listeners_use_tls_but_the_internal_listener_does_not() {
    let pair = Pair::new();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let settings =
        Settings { regional: vec![(access::Region::Us, any)], internal: Some(any), ..pair.settings() };
    let server = Running::start_with(settings).await;
    let mut stream = connect(server.regional[0].1, &pair.certificate).await.unwrap();
    assert_eq!(get(&mut stream, "/health", "").await.text(), "success");
    let status = server.http_to(server.internal.unwrap(), "GET", "/status", "", b"").await.json();
    assert_eq!(status["tls"]["names"], serde_json::json!([NAME, "127.0.0.1"]));
    let tls: Vec<bool> =
        status["listeners"].as_array().unwrap().iter().map(|one| one["tls"].as_bool().unwrap()).collect();
    assert_eq!(tls, [true, false, true, false]);
}

#[tokio::test]
async fn a_connection_is_counted_during_the_handshake() {
    let pair = Pair::new();
    let internal = Some("127.0.0.1:0".parse().unwrap());
    let server = Running::start_with(Settings { internal, ..pair.settings() }).await;
    let counted = async |wanted: u64| {
        let until = async {
            loop {
                let status = server.http_to(server.internal.unwrap(), "GET", "/status", "", b"").await.json();
                let connections = &status["connections"];
                if connections["handshake"] == wanted && connections["http"] == 0 {
                    return;
                }
            }
        };
        timeout(PATIENCE, until).await.expect("the number within the time allowed");
    };
    let silent = TcpStream::connect(server.addresses.http).await.unwrap();
    counted(1).await;
    drop(silent);
    counted(0).await;
}

#[tokio::test]
async fn long_responses_are_sent_over_a_tls_websocket() {
    let pair = Pair::new();
    let server = Running::start_with(pair.settings()).await;
    let ann = server.account("ann", Terms { rate: Some(access::RateRule::Unlimited), ..Terms::default() });
    let mut stream = connect(server.addresses.http, &pair.certificate).await.unwrap();
    let answer = get(&mut stream, "/v1/socket/token", &bearer(&ann)).await.json();
    let otp = answer["data"]["otp"].as_str().unwrap().to_owned();
    let request = format!(
        "GET /v2 HTTP/1.1\r\nhost: {NAME}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "));
    let mut client = Client { stream, websocket: true, next_id: 1 };
    client.sign_in(&otp, &[("accept-language", "en")]).await;
    let minutes = quote::SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1,
        count: 1000,
        ..Default::default()
    };
    // The client sends many concurrent requests and reads late, so that the connection has to
    // buffer the responses.
    for _ in 0..40 {
        client.request(19, &minutes).await;
    }
    for _ in 0..40 {
        let (_, answer) = client.response().await;
        let answer =
            <quote::SecurityCandlestickResponse as prost::Message>::decode(&*answer.unwrap()).unwrap();
        assert_eq!(answer.candlesticks.len(), 1000);
    }
    assert!(client.is_alive().await);
}

#[tokio::test]
async fn a_renewed_certificate_applies_to_new_connections() {
    let mut pair = Pair::new();
    let server = Running::start_with(pair.settings()).await;
    let before = pair.certificate.clone();
    let mut old = connect(server.addresses.http, &before).await.unwrap();
    assert_eq!(get(&mut old, "/healthz", "").await.status, 200);
    pair.renew();
    assert!(server.reloader.reload());
    let until = async { while connect(server.addresses.http, &pair.certificate).await.is_err() {} };
    timeout(PATIENCE, until).await.expect("the new certificate within the time allowed");
    connect(server.addresses.http, &before).await.expect_err("the old one is not shown any more");
    assert_eq!(get(&mut old, "/healthz", "").await.status, 200);
}

#[tokio::test]
async fn changed_certificate_files_are_reloaded() {
    let mut pair = Pair::new();
    let server = Running::start_with(pair.settings()).await;
    // Once the server accepts connections, it also watches the certificate files.
    connect(server.addresses.http, &pair.certificate).await.unwrap();
    pair.renew();
    // A different length is detected as a change, regardless of the modification time.
    let mut text = std::fs::read_to_string(&pair.files.certificate).unwrap();
    text.push_str("\n\n");
    std::fs::write(&pair.files.certificate, text).unwrap();
    let at = server.addresses.http;
    pass(31).await;
    let until = async { while connect(at, &pair.certificate).await.is_err() {} };
    timeout(PATIENCE, until).await.expect("the new certificate within the time allowed");
}

#[tokio::test]
async fn a_broken_certificate_pair_is_not_loaded() {
    let mut pair = Pair::new();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let server = Running::start_with(Settings { internal: Some(any), ..pair.settings() }).await;
    let before = pair.certificate.clone();
    let reloads = async |outcome: &str| {
        let text = server.http_to(server.internal.unwrap(), "GET", "/metrics", "", b"").await;
        let name = format!("chandler_tls_reloads_total{{outcome=\"{outcome}\"}} ");
        let line = text.text().lines().find_map(|line| line.strip_prefix(&name).map(str::to_owned));
        line.unwrap().parse::<u32>().unwrap()
    };
    std::fs::write(&pair.files.key, "not a key").unwrap();
    server.reloader.reload();
    timeout(PATIENCE, async { while reloads("failed").await == 0 {} }).await.unwrap();
    connect(server.addresses.http, &before).await.unwrap();
    pair.renew();
    server.reloader.reload();
    timeout(PATIENCE, async { while reloads("ok").await == 0 {} }).await.unwrap();
    connect(server.addresses.http, &pair.certificate).await.unwrap();
}

/// Starts a server with an invalid pair and returns the error.
async fn refused(certificate: &Path, key: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    store::Store::open(dir.path(), store::Access::Write { now: crate::support::NOW }).unwrap();
    let store = store::Store::open(dir.path(), store::Access::Read).unwrap();
    let history = history::History::new(market::Venues::built_in().unwrap());
    let access = access::Access::open(dir.path(), crate::support::NOW).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let tls = Some(TlsFiles { certificate: certificate.to_owned(), key: key.to_owned() });
    let settings = Settings { listen: any, tcp: any, tls, ..Settings::default() };
    let now: server::Clock = Arc::new(|| crate::support::NOW);
    let market = Arc::new(|| history::AsOf::Replay(crate::support::NOW));
    let bound = server::Server::bind(&settings, store, history, access, market, now).await;
    bound.expect_err("a pair that is not good").to_string()
}

#[tokio::test]
async fn an_invalid_certificate_pair_is_refused_at_startup() {
    let (one, other) = (Pair::new(), Pair::new());
    let (certificate, key) = (&one.files.certificate, &one.files.key);
    let text = refused(certificate, &other.files.key).await;
    assert!(
        text.starts_with("cannot speak TLS: the key in ") && text.contains("does not match the certificate"),
        "{text}"
    );
    let text = refused(key, key).await;
    assert!(text.contains("has no certificate"), "{text}");
    let text = refused(certificate, certificate).await;
    assert!(text.contains("has no private key"), "{text}");
    let text = refused(&PathBuf::from("/nowhere/cert.pem"), key).await;
    assert!(text.contains("cannot read /nowhere/cert.pem"), "{text}");
    let large = one.files.key.with_file_name("large.pem");
    std::fs::write(&large, vec![b'x'; 2 << 20]).unwrap();
    let text = refused(&large, key).await;
    assert!(text.contains("larger than a megabyte"), "{text}");
}

#[tokio::test]
async fn clients_without_a_tls_handshake_are_closed() {
    let pair = Pair::new();
    let server = Running::start_with(pair.settings()).await;
    let at = server.addresses.http;
    let mut plain = TcpStream::connect(at).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").await.unwrap();
    plain.shutdown().await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, plain.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("this port speaks TLS"), "{answer}");
    let mut noise = TcpStream::connect(at).await.unwrap();
    noise.write_all(&[0; 64]).await.unwrap();
    let mut rest = Vec::new();
    // The server closes or resets the connection.
    timeout(PATIENCE, noise.read_to_end(&mut rest)).await.unwrap().ok();
    assert!(rest.is_empty(), "{rest:?}");
    // One client is silent from the start, and the other stops in the middle of a ClientHello.
    let (mut silent, mut slow) =
        (TcpStream::connect(at).await.unwrap(), TcpStream::connect(at).await.unwrap());
    slow.write_all(&[0x16, 0x03, 0x01, 0x02]).await.unwrap();
    assert_eq!(get(&mut connect(at, &pair.certificate).await.unwrap(), "/healthz", "").await.status, 200);
    pass(6).await;
    for stream in [&mut silent, &mut slow] {
        let mut rest = Vec::new();
        timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the connection ends").ok();
        assert!(rest.is_empty());
    }
}

#[tokio::test]
async fn links_use_https() {
    let pair = Pair::new();
    let server = Running::start_with(pair.settings()).await;
    let mut stream = connect(server.addresses.http, &pair.certificate).await.unwrap();
    let metadata = get(&mut stream, "/.well-known/oauth-authorization-server", "").await.json();
    assert_eq!(metadata["issuer"], format!("https://{NAME}"));
    let page = get(&mut stream, "/signin", "").await;
    assert!(page.cookies.iter().all(|cookie| cookie.starts_with("__Host-") && cookie.contains("; Secure")));
    assert!(!page.cookies.is_empty(), "{page:?}");
}
