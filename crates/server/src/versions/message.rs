//! Removes fields from encoded protobuf messages.

// Protobuf wire types.
const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

/// Returns the message without the field at `path`, which consists of the field numbers of nested
/// messages. Bytes that are not a message are returned unchanged.
pub(super) fn without(message: &[u8], path: &[u32]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(message.len());
    match copy(message, path, &mut stored) {
        Some(()) => stored,
        None => message.to_vec(),
    }
}

fn copy(mut message: &[u8], path: &[u32], stored: &mut Vec<u8>) -> Option<()> {
    let (field, deeper) = path.split_first()?;
    while !message.is_empty() {
        let before = message;
        let key = varint(&mut message)?;
        let content = match key & 7 {
            VARINT => varint(&mut message).map(|_| None)?,
            FIXED_64 => take(&mut message, 8).map(|_| None)?,
            BYTES => {
                let length = usize::try_from(varint(&mut message)?).ok()?;
                Some(take(&mut message, length)?)
            }
            FIXED_32 => take(&mut message, 4).map(|_| None)?,
            _ => return None,
        };
        let is_it = key >> 3 == u64::from(*field);
        match content {
            Some(content) if is_it && !deeper.is_empty() => {
                let inner = without(content, deeper);
                put_varint(key, stored);
                put_varint(u64::try_from(inner.len()).ok()?, stored);
                stored.extend_from_slice(&inner);
            }
            _ if is_it && deeper.is_empty() => {}
            _ => stored.extend_from_slice(before.get(..before.len() - message.len())?),
        }
    }
    Some(())
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use wire::quote::{PrePost, Quote, QuoteResponse, StaticInfo, StaticInfoResponse};

    use super::*;

    #[test]
    fn only_the_named_nested_field_is_removed() {
        let info = |symbol: &str, board: &str| StaticInfo {
            symbol: symbol.to_owned(),
            name_en: "n".repeat(200),
            total_shares: i64::MAX,
            board: board.to_owned(),
            ..StaticInfo::default()
        };
        let message = |board: &str| StaticInfoResponse {
            secu_static_info: vec![info("700.HK", board), info("AAPL.US", board)],
        };
        let bytes = message("HKEquity").encode_to_vec();
        assert_eq!(StaticInfoResponse::decode(&*without(&bytes, &[1, 17])).unwrap(), message(""));
        assert_eq!(without(&bytes, &[2, 17]), bytes);
        assert!(without(&bytes, &[1]).is_empty());
    }

    #[test]
    fn bytes_that_are_not_a_message_are_unchanged() {
        let quote = Quote { pre_market_quote: Some(PrePost::default()), ..Quote::default() };
        let bytes = QuoteResponse { secu_quote: vec![quote] }.encode_to_vec();
        for end in 0..bytes.len() {
            without(&bytes[..end], &[1, 11]);
        }
        for wrong in [&b"\xff"[..], b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0b", b"\x0d\x01"] {
            assert_eq!(without(wrong, &[1]), wrong);
        }
    }
}
