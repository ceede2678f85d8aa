//! Validates source rows before they are stored.

use std::collections::HashMap;

use files::CandleRow;
use market::{Candle, Flaw, Grain, Market, Minutes, Session, Slot, Symbol, Timestamp, Venues};

/// Validates the rows of one file, in the order given by the specification.
#[derive(Debug)]
pub(crate) struct Inspector<'a> {
    venues: &'a Venues,
    grain: Grain,
    /// Length of coarse candles, which must start on the grid of their period. `None` for other
    /// grains.
    length: Option<Minutes>,
    /// Segment of the last row per market, cached because the next row is nearly always in the same
    /// segment.
    slots: [Option<Slot>; 3],
    seen: Seen,
}

impl<'a> Inspector<'a> {
    pub(crate) fn new(venues: &'a Venues, grain: Grain) -> Inspector<'a> {
        let length = grain.length().filter(|_| grain.is_own());
        Inspector { venues, grain, length, slots: [None; 3], seen: Seen::default() }
    }

    /// Validates a row and returns its trading session.
    #[inline]
    pub(crate) fn inspect(&mut self, row: &CandleRow, symbol: &Symbol) -> Result<Session, Flaw> {
        let session = self.session_of(row, symbol)?;
        if !self.seen.insert(row.symbol, row.time, self.grain) {
            return Err(Flaw::Duplicate);
        }
        Ok(session)
    }

    /// Like [`Inspector::inspect`], but accepts several rows with the same stamp.
    #[inline]
    pub(crate) fn session_of(&mut self, row: &CandleRow, symbol: &Symbol) -> Result<Session, Flaw> {
        candle(row, Session::Intraday).check()?;
        let session = self.session(symbol.market(), row.time)?;
        if session != Session::Intraday && symbol.is_us_option() {
            return Err(Flaw::OptionHours);
        }
        // The time determines the session. If the column disagrees, one of the two is wrong.
        if row.session.is_some_and(|given| given != session) {
            return Err(Flaw::Session);
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

/// Set of the stamps seen in a file: a bitmap page per symbol and time range.
#[derive(Debug, Default)]
struct Seen {
    pages: HashMap<(u32, i64), [u64; PAGE_WORDS]>,
    /// Current page, held outside of the map because the next row is nearly always in the same
    /// page.
    current: Option<((u32, i64), [u64; PAGE_WORDS])>,
}

/// Bits per page: the minutes of a day.
const PAGE_BITS: i64 = 1440;
const PAGE_WORDS: usize = 23;
/// Maximum number of pages in memory, about 80 MB. When it is reached, all pages are dropped; a
/// duplicate of a dropped stamp then replaces the stored candle instead of being quarantined.
const PAGES_MAX: usize = 400_000;

impl Seen {
    /// Inserts a stamp. Returns `false` if it was already present.
    fn insert(&mut self, symbol: u32, time: Timestamp, grain: Grain) -> bool {
        // Each stamp has its own bit: midnights of any time zone fall on distinct UTC days.
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
