//! Input buffering shared by the WebSocket and TCP decoders.

/// Removes and returns up to `most` bytes from the front of `input`.
pub(crate) fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at_checked(most).unwrap_or((input, &[]));
    *input = rest;
    taken
}

/// Appends `piece` to the buffer of a message that is `whole` bytes long. The buffer grows with the
/// received bytes and not with the announced length, so that a peer cannot cause large allocations
/// without sending data. The capacity never exceeds `whole`.
pub(crate) fn append(buffer: &mut Vec<u8>, piece: &[u8], whole: usize) {
    let needed = buffer.len() + piece.len();
    if buffer.capacity() < needed {
        let room = buffer.capacity().saturating_mul(2).min(whole).max(needed);
        buffer.reserve_exact(room - buffer.len());
    }
    buffer.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_never_grows_past_the_message_length() {
        let mut buffer = Vec::new();
        for _ in 0..10 {
            append(&mut buffer, &[1; 10], 100);
            assert!(buffer.capacity() <= (2 * buffer.len()).min(100));
        }
        assert_eq!(buffer, [1; 100]);
    }

    #[test]
    fn take_returns_at_most_the_available_input() {
        let mut input = &[1, 2, 3][..];
        assert_eq!((take(&mut input, 2), take(&mut input, 2), input), (&[1, 2][..], &[3][..], &[][..]));
    }
}
