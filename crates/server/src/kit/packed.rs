//! Compresses long texts with gzip if the client accepts gzip. A thousand candles as JSON shrink to
//! a quarter. Binary formats are already compressed, and byte ranges refer to uncompressed bytes,
//! so neither is compressed.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::Full;
use hyper::header::{ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, ETAG, HeaderMap, HeaderValue};

use super::call::Answer;
use crate::preferences::preferences;

/// Minimum size to compress, in bytes. Shorter texts fit into one or two network packets.
const BYTES_MIN: usize = 4 << 10;

/// Returns whether a client accepts gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    preferences(lines).any(|coding| {
        let is_gzip = ["gzip", "x-gzip", "*"].iter().any(|name| coding.value.eq_ignore_ascii_case(name));
        is_gzip && coding.weight != Some(0)
    })
}

/// Compresses a complete response if its text is long enough.
pub(crate) fn packed(answer: Answer, text: &Bytes) -> Answer {
    let Some(packed) = (text.len() >= BYTES_MIN).then(|| pack(text).ok()).flatten() else { return answer };
    let (mut parts, _) = answer.into_parts();
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    // The ETag and ranges refer to the uncompressed bytes.
    parts.headers.remove(ACCEPT_RANGES);
    parts.headers.remove(ETAG);
    Answer::from_parts(parts, Full::new(packed))
}

fn pack(text: &[u8]) -> io::Result<Bytes> {
    // Higher compression levels save another tenth but take three times as long.
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 3), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::envelope;
    use super::*;

    #[test]
    fn gzip_is_used_only_if_accepted() {
        for (value, takes) in [
            ("gzip, deflate, br, zstd", true),
            ("GZIP;q=0.5", true),
            ("*", true),
            ("br", false),
            ("gzip;q=0, br", false),
            ("identity", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), takes, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn compressed_text_round_trips() {
        let text = Bytes::from("candle ".repeat(10_000));
        let bytes = pack(&text).unwrap();
        assert!(bytes.len() * 4 < text.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, text);
    }

    #[test]
    fn a_short_text_is_not_compressed() {
        let text = Bytes::from_static(b"{}");
        let answer = packed(envelope::json(200, text.clone()), &text);
        assert!(!answer.headers().contains_key(CONTENT_ENCODING));
    }
}
