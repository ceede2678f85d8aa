//! TLS on the HTTP and WebSocket listeners: the certificate, the handshake, and reloading the files
//! while connections stay open. Raw TCP has no TLS, because its clients do not support it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::certificate::Certificate;
use crate::metrics::{Handshake, Metrics, Reload};

/// Handshake timeout.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);
/// Maximum file size in bytes. A certificate chain has a few kilobytes.
const FILE_MAX: u64 = 1 << 20;
/// First byte of a TLS handshake record. No HTTP method begins with this byte.
const HANDSHAKE_RECORD: u8 = 0x16;
const PLAIN: &str = "this port speaks TLS: write https:// or wss://\n";

/// Paths of the certificate and key files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM file with the server certificate first, followed by the chain up to the root.
    pub certificate: PathBuf,
    /// PEM file with the unencrypted private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Reads and validates the files as a server would. Returns the certificate that the server
    /// would present.
    pub fn check(&self) -> Result<Certificate, TlsError> {
        load(self).map(|shown| shown.certificate)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is larger than a megabyte: name a PEM file", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} has no certificate: name a PEM file with the server's certificate first", path.display())]
    NoCertificate { path: PathBuf },
    #[error("{} has no private key that can be read: name a PEM file without a password", path.display())]
    NoKey { path: PathBuf },
    #[error("the key in {} does not match the certificate in {}", key.display(), certificate.display())]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error("the certificate in {} cannot be used: {source}", path.display())]
    Unusable { path: PathBuf, source: rustls::Error },
    #[error("the files are unchanged since they were rejected: {reason}")]
    StillBroken { reason: String },
}

/// The certificate presented to new connections, ready for handshakes.
#[derive(Debug)]
struct ShownCertificate {
    config: Arc<ServerConfig>,
    certificate: Certificate,
}

/// Length and modification time of each file, used to detect changes.
type FileStamps = [Option<(u64, Option<SystemTime>)>; 2];

#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    shown: RwLock<Arc<ShownCertificate>>,
    /// Stamps of the files that were last read, whether or not these were valid.
    marks: Mutex<FileStamps>,
    /// Why the files last read are invalid, or `None` if they are valid.
    broken: Mutex<Option<String>>,
    demand: Arc<Notify>,
}

impl Tls {
    pub(crate) fn open(files: TlsFiles) -> Result<Tls, TlsError> {
        let marks = marks(&files);
        let shown = RwLock::new(Arc::new(load(&files)?));
        if is_open_to_others(&files.key) {
            tracing::warn!(key = %files.key.display(), "the key is readable by every user of this machine: chmod o-r");
        }
        let (marks, broken) = (Mutex::new(marks), Mutex::default());
        Ok(Tls { files, shown, marks, broken, demand: Arc::new(Notify::new()) })
    }

    fn shown(&self) -> Arc<ShownCertificate> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the certificate presented to new connections.
    pub(crate) fn certificate(&self) -> Certificate {
        self.shown().certificate.clone()
    }

    /// Requests an immediate reload, even if the files have not changed. The job that waits on
    /// [`Tls::demand`] performs the reload.
    pub(crate) fn reload(&self) {
        self.demand.notify_one();
    }

    /// Returns the notifier for requests to reload immediately.
    pub(crate) fn demand(&self) -> Arc<Notify> {
        self.demand.clone()
    }

    /// Reloads the files if they have changed or `forced` is set. If the files are invalid, the
    /// current certificate stays in use and an error is returned.
    pub(crate) fn look(&self, forced: bool, metrics: &Metrics) -> Result<(), TlsError> {
        let found = marks(&self.files);
        let before = {
            let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *marks, found)
        };
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        if found == before && !forced {
            // Invalid files remain an error until the files change.
            return broken.clone().map_or(Ok(()), |reason| Err(TlsError::StillBroken { reason }));
        }
        let shown = load(&self.files).inspect_err(|error| {
            *broken = Some(error.to_string());
            metrics.reload(Reload::Failed);
        })?;
        *broken = None;
        let until = shown.certificate.not_after;
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
        metrics.reload(Reload::Ok);
        tracing::info!(certificate.not_after = %until, "new connections use the reloaded certificate");
        Ok(())
    }

    /// Performs the handshake with one client. Returns `None` if the handshake fails.
    pub(crate) async fn greet(&self, stream: TcpStream, metrics: &Metrics) -> Option<TlsStream<TcpStream>> {
        let config = self.shown().config.clone();
        let (outcome, stream) = match timeout(HANDSHAKE_WITHIN, shake(config, stream)).await {
            Ok(Ok(Some(stream))) => (Handshake::Ok, Some(stream)),
            Ok(Ok(None)) => (Handshake::Plain, None),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                (Handshake::Failed, None)
            }
            Err(_) => (Handshake::Late, None),
        };
        metrics.handshake(outcome);
        stream
    }
}

/// Performs the handshake. If the client uses plain HTTP, sends an error response and returns
/// `None`.
async fn shake(config: Arc<ServerConfig>, mut stream: TcpStream) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    stream.peek(&mut first).await?;
    if first.first().is_some_and(u8::is_ascii_alphabetic) {
        let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close";
        let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{PLAIN}", PLAIN.len());
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // Closing a socket with unread bytes sends a reset, and the client might never see the
        // response, so the bytes are read and discarded first.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
        return Ok(None);
    }
    if first != [HANDSHAKE_RECORD] {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the first byte is not that of a handshake"));
    }
    TlsAcceptor::from(config).accept(stream).await.map(Some)
}

fn marks(files: &TlsFiles) -> FileStamps {
    [&files.certificate, &files.key].map(|path| {
        let file = std::fs::metadata(path).ok()?;
        Some((file.len(), file.modified().ok()))
    })
}

fn load(files: &TlsFiles) -> Result<ShownCertificate, TlsError> {
    let TlsFiles { certificate: path, key: key_path } = files;
    let none = || TlsError::NoCertificate { path: path.clone() };
    let chain = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, pem::Error>>();
    let chain = chain.map_err(|_| none())?;
    let certificate = chain.first().and_then(|first| Certificate::read(first)).ok_or_else(none)?;
    let key = PrivateKeyDer::from_pem_slice(&read(key_path)?)
        .map_err(|_| TlsError::NoKey { path: key_path.clone() })?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let unusable = |source| TlsError::Unusable { path: path.clone(), source };
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config = config.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsError::Mismatch { certificate: path.clone(), key: key_path.clone() }
        }
        rustls::Error::InvalidCertificate(CertificateError::BadEncoding) => none(),
        // rustls reports an unusable key as a general error.
        rustls::Error::General(_) => TlsError::NoKey { path: key_path.clone() },
        error => unusable(error),
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(ShownCertificate { config: Arc::new(config), certificate })
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |source| TlsError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(TlsError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

#[cfg(unix)]
fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_open_to_others(_: &Path) -> bool {
    false
}
