use jiff::civil::date;
use market::{Date, Region};

use super::events::{Event, Terms};

/// Fictional security with its listing data and its price model. The codes are in ranges that the
/// exchanges do not assign.
#[derive(Debug)]
pub(crate) struct DemoSecurity {
    pub(crate) symbol: &'static str,
    pub(crate) name_en: &'static str,
    pub(crate) name_cn: &'static str,
    pub(crate) name_hk: &'static str,
    pub(crate) exchange: &'static str,
    pub(crate) currency: &'static str,
    pub(crate) lot_size: i64,
    pub(crate) board: &'static str,
    pub(crate) listing_date: Date,
    /// Number of decimals in the security's prices.
    pub(crate) decimals: u32,
    pub(super) region: Region,
    pub(super) model: Model,
}

/// Price and volume model of a security.
#[derive(Debug)]
pub(super) struct Model {
    /// First reference price, in millionths of the currency.
    pub(super) start: i64,
    /// Yearly growth, in percent, of the value to which the price reverts.
    pub(super) growth: f64,
    /// Idiosyncratic daily volatility, in percent.
    pub(super) volatility: f64,
    /// Sensitivity to the market's move.
    pub(super) beta: f64,
    /// Average number of shares traded per day; 0 for an index.
    pub(super) volume: f64,
    /// Probability of a trade in a minute of regular hours.
    pub(super) minute_chance: f64,
    pub(super) quirk: Quirk,
    pub(super) events: &'static [Event],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quirk {
    None,
    /// No trading from 6 to 19 May in odd years.
    SuspendedInMay,
    /// Trading is halted for some time on volatile days.
    HaltedWhenWild,
    /// Trades in the overnight session as well.
    Overnight,
    /// Trades in the overnight session as well, and is halted for some time on volatile days.
    OvernightHaltedWhenWild,
}

impl Quirk {
    pub(super) fn overnight(self) -> bool {
        matches!(self, Quirk::Overnight | Quirk::OvernightHaltedWhenWild)
    }

    pub(super) fn halts(self) -> bool {
        matches!(self, Quirk::HaltedWhenWild | Quirk::OvernightHaltedWhenWild)
    }
}

impl DemoSecurity {
    pub(super) fn is_index(&self) -> bool {
        self.model.volume == 0.0
    }

    pub(super) fn suspended(&self, day: Date) -> bool {
        let in_may = day.month() == 5 && (6..=19).contains(&day.day());
        self.model.quirk == Quirk::SuspendedInMay && in_may && day.year() % 2 == 1
    }

    /// Returns the tick size at a price, both in millionths. Hong Kong's tick size grows with the
    /// price; US prices below a dollar move in hundredths of a cent.
    pub(super) fn tick(&self, price: i64) -> i64 {
        match self.region {
            Region::Sh | Region::Sz => 10_000,
            Region::Us if self.decimals > 3 && price < 1_000_000 => 100,
            Region::Us => 10_000,
            Region::Hk => {
                let row = HK_TICKS.iter().find(|(below, _)| price < *below);
                row.map_or(5_000_000, |(_, tick)| *tick)
            }
        }
    }

    /// Rounds a price to the nearest valid price, at least one tick. Each price band ends on a
    /// multiple of the next band's tick, so rounding up into the next band is valid.
    pub(super) fn snap(&self, price: f64) -> i64 {
        let price = price as i64;
        let tick = self.tick(price);
        ((price + tick / 2) / tick * tick).max(tick)
    }

    /// Returns the maximum daily move as a share of the reference price, or `None` if the exchange
    /// has no limit.
    pub(super) fn daily_limit(&self) -> Option<f64> {
        match (self.region, self.board) {
            (Region::Hk | Region::Us, _) => None,
            (_, "SHSTAR" | "SZGEMConnect") => Some(0.2),
            _ => Some(0.1),
        }
    }
}

/// Price bands in Hong Kong: upper end and tick size, both in millionths.
const HK_TICKS: [(i64, i64); 10] = [
    (250_000, 1_000),
    (500_000, 5_000),
    (10_000_000, 10_000),
    (20_000_000, 20_000),
    (100_000_000, 50_000),
    (200_000_000, 100_000),
    (500_000_000, 200_000),
    (1_000_000_000, 500_000),
    (2_000_000_000, 1_000_000),
    (5_000_000_000, 2_000_000),
];

