//! Reads the names and validity dates of a certificate. Trust is not verified, because that is the
//! client's task.

use std::fmt;
use std::net::IpAddr;

use market::Timestamp;
use x509_parser::prelude::{ASN1Time, FromDer, GeneralName, Validity, X509Certificate};

/// Maximum number of names listed; a certificate may have hundreds.
const NAMES_MAX: usize = 100;
const NAME_MAX: usize = 255;
/// Time before expiry at which a warning is reported, in seconds.
const WARNING_S: i64 = 14 * 86_400;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Host names and IP addresses, in certificate order.
    pub names: Vec<String>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// A current or imminent problem with a certificate's validity dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    Ended(Timestamp),
    /// The certificate is not valid yet.
    Early(Timestamp),
    EndsSoon(Timestamp),
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Concern::Ended(at) => write!(f, "the certificate expired at {at}"),
            Concern::Early(at) => write!(f, "the certificate is not valid before {at}"),
            Concern::EndsSoon(at) => write!(f, "the certificate expires at {at}"),
        }
    }
}

impl Certificate {
    /// Parses a DER certificate. Returns `None` if the bytes are not a certificate.
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

    /// Returns a problem with the validity dates at `now`, or `None` if the certificate is valid
    /// for at least two more weeks.
    pub fn concern(&self, now: Timestamp) -> Option<Concern> {
        let left = self.not_after.0.saturating_sub(now.0);
        if left <= 0 {
            Some(Concern::Ended(self.not_after))
        } else if self.not_before > now {
            Some(Concern::Early(self.not_before))
        } else {
            (left <= WARNING_S).then_some(Concern::EndsSoon(self.not_after))
        }
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => is_name(name).then(|| (*name).to_owned()),
        GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
        _ => None,
    }
}

/// Returns whether `text` has only characters that are allowed in host names, so that arbitrary
/// certificate content is never echoed.
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
    fn names_and_validity_dates_are_read() {
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
    fn a_concern_is_reported_before_validity_after_expiry_and_two_weeks_ahead() {
        let certificate =
            Certificate { names: Vec::new(), not_before: Timestamp(1_000), not_after: Timestamp(9_000_000) };
        let concern = |now| certificate.concern(Timestamp(now));
        assert_eq!(concern(999), Some(Concern::Early(Timestamp(1_000))));
        assert_eq!(concern(1_000), None);
        assert_eq!(concern(9_000_000 - WARNING_S - 1), None);
        assert_eq!(concern(9_000_000 - WARNING_S), Some(Concern::EndsSoon(Timestamp(9_000_000))));
        assert_eq!(concern(9_000_000), Some(Concern::Ended(Timestamp(9_000_000))));
        // A certificate whose validity ends before it begins is reported as expired.
        let never = Certificate { not_after: Timestamp(900), ..certificate };
        assert_eq!(never.concern(Timestamp(950)), Some(Concern::Ended(Timestamp(900))));
    }

    #[test]
    fn truncated_or_corrupted_bytes_never_panic() {
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
