//! Compressed bodies: gzip with a single member (RFC 1952).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use crate::packet::PacketError;

/// Maximum size of an inflated body in bytes. Callers can only set a lower limit.
pub const INFLATED_MAX: usize = 16 << 20;
/// Minimum size of a body to compress, in bytes. Gzip adds at least 18 bytes and costs time on both
/// sides.
pub const COMPRESS_MIN: usize = 1024;

/// Returns the compressed body, or `None` if `body` is shorter than [`COMPRESS_MIN`] or does not
/// shrink. Send the result with [`Packing::Gzip`](crate::Packing).
pub fn compress(body: &[u8]) -> Option<Vec<u8>> {
    if body.len() < COMPRESS_MIN {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok().filter(|packed| packed.len() < body.len())
}

/// Inflates a gzip body to at most `limit` bytes. Inflating stops one byte past the limit, so that
/// memory is bounded too.
pub(crate) fn inflate(packed: &[u8], limit: usize) -> Result<Vec<u8>, PacketError> {
    let limit = limit.min(INFLATED_MAX);
    let mut decoder = GzDecoder::new(packed);
    let mut body = Vec::new();
    let most = u64::try_from(limit).map_or(u64::MAX, |limit| limit.saturating_add(1));
    // Allows one byte past the limit, so that a body of exactly `limit` bytes is read to its end,
    // where the checksum is verified.
    (&mut decoder).take(most).read_to_end(&mut body).map_err(|_| PacketError::Gzip)?;
    if body.len() > limit {
        return Err(PacketError::InflatedTooLong { limit });
    }
    if !decoder.into_inner().is_empty() {
        return Err(PacketError::Gzip);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_body_is_compressed_only_if_it_shrinks() {
        assert_eq!(compress(&[7; COMPRESS_MIN - 1]), None);
        let packed = compress(&[7; COMPRESS_MIN]).unwrap();
        assert!(packed.len() < 64);
        assert_eq!(inflate(&packed, COMPRESS_MIN), Ok(vec![7; COMPRESS_MIN]));
        // Compressed random bytes do not shrink further.
        let mut state = 1u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let already = pack(&noise.take(3000).collect::<Vec<u8>>());
        assert!(already.len() > COMPRESS_MIN);
        assert_eq!(compress(&already), None);
    }

    #[test]
    fn inflating_stops_at_the_limit() {
        let bomb = pack(&vec![0; 1 << 20]);
        assert!(bomb.len() < 2000);
        assert_eq!(inflate(&bomb, 1000), Err(PacketError::InflatedTooLong { limit: 1000 }));
        assert_eq!(inflate(&bomb, (1 << 20) - 1), Err(PacketError::InflatedTooLong { limit: (1 << 20) - 1 }));
        assert_eq!(inflate(&bomb, 1 << 20).map(|body| body.len()), Ok(1 << 20));
    }

    #[test]
    fn the_limit_is_capped_at_the_maximum() {
        let bomb = pack(&vec![0; INFLATED_MAX + 1]);
        assert_eq!(inflate(&bomb, usize::MAX), Err(PacketError::InflatedTooLong { limit: INFLATED_MAX }));
    }

    #[test]
    fn damaged_and_multi_member_bodies_are_refused() {
        let packed = pack(b"no access");
        assert_eq!(inflate(&packed, 9).as_deref(), Ok(&b"no access"[..]));
        for cut in 0..packed.len() {
            assert_eq!(inflate(&packed[..cut], 9), Err(PacketError::Gzip), "cut at {cut}");
        }
        let mut damaged = packed.clone();
        let checksum = packed.len() - 8;
        damaged[checksum] ^= 1;
        assert_eq!(inflate(&damaged, 9), Err(PacketError::Gzip));
        assert_eq!(inflate(&packed.repeat(2), 99), Err(PacketError::Gzip));
    }
}
