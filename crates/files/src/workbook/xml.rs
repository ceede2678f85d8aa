//! XML events of a part, with a limit on the size of each.

use std::io::{self, BufRead, Read};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::error::{WorkbookError, broken};

/// Maximum size of a tag or text, in bytes. A cell has at most 32,767 characters.
const EVENT_MAX: usize = 256 * 1024;

type Part = Limited<io::BufReader<Box<dyn Read + Send>>>;

/// Reads a part event by event.
pub(super) struct Xml {
    reader: Reader<Part>,
    buffer: Vec<u8>,
}

impl Xml {
    pub(super) fn new(part: io::BufReader<Box<dyn Read + Send>>) -> Xml {
        let mut reader = Reader::from_reader(Limited { inner: part, left: 0 });
        let config = reader.config_mut();
        config.check_end_names = false;
        config.expand_empty_elements = true;
        Xml { reader, buffer: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Result<Event<'_>, WorkbookError> {
        self.reader.get_mut().left = EVENT_MAX;
        self.buffer.clear();
        self.reader.read_event_into(&mut self.buffer).map_err(broken)
    }
}

/// Fails after a number of bytes, which is reset for each event.
struct Limited<R> {
    inner: R,
    left: usize,
}

impl<R: BufRead> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other("it has a tag or a text of more than 256 KiB"));
        }
        let left = self.left;
        let filled = self.inner.fill_buf()?;
        Ok(filled.get(..filled.len().min(left)).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
        self.inner.consume(bytes);
    }
}

impl<R: BufRead> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

/// Returns the unescaped value of an attribute. Prefixes of names, as in `r:id`, are part of them.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, WorkbookError> {
    let Some(attribute) = tag.try_get_attribute(name).map_err(broken)? else { return Ok(None) };
    Ok(Some(quick_xml::escape::unescape(&attribute.value).map_err(broken)?.into_owned()))
}

/// Appends the text of an entity or a character reference.
pub(super) fn append_reference(reference: &BytesRef<'_>, text: &mut String) -> Result<(), WorkbookError> {
    match resolve_predefined_entity(reference) {
        Some(known) => text.push_str(known),
        None => text.extend(reference.resolve_char_ref().map_err(broken)?),
    }
    Ok(())
}
