use market::{Date, Day, Market, Segment, Session, Timestamp, Venue, Venues};

use crate::{Markets, Settings, Skip};

/// Number of seconds before the beginning of trading at which a clock stops skipping closed hours,
/// so that a program can prepare.
pub const SKIP_LEAD_S: i64 = 5 * 60;
/// Number of trading days to search, starting with the last one at or before an instant. An evening
/// belongs to the next trading day, and a step may begin after the last segment of a day.
const DAYS_NEAR: usize = 3;

/// Trading hours of a world's markets, for steps and for skipping closed hours.
#[derive(Clone, Copy, Debug)]
pub struct TradingHours<'a> {
    venues: &'a Venues,
    markets: Markets,
    overnight: bool,
    skip: Skip,
}

impl<'a> TradingHours<'a> {
    pub fn new(venues: &'a Venues, settings: &Settings) -> TradingHours<'a> {
        let Settings { markets, overnight, skip, .. } = *settings;
        TradingHours { venues, markets, overnight, skip }
    }

    /// Returns the first instant after `at` at which a trading segment begins or ends. A segment
    /// with a closing auction has two ends: that of continuous trading and that of the auction.
    pub fn next_edge(&self, at: Timestamp) -> Option<Timestamp> {
        let of_day = |day: Day<'_>| {
            let segments = self.segments(&day).into_iter();
            let edges = segments.flat_map(|one| [one.start, one.end, one.end + one.tail]);
            edges.map(|minute| day.at(minute)).filter(|edge| *edge > at).min()
        };
        self.venues().filter_map(|venue| near(venue, at).filter_map(of_day).min()).min()
    }

    /// Returns the first instant after `at` at which regular trading begins.
    pub fn next_session(&self, at: Timestamp) -> Option<Timestamp> {
        let begins = |day: Day<'_>| {
            let first = day.segments.iter().find(|one| one.session == Session::Intraday)?;
            Some(day.at(first.start)).filter(|begins| *begins > at)
        };
        self.venues().filter_map(|venue| near(venue, at).filter_map(begins).min()).min()
    }

    /// Returns the instant to which a clock skips from `at`: five minutes before trading begins.
    /// Returns `None` if a market is open or opens within five minutes, or if the world does not
    /// skip closed hours.
    ///
    /// A trading day lasts from its first auction to the end of its closing auction and includes
    /// lunch.
    pub fn skips_to(&self, at: Timestamp) -> Option<Timestamp> {
        if self.skip == Skip::None {
            return None;
        }
        let mut next: Option<Timestamp> = None;
        for venue in self.venues() {
            for day in near(venue, at) {
                let segments = self.segments(&day);
                let (Some(first), Some(last)) = (segments.first(), segments.last()) else { continue };
                let begins = Timestamp(day.at(first.start).0 - auction_s(venue.market()));
                let ends = day.at(last.end + last.tail);
                if begins <= at && at < ends {
                    return None;
                }
                if begins > at {
                    next = Some(next.map_or(begins, |next| next.min(begins)));
                }
            }
        }
        let stop = Timestamp(next?.0 - SKIP_LEAD_S);
        (stop > at).then_some(stop)
    }

    fn venues(&self) -> impl Iterator<Item = &'a Venue> {
        let venues = self.venues;
        self.markets.iter().map(|market| venues.of(market))
    }

    /// Returns the segments of a day. Night sessions are included only if they count as trading
    /// hours.
    fn segments(&self, day: &Day<'_>) -> Vec<Segment> {
        let is_in = |one: &&Segment| self.overnight || one.session != Session::Overnight;
        day.segments.iter().filter(is_in).copied().collect()
    }
}

/// Returns the seconds from the first auction to the first trading segment (Hong Kong 09:00, China
/// 09:15). The session tables omit auctions without candles.
fn auction_s(market: Market) -> i64 {
    match market {
        Market::Hk => 30 * 60,
        Market::Cn => 15 * 60,
        Market::Us => 0,
    }
}

/// Returns the trading days that may contain an instant, and the following ones.
fn near(venue: &Venue, at: Timestamp) -> impl Iterator<Item = Day<'_>> {
    let calendar = venue.calendar();
    let date = venue.zone().date(at);
    let from: Option<Date> = calendar.on_or_before(date).or_else(|| calendar.after(date));
    std::iter::successors(from, |date| calendar.after(*date))
        .take(DAYS_NEAR)
        .filter_map(|date| venue.day(date))
}
