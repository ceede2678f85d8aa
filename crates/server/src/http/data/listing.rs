//! Selects and sorts securities for lists, and restricts the lists to the data that an account may
//! see.

use access::{Permit, Role};
use history::{AsOf, DayState, HistoryError};
use market::{Date, FloorTable, Floors, Market, Symbol};

use crate::directory::{Directory, ListedSecurity};
use crate::kit::doc::{Kind, Parameter};
use crate::kit::fields::{QueryParameters, echo};
use crate::kit::{Admitted, Site};
use crate::refusal::Refusal;

/// Maximum length of the search text, in characters. Company names are shorter.
const QUERY_MAX: usize = 64;
const MARKETS: [&str; Market::ALL.len()] = ["HK", "US", "CN"];

pub(super) const QUERY: Parameter =
    Parameter::query("query", Kind::TextUpTo(QUERY_MAX), "Part of a code or a name");
pub(super) const MARKET: Parameter =
    Parameter::query("market", Kind::OneOf(&MARKETS), "Only securities of this market");
/// The filter of a list request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing<'a> {
    pub(super) query: &'a str,
    pub(super) market: Option<Market>,
}

impl<'a> Listing<'a> {
    pub(super) fn parse(named: &'a QueryParameters) -> Result<Listing<'a>, Refusal> {
        let query = named.get("query").unwrap_or_default();
        if query.chars().count() > QUERY_MAX {
            return Err(Refusal::BadQuery(format!("query is longer than {QUERY_MAX} characters")));
        }
        let market = named
            .get("market")
            .map(|text| Market::parse(text).ok_or_else(|| unknown_word("market", text, &MARKETS.join(", "))));
        Ok(Listing { query, market: market.transpose()? })
    }

    /// Returns the matching securities that are visible to the account: best match first, or by
    /// symbol if the query is empty or the list is sorted.
    pub(super) fn found<'d>(
        &self,
        directory: &'d Directory,
        sight: &Sight<'_>,
        is_sorted: bool,
    ) -> Vec<&'d ListedSecurity> {
        let is_wanted = |symbol: &Symbol| {
            let market = symbol.market();
            self.market.is_none_or(|wanted| wanted == market) && sight.shows(market)
        };
        let mut found = directory.matches(self.query, is_wanted);
        if is_sorted {
            found.sort_by(|one, other| one.symbol.cmp(&other.symbol));
        }
        found
    }
}

/// Refuses the value of a parameter that accepts only some words.
pub(super) fn unknown_word(name: &str, text: &str, known: &str) -> Refusal {
    Refusal::BadQuery(format!("{name} {:?} is invalid: use {known}", echo(text)))
}

/// The part of the store that is visible to an account: its own markets after its history floors,
/// or everything for an operator.
#[derive(Debug)]
pub(super) struct Sight<'a> {
    permit: &'a Permit,
    pub(super) is_operator: bool,
    floors: FloorTable,
    pub(super) as_of: AsOf,
}

impl<'a> Sight<'a> {
    pub(super) fn of(admitted: &'a Admitted, site: &Site) -> Sight<'a> {
        // A program acting for an operator may lack the operator scope.
        let is_operator = admitted.account().role == Role::Operator && admitted.as_operator(site).is_ok();
        let floors = if is_operator { FloorTable::NONE } else { site.core.floors_of(admitted.account()) };
        Sight { permit: &admitted.permit, is_operator, floors, as_of: admitted.caller.as_of }
    }

    pub(super) fn shows(&self, market: Market) -> bool {
        self.is_operator || self.permit.holds(market.into())
    }

    pub(super) fn shows_overnight(&self) -> bool {
        self.is_operator || self.permit.overnight()
    }

    pub(super) fn floors(&self, market: Market) -> Floors {
        self.floors.of(market)
    }
}

/// Number of days at the start of a range that lie before the history floors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HiddenDays {
    /// Days before the daily floor, which are hidden entirely.
    pub(super) all: usize,
    /// Days before the minute floor, whose minute candles are hidden.
    pub(super) minutes: usize,
}

impl HiddenDays {
    pub(super) fn of(start: Date, floors: Floors) -> HiddenDays {
        let before = |floor: Option<Date>| {
            let days = floor.and_then(|floor| start.until(floor).ok()).map_or(0, |span| span.get_days());
            usize::try_from(days).unwrap_or_default()
        };
        HiddenDays { all: before(floors.day), minutes: before(floors.minute) }
    }
}

/// Counts of the visible days in a range.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DayCounts {
    /// Days without candles that are followed by a day with candles.
    pub(super) missing: u32,
    pub(super) partial: u32,
    /// Days without candles at the end of the range. If the range ends today, this is the number of
    /// trading days since the last candle.
    pub(super) after_last: u32,
    /// All expected days except those in `after_last`.
    pub(super) expected: u32,
}

