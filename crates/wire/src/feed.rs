//! Input handling shared by both stream decoders.

/// Takes at most `most` bytes from the front of the input.
pub(crate) fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = input.split_at_checked(most).unwrap_or((input, &[]));
    *input = rest;
    taken
}

/// Appends a piece of a message of `whole` bytes. Memory follows the received bytes and not the
/// announced length, so a peer cannot make us reserve memory for bytes it never sends; nor does
/// doubling exceed the whole.
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
    fn a_buffer_grows_with_the_input_and_never_past_the_whole() {
        let mut buffer = Vec::new();
        for _ in 0..10 {
            append(&mut buffer, &[1; 10], 100);
            assert!(buffer.capacity() <= (2 * buffer.len()).min(100));
        }
        assert_eq!(buffer, [1; 100]);
    }

    #[test]
    fn taking_more_than_there_is_takes_all() {
        let mut input = &[1, 2, 3][..];
        assert_eq!((take(&mut input, 2), take(&mut input, 2), input), (&[1, 2][..], &[3][..], &[][..]));
    }
}
