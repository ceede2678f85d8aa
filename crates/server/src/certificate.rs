//! What there is to tell of a certificate: whom it is for and until when. Whether it is any good is for clients to judge.

use std::net::IpAddr;

use market::Timestamp;
use x509_parser::prelude::{ASN1Time, FromDer, GeneralName, Validity, X509Certificate};

/// Names told of at most; a certificate may have hundreds.
const NAMES_MAX: usize = 100;
const NAME_MAX: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// Host names and addresses, in the certificate's order.
    pub(crate) names: Vec<String>,
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
}

impl Certificate {
    /// `None` if the bytes are no certificate.
    pub(crate) fn read(der: &[u8]) -> Option<Certificate> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let at = |time: ASN1Time| Timestamp(time.timestamp());
        let Validity { not_before, not_after } = certificate.validity;
        let alternative = certificate.subject_alternative_name().ok().flatten();
        let names = alternative.iter().flat_map(|names| &names.value.general_names).filter_map(name);
        Some(Certificate {
            names: names.take(NAMES_MAX).collect(),
            not_before: at(not_before),
            not_after: at(not_after),
        })
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => is_name(name).then(|| (*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

/// Whatever else a file holds under the name of a name is not repeated.
fn is_name(text: &str) -> bool {
    text.len() <= NAME_MAX && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._*".contains(&byte))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::from(four));
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(names: &[&str]) -> Vec<u8> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = rcgen::CertificateParams::new(names).unwrap();
        parameters.not_before = rcgen::date_time_ymd(2025, 1, 2);
        parameters.not_after = rcgen::date_time_ymd(2061, 3, 4);
        let key = rcgen::KeyPair::generate().unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_and_times_are_read_in_both_forms() {
        let read =
            Certificate::read(&made(&["candles.example.com", "*.example.org", "10.0.0.7", "::1"])).unwrap();
        assert_eq!(read.names, ["candles.example.com", "*.example.org", "10.0.0.7", "::1"]);
        assert_eq!(read.not_before.to_string(), "2025-01-02T00:00:00Z");
        assert_eq!(read.not_after.to_string(), "2061-03-04T00:00:00Z");
    }

    #[test]
    fn a_certificate_without_names_has_none() {
        assert_eq!(Certificate::read(&made(&[])).unwrap().names, Vec::<String>::new());
    }

    #[test]
    fn whatever_is_cut_or_changed_is_no_certificate_or_another_and_never_a_fault() {
        let whole = made(&["candles.example.com"]);
        for end in 0..whole.len() {
            assert_eq!(Certificate::read(&whole[..end]), None);
        }
        for at in 0..whole.len() {
            for change in [0x00, 0x7f, 0x80, 0x84, 0xff] {
                let mut other = whole.clone();
                other[at] = change;
                Certificate::read(&other);
            }
        }
    }
}