impl DayCounts {
    pub(super) fn of(letters: &str, hidden: HiddenDays) -> DayCounts {
        let mut counts = DayCounts::default();
        for (day, letter) in letters.chars().enumerate().skip(hidden.all) {
            let is = |state: DayState| letter == state.letter();
            if is(DayState::Missing) {
                counts.after_last += 1;
            } else if is(DayState::Complete) || is(DayState::Partial) {
                // A later candle exists, so the days counted so far are gaps.
                let gaps = std::mem::take(&mut counts.after_last);
                counts.missing += gaps;
                counts.expected += gaps + 1;
                counts.partial += u32::from(is(DayState::Partial) && day >= hidden.minutes);
            }
        }
        counts
    }

    /// Returns the sort key for coverage maps, which count every day without a candle as missing.
    pub(super) fn holes(self) -> Badness {
        (self.missing + self.after_last, self.partial, 0)
    }

    /// Returns the sort key for lists that count the days after a security's last candle
    /// separately.
    pub(super) fn gaps(self) -> Badness {
        (self.missing, self.partial, self.after_last)
    }
}

/// Sort key for gaps; higher is worse.
pub(super) type Badness = (u32, u32, u32);

/// Sorts the securities by gaps, most gaps first unless `is_ascending`. Securities not yet compared
/// with the calendar come last. Returns the number of securities not yet compared.
pub(super) fn sort_by_gaps(
    found: &mut Vec<&ListedSecurity>,
    days: (Date, Date),
    sight: &Sight<'_>,
    site: &Site,
    badness: fn(DayCounts) -> Badness,
    is_ascending: bool,
) -> Result<usize, HistoryError> {
    let letters = site.coverage.of(&site.core, days, found, sight.as_of)?;
    let hidden = Market::ALL.map(|market| (market, HiddenDays::of(days.0, sight.floors(market))));
    let mut keys = Vec::with_capacity(found.len());
    for (one, letters) in found.iter().zip(&letters) {
        let of_market = hidden.iter().find(|(market, _)| *market == one.symbol.market());
        let hidden = of_market.map_or_else(HiddenDays::default, |(_, hidden)| *hidden);
        keys.push(letters.as_ref().map(|letters| badness(DayCounts::of(letters, hidden))));
    }
    sort_by_keys(found, keys, is_ascending);
    Ok(letters.iter().filter(|letters| letters.is_none()).count())
}

/// Sorts the securities by their keys. Those without one come last in both directions, and equal
/// ones keep their order.
pub(super) fn sort_by_keys<K: Ord>(
    found: &mut Vec<&ListedSecurity>,
    keys: Vec<Option<K>>,
    is_ascending: bool,
) {
    let mut ranked: Vec<(Option<K>, &ListedSecurity)> = keys.into_iter().zip(found.drain(..)).collect();
    ranked.sort_by(|(one, _), (other, _)| match (one, other) {
        (Some(one), Some(other)) if is_ascending => one.cmp(other),
        _ => other.cmp(one),
    });
    found.extend(ranked.into_iter().map(|(_, one)| one));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_markets_are_documented() {
        assert_eq!(Market::ALL.map(Market::as_str), MARKETS);
    }

    #[test]
    fn days_before_a_floor_are_not_counted() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        let counts = |floors: Floors| {
            let hidden = HiddenDays::of(date("2026-11-09"), floors);
            let DayCounts { missing, partial, after_last, expected } = DayCounts::of("mpc-.mp", hidden);
            assert_eq!(after_last, 0);
            (missing, partial, expected)
        };
        assert_eq!(counts(Floors::NONE), (2, 2, 5));
        let (day, minute) = (Some(date("2026-11-10")), Some(date("2026-11-12")));
        assert_eq!(counts(Floors { day, minute }), (1, 1, 4));
        // A floor before the range hides nothing; a floor after the range hides everything.
        assert_eq!(counts(Floors { day: Some(date("2004-06-01")), minute: None }), (2, 2, 5));
        assert_eq!(counts(Floors { day: Some(date("2027-01-01")), minute: None }), (0, 0, 0));
    }

    #[test]
    fn days_after_the_last_candle_are_not_gaps() {
        for (letters, expected) in [
            ("cmc-m.m", (1, 0, 2, 3)),
            ("mmm", (0, 0, 3, 0)),
            ("..pm--", (0, 1, 1, 1)),
            ("c-c..", (0, 0, 0, 2)),
        ] {
            let DayCounts { missing, partial, after_last, expected: all } =
                DayCounts::of(letters, HiddenDays::default());
            assert_eq!((missing, partial, after_last, all), expected, "{letters}");
        }
        let ended = DayCounts::of("mmm", HiddenDays::default());
        let holed = DayCounts::of("cmc", HiddenDays::default());
        assert!(ended.holes() > holed.holes() && ended.gaps() < holed.gaps());
    }
}
