//! Finds request heads in the byte stream of an HTTP/1 connection and validates their line endings.
//! Only the boundaries of requests are tracked; hyper parses and validates everything else.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::pushes::EventStream;
use crate::unsent::Held;

/// Number of bytes of each header line to inspect; enough for the few headers that affect framing.
const LINE_KEPT: usize = 64;
/// Byte that replaces an invalid line ending. The parser rejects this byte anywhere in a head.
const SPOILT: u8 = 0;

#[derive(Debug)]
pub(super) struct Framing {
    head_max: usize,
    state: State,
    head: Head,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between requests, or inside a request head.
    Head,
    /// In a body, with the number of bytes left.
    Body(u64),
    Chunked(Chunk),
    /// After an upgrade, or after bytes that cannot be tracked. Nothing is checked in this state;
    /// only the parser validates the bytes.
    Free,
}

/// Position in a chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    /// In the chunk length, with the value parsed so far.
    Length(u64),
    LengthLine(u64),
    Data(u64),
    /// In the line ending after a chunk.
    DataLine,
    /// In the trailer section, with the length of the current line.
    Trailer(usize),
}

/// Kind of a line in a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Another,
    Last,
    /// A line that gives the body length in an unsupported form. If the parser accepted the line,
    /// the start of the next head would be unknown, so the line is overwritten and the parser
    /// refuses the request.
    Unreadable,
}

/// The part of a request head read so far.
#[derive(Debug)]
struct Head {
    length: usize,
    /// The first bytes of the current line, in lower case.
    line: [u8; LINE_KEPT],
    line_length: usize,
    /// Number of non-empty lines read so far.
    lines: usize,
    last: u8,
    body: State,
}

impl Head {
    const NEW: Head =
        Head { length: 0, line: [0; LINE_KEPT], line_length: 0, lines: 0, last: 0, body: State::Head };
}

impl Framing {
    pub(super) fn new(head_max: usize) -> Framing {
        Framing { head_max, state: State::Head, head: Head::NEW }
    }

    /// Returns whether a head has begun but is incomplete. The first head begins with the
    /// connection.
    pub(super) fn is_in_head(&self) -> bool {
        self.state == State::Head && !self.is_between()
    }

    /// Returns whether the connection is idle between two requests.
    pub(super) fn is_between(&self) -> bool {
        self.state == State::Head && self.head.length == 0 && self.head.last == b'\n'
    }

    /// Returns the maximum number of bytes to read next. Inside a head, reading stops at the size
    /// limit, at which the parser rejects the head.
    pub(super) fn room(&self) -> usize {
        match self.state {
            // At least one byte, because an empty read would look like the end of the stream. A
            // head that reaches the limit is rejected by the parser.
            State::Head => self.head_max.saturating_sub(self.head.length).max(1),
            _ => usize::MAX,
        }
    }

