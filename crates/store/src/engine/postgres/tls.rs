//! TLS connections to a server, always with a verified certificate.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Roots;
use super::read_file;

/// Maximum size of a certificate file, in bytes. A bundle of all public authorities has about 250
/// kB.
const ROOTS_BYTES_MAX: u64 = 4 << 20;

/// Creates a connector that trusts the given certificate authorities. The error is a user-facing
/// message.
pub(super) fn connector(roots: &Roots) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = match roots {
        Roots::File(path) => builder.with_root_certificates(read(path)?).with_no_client_auth(),
        // The platform verifier is used, because a private authority is often installed only in the
        // system's trust store.
        Roots::System => {
            let verifier = Verifier::new(provider).map_err(|_| {
                "no authority is trusted here: install the certificates of the system (ca-certificates), or name a file with \
                 `sslrootcert=PATH`"
                    .to_owned()
            })?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn read(path: &Path) -> Result<RootCertStore, String> {
    let bytes = read_file(path, ROOTS_BYTES_MAX)?;
    let found = CertificateDer::pem_slice_iter(&bytes).collect::<Result<Vec<_>, pem::Error>>();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.unwrap_or_default());
    match added {
        0 => Err(format!(
            "{} has no certificate of an authority: name a PEM file with `sslrootcert=PATH`",
            path.display()
        )),
        _ => Ok(roots),
    }
}

/// Returns a message with advice if an error was caused by TLS, otherwise `None`. The message never
/// suggests disabling TLS, because an attacker could have caused the error.
pub(super) fn untrusted(error: &(dyn Error + 'static)) -> Option<String> {
    let found = cause(error)?;
    let rustls::Error::InvalidCertificate(certificate) = found else {
        return Some(format!("TLS failed: {found}"));
    };
    let words = match certificate {
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its certificate is not signed by an authority that is trusted here: name the authority's file with `sslrootcert=PATH`"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it there, if the local clock is right"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: set the local clock, if that of the server is right"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name: write a host that the certificate names"
        }
        other => return Some(format!("its certificate is not accepted: {other}")),
    };
    Some(words.to_owned())
}

fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        let describe = |path: &Path| connector(&Roots::File(path.to_owned())).err().unwrap();
        assert!(describe(&path).starts_with("cannot read "), "{}", describe(&path));
        for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            std::fs::write(&path, text).unwrap();
            assert!(describe(&path).contains("has no certificate of an authority"), "{}", describe(&path));
        }
    }

    #[test]
    fn untrusted_certificates_and_broken_connections_are_distinguished() {
        let of = |error: rustls::Error| untrusted(&io::Error::new(io::ErrorKind::InvalidData, error));
        let report = of(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)).unwrap();
        assert!(report.contains("sslrootcert=PATH"), "{report}");
        let report = of(rustls::Error::InvalidCertificate(CertificateError::NotValidForName)).unwrap();
        assert!(report.contains("another name"), "{report}");
        assert_eq!(untrusted(&io::Error::from(io::ErrorKind::ConnectionReset)), None);
    }
}
