//! Prefetching of block bodies over a network. Each statement fetches the requested body and the
//! bodies likely to be requested next.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::candles::block::BlockEntry;
use crate::candles::copy::{BODIES_MAX, BodyOf};
use crate::engine::StoreError;

/// Maximum number of bytes prefetched in addition to the requested body.
const BYTES_MAX: u64 = 4 << 20;

/// The kind of the expected bodies (`None` before the first directory is read), and the blocks' ids
/// and body sizes in bytes.
type Expected = (Option<BodyOf>, Vec<(i64, u32)>);

/// The blocks that a view is expected to request, and the bodies already fetched.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The blocks of the last directory that was read, if all of their bodies are needed.
    expected: RefCell<Expected>,
    fetched: RefCell<HashMap<i64, Box<[u8]>>>,
    /// Index of the last fetched body, and the number of bodies fetched with it when reading
    /// backwards.
    last: Cell<(usize, usize)>,
}

impl Ahead {
    /// Sets the blocks whose bodies will be requested.
    pub(crate) fn expect(&self, of: BodyOf, entries: &[BlockEntry]) {
        let entries = entries.iter().map(|entry| (entry.id, entry.bytes)).collect();
        self.expected.replace((Some(of), entries));
        self.fetched.borrow_mut().clear();
        self.last.set((usize::MAX, 0));
    }

    /// Removes and returns a prefetched body, or `None` if the body was not prefetched.
    pub(crate) fn take(&self, of: BodyOf, id: i64) -> Option<Box<[u8]>> {
        if self.expected.borrow().0 != Some(of) {
            return None;
        }
        self.fetched.borrow_mut().remove(&id)
    }

    /// Fetches a body and the bodies likely to be requested next, except bodies for which
    /// `is_there` returns `true`. Returns `None` if the requested body no longer exists.
    pub(crate) fn fetch(
        &self,
        of: BodyOf,
        id: i64,
        is_there: impl Fn(i64) -> Result<bool, StoreError>,
        fetch: impl FnOnce(&[i64]) -> Result<Vec<(i64, Box<[u8]>)>, StoreError>,
    ) -> Result<Option<Box<[u8]>>, StoreError> {
        let mut ids = vec![id];
        for next in self.next(of, id) {
            if !is_there(next)? {
                ids.push(next);
            }
        }
        let mut found = None;
        let mut fetched = self.fetched.borrow_mut();
        for (of_body, bytes) in fetch(&ids)? {
            if of_body == id {
                found = Some(bytes);
            } else {
                fetched.insert(of_body, bytes);
            }
        }
        Ok(found)
    }

    /// Returns the blocks likely to be requested next: the following blocks or, when the directory
    /// is read backwards, preceding blocks, whose number doubles with each call.
    fn next(&self, of: BodyOf, id: i64) -> Vec<i64> {
        let expected = self.expected.borrow();
        let place = expected.1.iter().position(|(expected, _)| *expected == id);
        let Some(place) = place.filter(|_| expected.0 == Some(of)) else { return Vec::new() };
        let (last, run) = self.last.get();
        let is_last = place + 1 == expected.1.len();
        let goes_back = last != usize::MAX && place + run.max(1) == last || (is_last && place > 0);
        let mut bytes = 0;
        let mut fits = |(_, size): &&(i64, u32)| {
            bytes += u64::from(*size);
            bytes <= BYTES_MAX
        };
        if goes_back {
            let run = if is_last { 1 } else { (run * 2).clamp(2, BODIES_MAX) };
            let before = expected.1.iter().take(place).rev().take(run - 1).take_while(&mut fits);
            let ids: Vec<i64> = before.map(|(id, _)| *id).collect();
            self.last.set((place, ids.len() + 1));
            return ids;
        }
        self.last.set((usize::MAX, 0));
        let after = expected.1.iter().skip(place + 1).take(BODIES_MAX - 1).take_while(&mut fits);
        after.map(|(id, _)| *id).collect()
    }
}