    /// Tracks the bytes that were read. Line endings in a head other than CR LF are overwritten
    /// with an invalid byte.
    pub(super) fn follow(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let taken = match self.state {
                State::Head => self.in_head(rest),
                State::Body(left) => {
                    let taken = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
                    self.state = if left == 0 { self.ended() } else { State::Body(left) };
                    taken
                }
                State::Chunked(chunk) => self.in_chunk(chunk, rest),
                State::Free => return,
            };
            rest = rest.get_mut(taken..).unwrap_or_default();
        }
    }

    /// Resets the head after the end of a request, and returns the next state.
    fn ended(&mut self) -> State {
        self.head = Head { last: b'\n', ..Head::NEW };
        State::Head
    }

    /// Processes bytes of a head. Returns the number of bytes that belong to the head, which is all
    /// of them if the head is incomplete.
    fn in_head(&mut self, bytes: &mut [u8]) -> usize {
        for (at, byte) in bytes.iter_mut().enumerate() {
            let last = std::mem::replace(&mut self.head.last, *byte);
            self.head.length += 1;
            match *byte {
                b'\n' if last != b'\r' => *byte = SPOILT,
                b'\n' => match self.line_ended() {
                    Line::Another => {}
                    Line::Unreadable => *byte = SPOILT,
                    Line::Last => {
                        self.state = match self.head.body {
                            State::Head => self.ended(),
                            body => body,
                        };
                        return at + 1;
                    }
                },
                byte => {
                    if let Some(place) = self.head.line.get_mut(self.head.line_length) {
                        *place = byte.to_ascii_lowercase();
                    }
                    self.head.line_length += 1;
                }
            }
        }
        bytes.len()
    }

    fn line_ended(&mut self) -> Line {
        // The carriage return is not part of the line.
        let length = std::mem::take(&mut self.head.line_length).saturating_sub(1);
        if length == 0 {
            // Empty lines before a request are ignored, as the parser does.
            return if self.head.lines > 0 { Line::Last } else { Line::Another };
        }
        self.head.lines += 1;
        let line = self.head.line.get(..length.min(LINE_KEPT)).unwrap_or_default();
        let value_of = |name: &[u8]| line.strip_prefix(name).map(<[u8]>::trim_ascii);
        if value_of(b"upgrade:").is_some() {
            self.head.body = State::Free;
        } else if value_of(b"transfer-encoding:").is_some() && self.head.body != State::Free {
            self.head.body = State::Chunked(Chunk::Length(0));
        } else if let Some(digits) = value_of(b"content-length:")
            && matches!(self.head.body, State::Head | State::Body(_))
        {
            let length = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            self.head.body = match length.filter(|_| length_fits(line)) {
                Some(0) => State::Head,
                Some(length) => State::Body(length),
                None => return Line::Unreadable,
            };
        }
        Line::Another
    }

    fn in_chunk(&mut self, chunk: Chunk, bytes: &[u8]) -> usize {
        let Some(byte) = bytes.first() else { return 0 };
        let (next, taken) = match chunk {
            Chunk::Length(so_far) => match char::from(*byte).to_digit(16) {
                Some(digit) => (Chunk::Length(so_far.saturating_mul(16).saturating_add(digit.into())), 1),
                None if *byte == b'\n' => (after_length(so_far), 1),
                None => (Chunk::LengthLine(so_far), 1),
            },
            Chunk::LengthLine(length) if *byte == b'\n' => (after_length(length), 1),
            Chunk::LengthLine(length) => (Chunk::LengthLine(length), 1),
            Chunk::Data(left) => {
                let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
                (if left == 0 { Chunk::DataLine } else { Chunk::Data(left) }, taken)
            }
            Chunk::DataLine if *byte == b'\n' => (Chunk::Length(0), 1),
            Chunk::DataLine => (Chunk::DataLine, 1),
            Chunk::Trailer(length) if *byte == b'\n' && length <= 1 => {
                self.state = self.ended();
                return 1;
            }
            Chunk::Trailer(_) if *byte == b'\n' => (Chunk::Trailer(0), 1),
            Chunk::Trailer(length) => (Chunk::Trailer(length.saturating_add(1)), 1),
        };
        self.state = State::Chunked(next);
        taken
    }
}

fn length_fits(line: &[u8]) -> bool {
    line.len() < LINE_KEPT
}

fn after_length(length: u64) -> Chunk {
    if length == 0 { Chunk::Trailer(0) } else { Chunk::Data(length) }
}

/// Size of a body frame in bytes. At most this many bytes are buffered for a slow client without
/// counting toward its unsent-response limit.
const PIECE: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Sent {
    rest: Bytes,
    held: Option<Held>,
    /// An endless stream of events. If it is present, `rest` is empty.
    events: Option<EventStream>,
}

impl Sent {
    pub(super) fn new(body: Bytes, held: Option<Held>) -> Sent {
        Sent { rest: body, held, events: None }
    }

