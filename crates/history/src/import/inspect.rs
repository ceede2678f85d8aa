//! The checks a source row passes before it may be stored.

use std::collections::HashMap;

use files::CandleRow;
use market::{Candle, Flaw, Grain, Market, Minutes, Session, Slot, Symbol, Timestamp, Venues};

/// Checks rows of one file, in the order the specification gives.
#[derive(Debug)]
pub(crate) struct Inspector<'a> {
    venues: &'a Venues,
    grain: Grain,
    /// The length of coarse candles, which must begin where those of their period do.
    length: Option<Minutes>,
    /// The segment of the last minute in each market: the next row is nearly always in it.
    slots: [Option<Slot>; 3],
    seen: Seen,
}

impl<'a> Inspector<'a> {
    pub(crate) fn new(venues: &'a Venues, grain: Grain) -> Inspector<'a> {
        let length = grain.length().filter(|_| grain.is_own());
        Inspector { venues, grain, length, slots: [None; 3], seen: Seen::default() }
    }

    /// The session of a row, if the row is valid.
    #[inline]
    pub(crate) fn inspect(&mut self, row: &CandleRow, symbol: &Symbol) -> Result<Session, Flaw> {
        candle(row, Session::Intraday).check()?;
        let session = self.session(symbol.market(), row.time)?;
        if session != Session::Intraday && symbol.is_us_option() {
            return Err(Flaw::OptionHours);
        }
        // The time decides the session; if the column differs, one of the two is wrong.
        if row.session.is_some_and(|given| given != session) {
            return Err(Flaw::Session);
        }
        if !self.seen.insert(row.symbol, row.time, self.grain) {
            return Err(Flaw::Duplicate);
        }
        Ok(session)
    }

    fn session(&mut self, market: Market, at: Timestamp) -> Result<Session, Flaw> {
        let venue = self.venues.of(market);
        if self.grain == Grain::Day {
            return if venue.zone().local(at).1 == 0 { Ok(Session::Intraday) } else { Err(Flaw::NotADay) };
        }
        if at.0.rem_euclid(60) != 0 {
            return Err(Flaw::NotAMinute);
        }
        let [hk, us, cn] = &mut self.slots;
        let cached = match market {
            Market::Hk => hk,
            Market::Us => us,
            Market::Cn => cn,
        };
        let slot = match cached {
            Some(slot) if slot.holds(at) => *slot,
            _ => *cached.insert(venue.slot(at).ok_or(Flaw::NoSession)?),
        };
        match self.length {
            Some(length) if slot.bucket(length, at).0 != at => Err(Flaw::OffGrid(length)),
            _ => Ok(slot.segment.session),
        }
    }
}

#[inline]
pub(crate) fn candle(row: &CandleRow, session: Session) -> Candle {
    Candle {
        time: row.time,
        open: row.open,
        high: row.high,
        low: row.low,
        close: row.close,
        volume: row.volume,
        turnover: row.turnover,
        session,
    }
}

/// The stamps that a file has had already, one bit each, in a page of bits for each symbol and
/// range of time.
#[derive(Debug, Default)]
struct Seen {
    pages: HashMap<(u32, i64), [u64; PAGE_WORDS]>,
    /// The page in use, outside of the map because the next row is nearly always on it.
    current: Option<((u32, i64), [u64; PAGE_WORDS])>,
}

/// Enough for the minutes of a day.
const PAGE_BITS: i64 = 1440;
const PAGE_WORDS: usize = 23;
/// About 80 MB. A file with more symbol-days drops all pages at that point; a duplicate of a
/// dropped stamp then replaces the stored candle instead of being quarantined.
const PAGES_MAX: usize = 400_000;

impl Seen {
    /// Whether the stamp is new.
    fn insert(&mut self, symbol: u32, time: Timestamp, grain: Grain) -> bool {
        // Daily stamps are a day apart whatever the zone, minute stamps a minute: their quotients are distinct.
        let unit = if grain == Grain::Day { time.0.div_euclid(86_400) } else { time.0.div_euclid(60) };
        let key = (symbol, unit.div_euclid(PAGE_BITS));
        let bit = unit.rem_euclid(PAGE_BITS) as usize;
        let page = match &mut self.current {
            Some((current, page)) if *current == key => page,
            _ => {
                if let Some((key, page)) = self.current.take() {
                    if self.pages.len() >= PAGES_MAX {
                        self.pages.clear();
                    }
                    self.pages.insert(key, page);
                }
                let page = self.pages.remove(&key).unwrap_or([0; PAGE_WORDS]);
                &mut self.current.insert((key, page)).1
            }
        };
        let Some(word) = page.get_mut(bit / 64) else { return true };
        let mask = 1 << (bit % 64);
        let new = *word & mask == 0;
        *word |= mask;
        new
    }
}