pub(super) static SECURITIES: [DemoSecurity; 13] = [
    DemoSecurity {
        symbol: "9001.HK",
        name_en: "Lamplight Harbour Holdings",
        name_cn: "灯港控股",
        name_hk: "燈港控股",
        exchange: "SEHK",
        currency: "HKD",
        lot_size: 500,
        board: "HKEquity",
        listing_date: date(1997, 3, 18),
        decimals: 3,
        region: Region::Hk,
        model: Model {
            start: 32_000_000,
            growth: 6.5,
            volatility: 1.1,
            beta: 0.9,
            volume: 9_000_000.0,
            minute_chance: 0.998,
            quirk: Quirk::None,
            events: &[
                Event::yearly(2004, 1, 3, 12, Terms::cash(420, 25)),
                Event::yearly(2004, 1, 9, 10, Terms::cash(300, 18)),
                Event::once(2018, 9, 10, Terms::cash(5_000, 0)),
            ],
        },
    },
    DemoSecurity {
        symbol: "9002.HK",
        name_en: "Tallow & Wick Stores",
        name_cn: "烛芯百货",
        name_hk: "燭芯百貨",
        exchange: "SEHK",
        currency: "HKD",
        lot_size: 1000,
        board: "HKEquity",
        listing_date: date(2006, 11, 2),
        decimals: 3,
        region: Region::Hk,
        model: Model {
            start: 4_800_000,
            growth: 5.0,
            volatility: 1.8,
            beta: 1.1,
            volume: 14_000_000.0,
            minute_chance: 0.96,
            quirk: Quirk::SuspendedInMay,
            events: &[
                Event::yearly(2007, 1, 6, 15, Terms::cash(60, 4)),
                Event::yearly(2007, 1, 12, 8, Terms::cash(50, 3)),
                Event::once(2012, 4, 16, Terms::rights(1, 4, 3_200)),
            ],
        },
    },
    DemoSecurity {
        symbol: "9003.HK",
        name_en: "Beeswax Biologics",
        name_cn: "蜂蜡生物",
        name_hk: "蜂蠟生物",
        exchange: "SEHK",
        currency: "HKD",
        lot_size: 100,
        board: "HKEquity",
        listing_date: date(2021, 7, 8),
        decimals: 3,
        region: Region::Hk,
        model: Model {
            start: 118_000_000,
            growth: 9.0,
            volatility: 2.6,
            beta: 1.3,
            volume: 3_500_000.0,
            minute_chance: 0.985,
            quirk: Quirk::None,
            events: &[Event::once(2024, 6, 11, Terms::split(4, 1))],
        },
    },
    DemoSecurity {
        symbol: "9004.HK",
        name_en: "Old Snuffer Shipping",
        name_cn: "剪烛航运",
        name_hk: "剪燭航運",
        exchange: "SEHK",
        currency: "HKD",
        lot_size: 2000,
        board: "HKEquity",
        listing_date: date(2000, 5, 24),
        decimals: 3,
        region: Region::Hk,
        model: Model {
            start: 2_150_000,
            growth: -13.0,
            volatility: 2.4,
            beta: 0.8,
            volume: 900_000.0,
            minute_chance: 0.14,
            quirk: Quirk::None,
            events: &[
                Event::once(2016, 3, 21, Terms::split(1, 10)),
                Event::once(2009, 8, 17, Terms::rights(1, 2, 650)),
            ],
        },
    },
    DemoSecurity {
        symbol: "CNDL.US",
        name_en: "Candlemaker Technologies",
        name_cn: "造烛科技",
        name_hk: "造燭科技",
        exchange: "NASD",
        currency: "USD",
        lot_size: 1,
        board: "USMain",
        listing_date: date(1999, 12, 13),
        decimals: 3,
        region: Region::Us,
        model: Model {
            start: 46_000_000,
            growth: 21.0,
            volatility: 1.4,
            beta: 1.2,
            volume: 3_000_000.0,
            minute_chance: 1.0,
            quirk: Quirk::Overnight,
            events: &[
                Event::once(2014, 6, 9, Terms::split(2, 1)),
                Event::once(2020, 8, 31, Terms::split(4, 1)),
                Event::once(2025, 6, 10, Terms::split(2, 1)),
                Event::yearly(2013, 1, 2, 8, Terms::cash(110, 4)),
                Event::yearly(2013, 1, 5, 8, Terms::cash(110, 4)),
                Event::yearly(2013, 1, 8, 8, Terms::cash(120, 4)),
                Event::yearly(2013, 1, 11, 8, Terms::cash(120, 4)),
            ],
        },
    },
    DemoSecurity {
        symbol: "WICK.US",
        name_en: "Wick Energy",
        name_cn: "灯芯能源",
        name_hk: "燈芯能源",
        exchange: "NYSE",
        currency: "USD",
        lot_size: 1,
        board: "USMain",
        listing_date: date(2004, 4, 22),
        decimals: 3,
        region: Region::Us,
        model: Model {
            start: 27_000_000,
            growth: 3.0,
            volatility: 2.3,
            beta: 1.1,
            volume: 5_500_000.0,
            minute_chance: 0.99,
            quirk: Quirk::OvernightHaltedWhenWild,
            events: &[Event::once(2017, 12, 18, Terms::cash(3_500, 0))],
        },
    },
    DemoSecurity {
        symbol: "WAX.US",
        name_en: "Waxworks Consumer Brands",
        name_cn: "蜡坊消费",
        name_hk: "蠟坊消費",
        exchange: "NYSE",
        currency: "USD",
        lot_size: 1,
        board: "USMain",
        listing_date: date(1988, 9, 6),
        decimals: 3,
        region: Region::Us,
        model: Model {
            start: 41_000_000,
            growth: 7.5,
            volatility: 0.9,
            beta: 0.6,
            volume: 7_000_000.0,
            minute_chance: 0.995,
            quirk: Quirk::None,
            events: &[
                Event::yearly(2010, 1, 1, 10, Terms::cash(280, 20)),
                Event::yearly(2010, 1, 4, 10, Terms::cash(290, 20)),
                Event::yearly(2010, 1, 7, 10, Terms::cash(290, 20)),
                Event::yearly(2010, 1, 10, 10, Terms::cash(300, 20)),
            ],
        },
    },
    DemoSecurity {
        symbol: "SNUF.US",
        name_en: "Snuffer Minerals",
        name_cn: "熄灯矿业",
        name_hk: "熄燈礦業",
        exchange: "NASD",
        currency: "USD",
        lot_size: 1,
        board: "USMain",
        listing_date: date(2013, 2, 20),
        decimals: 4,
        region: Region::Us,
        model: Model {
            start: 1_900_000,
            growth: -12.0,
            volatility: 3.4,
            beta: 1.0,
            volume: 650_000.0,
            minute_chance: 0.42,
            quirk: Quirk::HaltedWhenWild,
            events: &[],
        },
    },
    DemoSecurity {
        symbol: ".CHDL.US",
        name_en: "Chandlery Composite Index",
        name_cn: "蜡烛综合指数",
        name_hk: "蠟燭綜合指數",
        exchange: "NASD",
        currency: "USD",
        lot_size: 1,
        board: "USSector",
        listing_date: date(1990, 1, 2),
        decimals: 3,
        region: Region::Us,
        model: Model {
            start: 1_070_000_000,
            growth: 10.0,
            volatility: 0.25,
            beta: 1.0,
            volume: 0.0,
            minute_chance: 1.0,
            quirk: Quirk::None,
            events: &[],
        },
    },
    DemoSecurity {
        symbol: "609001.SH",
        name_en: "Zhulong Heavy Industries",
        name_cn: "烛龙重工",
        name_hk: "燭龍重工",
        exchange: "SSE",
        currency: "CNY",
        lot_size: 100,
        board: "SHMainConnect",
        listing_date: date(1996, 6, 12),
        decimals: 3,
        region: Region::Sh,
        model: Model {
            start: 9_600_000,
            growth: 8.0,
            volatility: 1.5,
            beta: 1.0,
            volume: 32_000_000.0,
            minute_chance: 0.997,
            quirk: Quirk::None,
            events: &[
                Event::yearly(2000, 1, 6, 20, Terms::cash(120, 10)),
                Event::once(2010, 11, 3, Terms::rights(3, 10, 6_500)),
            ],
        },
    },
    DemoSecurity {
        symbol: "687001.SH",
        name_en: "Yingguang Chip Materials",
        name_cn: "荧光芯材",
        name_hk: "熒光芯材",
        exchange: "SSE",
        currency: "CNY",
        lot_size: 100,
        board: "SHSTAR",
        listing_date: date(2019, 7, 22),
        decimals: 3,
        region: Region::Sh,
        model: Model {
            start: 38_000_000,
            growth: 14.0,
            volatility: 2.4,
            beta: 1.2,
            volume: 6_000_000.0,
            minute_chance: 0.99,
            quirk: Quirk::None,
            events: &[],
        },
    },
    DemoSecurity {
        symbol: "009001.SZ",
        name_en: "Lingnan Waxes",
        name_cn: "岭南蜡业",
        name_hk: "嶺南蠟業",
        exchange: "SZSE",
        currency: "CNY",
        lot_size: 100,
        board: "SZMainNonConnect",
        listing_date: date(1998, 1, 15),
        decimals: 3,
        region: Region::Sz,
        model: Model {
            start: 14_500_000,
            growth: 3.0,
            volatility: 1.9,
            beta: 0.9,
            volume: 4_200_000.0,
            minute_chance: 0.9,
            quirk: Quirk::None,
            events: &[Event::yearly(2001, 1, 5, 25, Terms::cash(80, 4))],
        },
    },
    DemoSecurity {
        symbol: "309001.SZ",
        name_en: "Weiguang Pharmaceutical",
        name_cn: "微光医药",
        name_hk: "微光醫藥",
        exchange: "SZSE",
        currency: "CNY",
        lot_size: 100,
        board: "SZGEMConnect",
        listing_date: date(2009, 10, 30),
        decimals: 3,
        region: Region::Sz,
        model: Model {
            start: 31_000_000,
            growth: 16.0,
            volatility: 2.1,
            beta: 1.1,
            volume: 2_500_000.0,
            minute_chance: 0.99,
            quirk: Quirk::None,
            // A bonus issue of three shares for ten, with cash, occurs every other year, so that
            // the last two years always include one.
            events: &[Event::yearly(2012, 2, 6, 6, Terms::bonus(3, 10, 150))],
        },
    },
];