    pub(super) fn events(events: EventStream) -> Sent {
        Sent { events: Some(events), ..Sent::default() }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(events) = &mut self.events {
            return events.poll_next(cx).map(|events| events.map(|bytes| Ok(Frame::data(bytes))));
        }
        if self.rest.is_empty() {
            self.held = None;
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.events.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.events.is_some() {
            return SizeHint::default();
        }
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1 << 10;
    /// A request whose length follows so many spaces that the line exceeds [`LINE_KEPT`].
    const LONG_LENGTH: &str = "POST / HTTP/1.1\r\ncontent-length:                                                              0\r\n\r\nGET / HTTP/1.1\n";

    /// Feeds `text` in chunks of `size` bytes. Returns the resulting text and the framing state.
    fn follow(text: &str, size: usize) -> (String, Framing) {
        let (mut framing, mut seen) = (Framing::new(MAX), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            let mut piece = piece.to_vec();
            framing.follow(&mut piece);
            seen.append(&mut piece);
        }
        (String::from_utf8(seen).unwrap(), framing)
    }

    #[test]
    fn heads_require_cr_lf_and_bodies_are_unchanged() {
        for (text, spoilt) in [
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", 0),
            ("GET / HTTP/1.1\nhost: a\n\n", 3),
            ("GET / HTTP/1.1\r\nhost: a\n\r\n", 1),
            ("GET / HTTP/1.1\r\nhost: a\r\n\n", 1),
            ("\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", 0),
            ("\nGET / HTTP/1.1\r\nhost: a\r\n\r\n", 1),
            ("POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\na\n\n\nGET / HTTP/1.1\r\n\r\n", 0),
            ("POST / HTTP/1.1\r\nContent-Length:  4 \r\n\r\na\n\n\nGET / HTTP/1.1\n\r\n", 1),
            ("POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\nGET / HTTP/1.1\n\r\n", 1),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x=\"\n\"\r\n\n\n\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                0,
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nA\r\n\n\n\n\n\n\n\n\n\n\n\r\n0\r\na: b\r\n\r\nGET /\n",
                1,
            ),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n1\r\n\n\r\n0\r\n\r\nGET /\n",
                1,
            ),
            // After an upgrade the bytes are not HTTP.
            ("GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\n\n", 0),
            // If the end of the body is ambiguous, the request is refused.
            ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n\n", 2),
            (LONG_LENGTH, 2),
        ] {
            for size in [1, 2, 3, 7, 1_000] {
                let (seen, _) = follow(text, size);
                assert_eq!(seen.matches('\0').count(), spoilt, "{text:?} in pieces of {size}: {seen:?}");
                assert_eq!(seen.replace('\0', "\n"), text);
            }
        }
    }

    #[test]
    fn the_start_of_a_head_is_detected() {
        for (text, in_head, between) in [
            ("", true, false),
            ("G", true, false),
            ("GET / HTTP/1.1\r\n\r", true, false),
            ("GET / HTTP/1.1\r\n\r\n", false, true),
            ("GET / HTTP/1.1\r\n\r\nG", true, false),
            ("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n", false, false),
            ("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n12", false, true),
            ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", false, false),
            ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false, true),
            ("GET / HTTP/1.1\r\nupgrade: websocket\r\n\r\n", false, false),
        ] {
            let (_, framing) = follow(text, 5);
            assert_eq!((framing.is_in_head(), framing.is_between()), (in_head, between), "{text:?}");
        }
    }

    #[test]
    fn only_heads_have_a_size_limit() {
        let long = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(2 * MAX));
        let mut framing = Framing::new(MAX);
        let mut given = 0;
        while given < long.len() && given < MAX {
            let most = framing.room().min(100).min(long.len() - given);
            let mut piece = long.as_bytes()[given..given + most].to_vec();
            framing.follow(&mut piece);
            given += most;
        }
        assert_eq!((given, framing.room()), (MAX, 1));
        let (_, framing) = follow("POST / HTTP/1.1\r\ncontent-length: 999999\r\n\r\n", 9);
        assert_eq!(framing.room(), usize::MAX);
    }
}
