//! A server that responds to requests for one series, for the tests of walks.

use std::collections::BTreeMap;

use market::{Candle, Period, Price, Timestamp, Turnover, Venue};
use mirror::{Outcome, Quarantined, Request, Taken, Walk};

/// How a server treats the anchor of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchors {
    Included,
    Excluded,
}

pub(crate) struct Server<'a> {
    pub(crate) venue: &'a Venue,
    /// Ascending by time.
    pub(crate) candles: Vec<Candle>,
    pub(crate) anchors: Anchors,
    /// Page sizes, used in turn and repeated.
    pub(crate) sizes: Vec<usize>,
    pub(crate) answered: usize,
}

impl Server<'_> {
    pub(crate) fn answer(&mut self, request: &Request) -> Vec<Candle> {
        let size = self.sizes[self.answered % self.sizes.len()].min(request.count as usize);
        self.answered += 1;
        let is_selected = |candle: &Candle| {
            let Some(anchor) = request.anchor else { return true };
            let (date, seconds) = self.venue.zone().local(candle.time);
            let (at, limit) = match anchor.minute {
                Some(minute) => ((date, seconds), (anchor.date, i64::from(minute) * 60)),
                None => ((date, 0), (anchor.date, 0)),
            };
            if self.anchors == Anchors::Included { at <= limit } else { at < limit }
        };
        let end = self.candles.partition_point(is_selected);
        self.candles[end.saturating_sub(size)..end].to_vec()
    }
}

/// Storage for the rows of a walk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) rows: BTreeMap<Timestamp, Candle>,
    pub(crate) quarantined: Vec<Quarantined>,
    pub(crate) pages: usize,
}

impl Stored {
    pub(crate) fn add(&mut self, taken: &Taken) {
        self.pages += 1;
        for row in &taken.rows {
            assert_eq!(self.rows.insert(row.time, *row), None, "a row is stored once");
        }
        self.quarantined.extend(&taken.quarantined);
    }

    pub(crate) fn candles(&self) -> Vec<Candle> {
        self.rows.values().copied().collect()
    }
}

/// Walks to the end. `kill` decides for each page whether the process ends before the page is
/// stored (`Some(false)`), after it (`Some(true)`), or not at all.
pub(crate) fn walk(
    walk: &mut Walk,
    server: &mut Server<'_>,
    now: Timestamp,
    mut kill: impl FnMut() -> Option<bool>,
) -> (Stored, Outcome) {
    let mut stored = Stored::default();
    let mut outcome = Outcome::Continue;
    let mut position = walk.position().to_string();
    while let Some(request) = walk.request(server.venue) {
        assert!(server.answered < 20_000, "the walk does not end");
        let taken = walk.take(server.venue, &server.answer(&request), now);
        let killed = kill();
        if killed != Some(false) {
            outcome = taken.outcome;
            stored.add(&taken);
            position = walk.position().to_string();
        }
        if killed.is_some() {
            *walk = Walk::resumed(walk.series().clone(), walk.bounds(), position.parse().unwrap());
            assert_eq!(walk.position().to_string(), position);
        }
    }
    (stored, outcome)
}

/// Returns a candle whose values depend on a number.
pub(crate) fn candle(venue: &Venue, period: Period, at: Timestamp, number: i64) -> Candle {
    let session = match period {
        Period::Clock(_) => venue.slot(at).map_or_else(Default::default, |slot| slot.segment.session),
        Period::Calendar(_) => Default::default(),
    };
    let price = |add: i64| Price((1_000_000 + number % 977 * 1000) + add);
    Candle {
        time: at,
        open: price(2000),
        high: price(4000 + number % 3 * 1000),
        low: price(0),
        close: price(1000 + number % 4 * 1000),
        volume: number % 5000,
        turnover: Turnover(i128::from(number % 5000) * 1_000_000),
        session,
    }
}
