//! Detects the encoding of a text, and decodes it to UTF-8 while it is read.

use std::io::{self, Cursor, Read};

use encoding_rs::{CoderResult, Decoder, Encoding, GB18030, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Number of bytes that are examined.
const HEAD: usize = 64 * 1024;

/// A text as UTF-8, and the name of the encoding that it was decoded from; `None` for UTF-8.
pub(crate) struct Decoded {
    pub text: Box<dyn Read + Send>,
    pub encoding: Option<&'static str>,
}

/// Detects the encoding of a text by its first bytes. Texts in UTF-8 are returned unchanged.
pub(crate) fn decoded(mut reader: Box<dyn Read + Send>) -> io::Result<Decoded> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let encoding = encoding_of(&head);
    let text = Cursor::new(head).chain(reader);
    Ok(match encoding {
        None => Decoded { text: Box::new(text), encoding: None },
        Some(encoding) => Decoded {
            text: Box::new(DecodingReader::new(text, encoding)),
            encoding: Some(if encoding == GB18030 { "GBK" } else { encoding.name() }),
        },
    })
}

fn encoding_of(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [0xff, 0xfe, ..] => return Some(UTF_16LE),
        [0xfe, 0xff, ..] => return Some(UTF_16BE),
        _ => {}
    }
    if let Some(encoding) = utf_16_without_mark(head) {
        return Some(encoding);
    }
    // The last character may be incomplete. Other text, including binary data, is left to the reader
    // of lines.
    let is_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() || head.contains(&0),
    };
    if is_utf8 { None } else { Some(legacy(head)) }
}

/// Returns the encoding of UTF-16 without a byte order mark: in a table, most characters are ASCII,
/// so every second byte is zero.
fn utf_16_without_mark(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head.len() / 2;
    let zeros = |offset: usize| head.iter().skip(offset).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    // Some other characters end with a zero byte, too: 开 is U+5F00.
    let is_mostly = |zeros: usize, others: usize| pairs >= 4 && zeros * 2 > pairs && others * 10 < zeros;
    match (is_mostly(even, odd), is_mostly(odd, even)) {
        (false, true) => Some(UTF_16LE),
        (true, false) => Some(UTF_16BE),
        _ => None,
    }
}

/// Distinguishes Chinese text, in which bytes above ASCII come in pairs, from Western European text,
/// in which they are mostly single letters.
fn legacy(head: &[u8]) -> &'static Encoding {
    let (mut pairs, mut single) = (0, 0);
    let mut rest = head;
    while let [first, after @ ..] = rest {
        rest = after;
        if first.is_ascii() {
            continue;
        }
        match after {
            [0xa1..=0xfe, after @ ..] if (0xa1..=0xfe).contains(first) => {
                pairs += 1;
                rest = after;
            }
            // Rare Chinese characters have such second bytes, too.
            _ => single += 1,
        }
    }
    if pairs > single { GB18030 } else { WINDOWS_1252 }
}

/// Decodes a text while it is read. Bytes that are invalid become replacement characters.
struct DecodingReader<R> {
    inner: R,
    decoder: Decoder,
    input: Box<[u8]>,
    /// Undecoded bytes of `input`.
    start: usize,
    end: usize,
    output: Box<[u8]>,
    /// Decoded bytes of `output` that have not been read.
    from: usize,
    until: usize,
    has_ended: bool,
    is_flushed: bool,
}

const BUFFER: usize = 16 * 1024;

impl<R: Read> DecodingReader<R> {
    fn new(inner: R, encoding: &'static Encoding) -> DecodingReader<R> {
        DecodingReader {
            inner,
            decoder: encoding.new_decoder_with_bom_removal(),
            input: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            output: vec![0; BUFFER].into_boxed_slice(),
            from: 0,
            until: 0,
            has_ended: false,
            is_flushed: false,
        }
    }

    fn decode(&mut self) -> io::Result<()> {
        if self.start == self.end && !self.has_ended {
            (self.start, self.end) = (0, self.inner.read(&mut self.input)?);
            self.has_ended = self.end == 0;
        }
        let undecoded = self.input.get(self.start..self.end).unwrap_or_default();
        let (result, read, written, _) =
            self.decoder.decode_to_utf8(undecoded, &mut self.output, self.has_ended);
        self.start += read;
        (self.from, self.until) = (0, written);
        self.is_flushed = self.has_ended && result == CoderResult::InputEmpty;
        Ok(())
    }
}

impl<R: Read> Read for DecodingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.from == self.until && !self.is_flushed {
            self.decode()?;
        }
        let mut decoded = self.output.get(self.from..self.until).unwrap_or_default();
        let read = decoded.read(buffer)?;
        self.from += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> (Option<&'static str>, String) {
        let mut decoded = decoded(Box::new(Cursor::new(bytes))).unwrap();
        let mut text = String::new();
        decoded.text.read_to_string(&mut text).unwrap();
        (decoded.encoding, text)
    }

    fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn encodings_are_detected_with_and_without_a_byte_order_mark() {
        let table = "日期,开盘,收盘\n2024-01-02,1715.00,1685.01\n".repeat(10);
        let gbk = GB18030.encode(&table).0.into_owned();
        assert_eq!(read(gbk), (Some("GBK"), table.clone()));
        assert_eq!(read(utf_16(&table, u16::to_le_bytes)), (Some("UTF-16LE"), table.clone()));
        assert_eq!(read(utf_16(&table, u16::to_be_bytes)), (Some("UTF-16BE"), table.clone()));
        let marked = format!("\u{feff}{table}");
        assert_eq!(read(utf_16(&marked, u16::to_le_bytes)), (Some("UTF-16LE"), table.clone()));
        assert_eq!(read(table.clone().into_bytes()), (None, table));
        let german = "Datum;Eröffnung;Höchst;Währung\n02.01.2024;187,15;188,44;€\n".to_owned();
        let encoded = WINDOWS_1252.encode(&german).0.into_owned();
        assert_eq!(read(encoded), (Some("windows-1252"), german));
    }

    #[test]
    fn a_character_cut_by_the_examined_part_is_not_an_error() {
        for extra in 0..3 {
            let text = format!("{}{}", "a".repeat(HEAD - extra), "开盘".repeat(10));
            assert_eq!(read(text.clone().into_bytes()), (None, text));
        }
    }

    #[test]
    fn binary_data_is_not_decoded() {
        assert_eq!(encoding_of(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0xff, 0x80]), None);
        assert_eq!(encoding_of(b""), None);
    }
}
