use std::fmt;
use std::str::FromStr;

use crate::{Date, Market, Period, parse_date};

/// Start of a market's served history: the first trading day with daily candles, and the first with
/// minute candles. Older candles may be stored, but are not served to an account with a floor.
/// `None` means that all stored candles are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floors {
    pub day: Option<Date>,
    pub minute: Option<Date>,
}

/// Floors of all markets, for one account or for the whole service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloorTable {
    hk: Floors,
    us: Floors,
    cn: Floors,
}

/// Error returned for an invalid floor setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a valid history floor: write published, none, or dates like \
     HK.day=1995-01-03,US.minute=2020-01-02 (none for no floor; omitted ones are as published)"
)]
pub struct ParseFloorsError(String);

impl Floors {
    /// No floors: all stored candles are served.
    pub const NONE: Floors = Floors { day: None, minute: None };

    /// Returns the floors that the service publishes for a market.
    pub const fn published(market: Market) -> Floors {
        use jiff::civil::date;
        let (day, minute) = match market {
            Market::Hk => (date(2004, 6, 1), date(2022, 9, 28)),
            Market::Us => (date(2010, 6, 1), date(2023, 12, 4)),
            Market::Cn => (date(1999, 11, 1), date(2022, 8, 25)),
        };
        Floors { day: Some(day), minute: Some(minute) }
    }

    /// Returns the floor that applies to a period: `minute` for minute periods, `day` for daily and
    /// longer periods.
    pub fn of(self, period: Period) -> Option<Date> {
        if period.is_clock() { self.minute } else { self.day }
    }
}

impl FloorTable {
    /// No floors: all stored candles are served.
    pub const NONE: FloorTable = FloorTable { hk: Floors::NONE, us: Floors::NONE, cn: Floors::NONE };
    /// The floors that the service publishes.
    pub const PUBLISHED: FloorTable = FloorTable {
        hk: Floors::published(Market::Hk),
        us: Floors::published(Market::Us),
        cn: Floors::published(Market::Cn),
    };

    pub fn of(&self, market: Market) -> Floors {
        match market {
            Market::Hk => self.hk,
            Market::Us => self.us,
            Market::Cn => self.cn,
        }
    }

    fn of_mut(&mut self, market: Market) -> &mut Floors {
        match market {
            Market::Hk => &mut self.hk,
            Market::Us => &mut self.us,
            Market::Cn => &mut self.cn,
        }
    }
}

impl Default for FloorTable {
    fn default() -> FloorTable {
        FloorTable::PUBLISHED
    }
}

impl FromStr for FloorTable {
    type Err = ParseFloorsError;

    fn from_str(text: &str) -> Result<FloorTable, ParseFloorsError> {
        let wrong = || ParseFloorsError(text.chars().take(120).collect());
        match text.trim() {
            "published" => return Ok(FloorTable::PUBLISHED),
            "none" => return Ok(FloorTable::NONE),
            _ => {}
        }
        let mut table = FloorTable::PUBLISHED;
        let mut named: Vec<(Market, &str)> = Vec::new();
        for entry in text.split(',') {
            let (name, value) = entry.trim().split_once('=').ok_or_else(wrong)?;
            let (market, grain) = name.split_once('.').ok_or_else(wrong)?;
            let market = Market::parse(market).ok_or_else(wrong)?;
            let floors = table.of_mut(market);
            let floor = match value {
                "none" => None,
                // Accept eight digits, as in the protocol, and dates with dashes.
                date => Some(date.parse().or_else(|_| parse_date(date)).map_err(|_| wrong())?),
            };
            match grain {
                "day" => floors.day = floor,
                "minute" => floors.minute = floor,
                _ => return Err(wrong()),
            }
            // Reject a second date for the same floor, because one of the two dates would be
            // silently ignored.
            if named.contains(&(market, grain)) {
                return Err(wrong());
            }
            named.push((market, grain));
        }
        Ok(table)
    }
}

/// Writes the format that [`FloorTable`] parses. Floors with their published date are omitted.
impl fmt::Display for FloorTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == FloorTable::PUBLISHED {
            return f.pad("published");
        }
        if *self == FloorTable::NONE {
            return f.pad("none");
        }
        let mut entries = Vec::new();
        for market in Market::ALL {
            let (floors, published) = (self.of(market), Floors::published(market));
            let grains = [("day", floors.day, published.day), ("minute", floors.minute, published.minute)];
            for (grain, floor, _) in grains.into_iter().filter(|(_, floor, usual)| floor != usual) {
                let date = floor.map_or_else(|| "none".to_owned(), |date| date.to_string());
                entries.push(format!("{market}.{grain}={date}"));
            }
        }
        f.pad(&entries.join(","))
    }
}
