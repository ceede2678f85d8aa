//! Determines the meaning of columns by their names.

use std::fmt;

use crate::spelling::Spelling;
use crate::{COLUMNS_MAX, Field, Problem, ReadOptions, Stamp};

/// The vendor of a table. It determines the spelling of symbols and whether a minute candle is
/// stamped with its start or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// Our own columns, or any table with plain column names.
    Plain,
    Yahoo,
    Stooq,
    Alpaca,
    Massive,
    Tushare,
    Futu,
    Eastmoney,
    /// Downloads from nasdaq.com.
    Nasdaq,
    /// Downloads from investing.com.
    Investing,
    /// Exports of MetaTrader 5.
    Metatrader,
    /// Text exports of TongDaXin, which have a title line above a Chinese header.
    Tongdaxin,
}

impl Vendor {
    pub fn as_str(self) -> &'static str {
        match self {
            Vendor::Plain => "plain",
            Vendor::Yahoo => "yahoo",
            Vendor::Stooq => "stooq",
            Vendor::Alpaca => "alpaca",
            Vendor::Massive => "massive",
            Vendor::Tushare => "tushare",
            Vendor::Futu => "futu",
            Vendor::Eastmoney => "eastmoney",
            Vendor::Nasdaq => "nasdaq",
            Vendor::Investing => "investing",
            Vendor::Metatrader => "metatrader",
            Vendor::Tongdaxin => "tongdaxin",
        }
    }

    pub(crate) fn spelling(self) -> Spelling {
        match self {
            Vendor::Plain | Vendor::Tushare | Vendor::Investing | Vendor::Metatrader => Spelling::Plain,
            Vendor::Yahoo => Spelling::Yahoo,
            Vendor::Stooq => Spelling::Stooq,
            Vendor::Alpaca | Vendor::Massive | Vendor::Nasdaq => Spelling::BareUs,
            Vendor::Futu => Spelling::Prefixed,
            Vendor::Eastmoney | Vendor::Tongdaxin => Spelling::ChineseDigits,
        }
    }

    /// Returns whether the vendor stamps a minute candle with its start or its end. Chinese vendors
    /// use the end: the first candle of a day is stamped 09:31, and the last candle with the close.
    pub(crate) fn stamp(self) -> Stamp {
        match self {
            Vendor::Tushare | Vendor::Futu | Vendor::Eastmoney | Vendor::Tongdaxin => Stamp::End,
            _ => Stamp::Start,
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The column or columns that hold a row's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeColumns {
    One(usize),
    DateAndClock(usize, usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CandleColumns {
    pub symbol: Option<usize>,
    pub time: TimeColumns,
    pub open: usize,
    pub high: usize,
    pub low: usize,
    pub close: usize,
    pub volume: Option<usize>,
    pub turnover: Option<usize>,
    pub vwap: Option<usize>,
    pub session: Option<usize>,
    /// Stooq's period column, which has the same value in every row.
    pub per: Option<usize>,
    /// Whether the time column is named as one of dates.
    pub is_dated: bool,
}

/// Columns of a table of single trades.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TradeColumns {
    pub symbol: Option<usize>,
    pub time: TimeColumns,
    pub price: usize,
    pub volume: usize,
    pub direction: Option<usize>,
    pub kind: Option<usize>,
}

/// The kind of a table, with the indexes of its columns.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Candles {
        vendor: Vendor,
        columns: CandleColumns,
    },
    Trades {
        vendor: Vendor,
        columns: TradeColumns,
    },
    /// Names and indexes of the columns that `records.rs` can read.
    Securities(Vec<(&'static str, usize)>),
    Actions(Vec<(&'static str, usize)>),
    Margins(Vec<(&'static str, usize)>),
    Suspensions(Vec<(&'static str, usize)>),
}

const SYMBOL: &[&str] =
    &["symbol", "ticker", "ts_code", "code", "s", "sym", "股票代码", "证券代码", "代码", "代碼"];
/// Names of time columns, in order of preference: a table with both `datetime` and `date` uses
/// `datetime`.
const TIME: &[&str] = &[
    "window_start",
    "timestamp",
    "datetime",
    "date_time",
    "time_key",
    "trade_time",
    "t",
    "ts",
    "time",
    "时间",
    "交易时间",
    "zeitstempel",
    "zeitpunkt",
    "trade_date",
    "date",
    "日期",
    "交易日期",
    "datum",
    "__index_level_0__",
];
/// Names of columns that together hold a time.
const DATE_AND_CLOCK: [(&str, &str); 6] = [
    ("date", "time"),
    ("日期", "时间"),
    ("日期", "時間"),
    ("交易日期", "交易时间"),
    ("datum", "zeit"),
    ("datum", "uhrzeit"),
];
const OPEN: &[&str] = &[
    "open",
    "o",
    "开盘",
    "开盘价",
    "開盤",
    "開盤價",
    "開市價",
    "eröffnung",
    "eröffn.",
    "eröffnungskurs",
    "eroeffnung",
    "erster",
];
const HIGH: &[&str] =
    &["high", "h", "最高", "最高价", "最高價", "hoch", "höchst", "höchstkurs", "hoechst", "tageshoch"];
const LOW: &[&str] = &["low", "l", "最低", "最低价", "最低價", "tief", "tiefst", "tiefstkurs", "tagestief"];
const CLOSE: &[&str] = &[
    "close",
    "c",
    "close/last",
    "收盘",
    "收盘价",
    "收盤",
    "收盤價",
    "收市價",
    "schluss",
    "schlusskurs",
    "schluß",
    "schlußkurs",
];
/// Names of a column that holds the close in a table with open, high and low, and the trade price
/// in other tables.
const PRICE_AS_CLOSE: &[&str] = &["price", "last", "zuletzt"];
/// German tables name the number of shares *Stück*, and then the turnover *Volumen*.
const VOLUME: &[&str] =
    &["stück", "stücke", "stueck", "stuecke", "volume", "vol", "v", "vol.", "成交量", "volumen"];
const TURNOVER: &[&str] = &["turnover", "amount", "成交额", "成交額", "成交金额", "umsatz", "volumen"];
const VWAP: &[&str] = &["vwap", "vw", "average", "wap"];
const SESSION: &[&str] = &["session", "trade_session"];
const PRICE: &[&str] = &["price", "last_done", "last", "px", "成交价", "成交价格"];
const TRADE_VOLUME: &[&str] = &["volume", "vol", "v", "size", "qty", "quantity", "成交量"];
const DIRECTION: &[&str] = &["direction", "side", "买卖方向"];
const TYPE: &[&str] = &["trade_type", "type", "成交类型"];

/// Returns the known column names of a field.
fn names_of(field: Field) -> &'static [&'static str] {
    match field {
        Field::Symbol => SYMBOL,
        Field::Time | Field::Date => TIME,
        Field::Open => OPEN,
        Field::High => HIGH,
        Field::Low => LOW,
        Field::Close => CLOSE,
        Field::Volume => VOLUME,
        Field::Turnover => TURNOVER,
        Field::Vwap => VWAP,
        Field::Session => SESSION,
        Field::Price => PRICE,
        Field::Direction => DIRECTION,
        Field::Type => TYPE,
    }
}

/// Returns the candle field with this column name, or `None` if the name is unknown.
pub(crate) fn field_of(name: &str) -> Option<Field> {
    let name = normal(name);
    let fields =
        [Field::Open, Field::High, Field::Low, Field::Close, Field::Volume, Field::Turnover, Field::Vwap];
    fields.into_iter().find(|field| names_of(*field).contains(&name.as_str()))
}

/// Returns whether a line of cells has the names of prices, as the header of a candle table does.
pub(crate) fn names_prices(names: &[String]) -> bool {
    let mut found: Vec<Field> = names.iter().filter_map(|name| field_of(name)).collect();
    found.retain(|field| matches!(field, Field::Open | Field::High | Field::Low | Field::Close));
    found.dedup();
    found.len() >= 3
}

/// Returns the time columns of a table, or `None` if it has none.
pub(crate) fn time_columns(names: &[String], options: &ReadOptions) -> Option<TimeColumns> {
    Header::new(names, options).time()
}

/// Returns the vendor of a table, recognised by its column names.
pub(crate) fn vendor_of(names: &[String], options: &ReadOptions) -> Vendor {
    Header::new(names, options).vendor()
}

const SECURITY: &[&str] = &[
    "name_en",
    "name_cn",
    "name_hk",
    "exchange",
    "currency",
    "lot_size",
    "board",
    "listing_date",
    "decimals",
    "total_shares",
    "circulating_shares",
    "hk_shares",
    "eps",
    "eps_ttm",
    "bps",
    "dividend_yield",
    "kind",
    "delisted_on",
    "from",
];
const ACTION: &[&str] = &["cash", "split", "bonus", "rights", "rights_price"];
/// A table of suspensions must have all of these columns.
const SUSPENSION: &[&str] = &["from", "to"];
/// A margin table must have all of these columns.
const MARGIN: &[&str] = &["im", "mm", "fm"];

/// Returns a column name in lower case, without a byte order mark, angle brackets and surrounding
/// spaces.
pub(crate) fn normal(name: &str) -> String {
    let trimmed = name.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    trimmed.trim_start_matches('<').trim_end_matches('>').trim().to_lowercase()
}

pub(crate) fn recognise(names: &[String], options: &ReadOptions) -> Result<Kind, Problem> {
    if names.len() > COLUMNS_MAX {
        return Err(Problem::Columns(names.len()));
    }
    let mut header = Header::new(names, options);
    // Vendors are recognised by all column names, including ignored ones.
    let vendor = header.vendor();
    header.check_map()?;
    options.ignored.iter().try_for_each(|column| header.ignore(column))?;
    let missing = match header.candles()? {
        Ok(columns) => return Ok(Kind::Candles { vendor, columns }),
        Err(missing) => missing,
    };
    if let (Some(symbol), Some(ex_date)) = (header.first(SYMBOL), header.first(&["ex_date"])) {
        let mut known = header.known(ACTION);
        if !known.is_empty() {
            known.extend([("symbol", symbol), ("ex_date", ex_date)]);
            known.extend(header.known(&["pay_date"]));
            return Ok(Kind::Actions(known));
        }
    }
    // A table with any price column is an incomplete candle table, not a list of securities.
    let priced = [OPEN, HIGH, LOW, CLOSE].iter().any(|names| header.first(names).is_some());
    if let (false, Some(columns)) = (priced, header.trades()) {
        return Ok(Kind::Trades { vendor, columns });
    }
    if let (Some(symbol), false) = (header.first(SYMBOL), priced) {
        let mut margins = header.known(MARGIN);
        if margins.len() == MARGIN.len() {
            margins.push(("symbol", symbol));
            return Ok(Kind::Margins(margins));
        }
        let mut suspensions = header.known(SUSPENSION);
        if suspensions.len() == SUSPENSION.len() {
            suspensions.push(("symbol", symbol));
            return Ok(Kind::Suspensions(suspensions));
        }
        let mut known = header.known(SECURITY);
        if !known.is_empty() {
            known.push(("symbol", symbol));
            return Ok(Kind::Securities(known));
        }
    }
    let headless =
        names.first().is_some_and(|name| name.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    let hint =
        if headless { " (the first line looks like a row; name the columns with --columns)" } else { "" };
    Err(Problem::Header { found: header.listing(), missing: missing.join(", ") + hint })
}

struct Header<'a> {
    raw: &'a [String],
    normal: Vec<String>,
    map: &'a [(Field, String)],
}

impl<'a> Header<'a> {
    fn new(names: &'a [String], options: &'a ReadOptions) -> Header<'a> {
        let normal = names.iter().map(|name| normal(name)).collect();
        Header { raw: names, normal, map: options.map.as_slice() }
    }
}

impl Header<'_> {
    fn first(&self, wanted: &[&str]) -> Option<usize> {
        wanted.iter().find_map(|wanted| self.normal.iter().position(|name| name == wanted))
    }

    fn has(&self, name: &str) -> bool {
        self.first(&[name]).is_some()
    }

    fn known(&self, wanted: &[&'static str]) -> Vec<(&'static str, usize)> {
        wanted.iter().filter_map(|name| Some((*name, self.first(&[name])?))).collect()
    }

    fn mapped(&self, field: Field) -> Option<usize> {
        let (_, column) = self.map.iter().find(|(mapped, _)| *mapped == field)?;
        self.first(&[&normal(column)])
    }

    fn field(&self, field: Field, names: &[&str]) -> Option<usize> {
        self.mapped(field).or_else(|| self.first(names))
    }

    fn check_map(&self) -> Result<(), Problem> {
        let unknown = self.map.iter().find(|(_, column)| self.first(&[&normal(column)]).is_none());
        unknown.map_or(Ok(()), |(_, column)| Err(Problem::Map(column.clone())))
    }

    /// Treats a column as absent. `column` is a column name, or a field whose column is ignored.
    fn ignore(&mut self, column: &str) -> Result<(), Problem> {
        let by_field = || column.parse::<Field>().ok().and_then(|field| self.field(field, names_of(field)));
        let place = self.first(&[&normal(column)]).or_else(by_field);
        let place = place.ok_or_else(|| Problem::Map(column.to_owned()))?;
        if let Some(name) = self.normal.get_mut(place) {
            // No known column name begins with a space, so this column is no longer found.
            name.insert(0, ' ');
        }
        Ok(())
    }

    /// Returns the columns of a candle table, or the names of the required fields without a column.
    fn candles(&self) -> Result<Result<CandleColumns, Vec<&'static str>>, Problem> {
        let mut missing = Vec::new();
        let is_price_close = [OPEN, HIGH, LOW].iter().all(|names| self.first(names).is_some());
        let mut need = |field: Field, names: &[&str]| {
            let price = || self.first(PRICE_AS_CLOSE).filter(|_| is_price_close && field == Field::Close);
            let found = self.field(field, names).or_else(price);
            if found.is_none() {
                missing.push(field.as_str());
            }
            found.unwrap_or_default()
        };
        let (open, high) = (need(Field::Open, OPEN), need(Field::High, HIGH));
        let (low, close) = (need(Field::Low, LOW), need(Field::Close, CLOSE));
        let Some(time) = self.time() else {
            missing.insert(0, Field::Time.as_str());
            return Ok(Err(missing));
        };
        if !missing.is_empty() {
            return Ok(Err(missing));
        }
        let volume = self.field(Field::Volume, VOLUME);
        Ok(Ok(CandleColumns {
            symbol: self.field(Field::Symbol, SYMBOL),
            time,
            open,
            high,
            low,
            close,
            volume,
            turnover: self.field(Field::Turnover, TURNOVER).filter(|column| Some(*column) != volume),
            vwap: self.field(Field::Vwap, VWAP),
            session: self.field(Field::Session, SESSION),
            per: self.first(&["per"]),
            is_dated: matches!(time, TimeColumns::One(at) if self.is_date(at)),
        }))
    }

    /// Returns the columns of a trade table (a time, a price and a volume), or `None` if one is
    /// missing.
    fn trades(&self) -> Option<TradeColumns> {
        Some(TradeColumns {
            symbol: self.field(Field::Symbol, SYMBOL),
            time: self.time()?,
            price: self.field(Field::Price, PRICE)?,
            volume: self.field(Field::Volume, TRADE_VOLUME)?,
            direction: self.field(Field::Direction, DIRECTION),
            kind: self.field(Field::Type, TYPE),
        })
    }

    fn is_date(&self, column: usize) -> bool {
        self.normal
            .get(column)
            .is_some_and(|name| matches!(name.as_str(), "trade_date" | "date" | "日期" | "交易日期"))
    }

    fn time(&self) -> Option<TimeColumns> {
        if let (Some(date), Some(clock)) = (self.mapped(Field::Date), self.mapped(Field::Time)) {
            return Some(TimeColumns::DateAndClock(date, clock));
        }
        if let Some(mapped) = self.mapped(Field::Time).or_else(|| self.mapped(Field::Date)) {
            return Some(TimeColumns::One(mapped));
        }
        for (date, clock) in DATE_AND_CLOCK {
            if let (Some(date), Some(clock)) = (self.first(&[date]), self.first(&[clock])) {
                return Some(TimeColumns::DateAndClock(date, clock));
            }
        }
        // pandas writes an unnamed index as a first column with an empty name.
        let unnamed = || self.normal.first().filter(|name| name.is_empty()).map(|_| 0);
        self.first(TIME).or_else(unnamed).map(TimeColumns::One)
    }

    fn vendor(&self) -> Vendor {
        let all = |names: &[&str]| names.iter().all(|name| self.has(name));
        let has_any = |names: &[&str]| names.iter().any(|name| self.has(name));
        let written = |name: &str| self.raw.iter().any(|raw| raw.trim() == name);
        if self.has("ts_code") {
            Vendor::Tushare
        } else if all(&["code", "time_key"]) {
            Vendor::Futu
        } else if all(&["ticker", "window_start"]) {
            Vendor::Massive
        } else if all(&["ticker", "per"]) {
            Vendor::Stooq
        } else if all(&["t", "o", "h", "l", "c"]) || all(&["timestamp", "trade_count", "vwap"]) {
            Vendor::Alpaca
        } else if has_any(&["开盘", "开盘价"]) && has_any(&["收盘", "收盘价"]) {
            Vendor::Eastmoney
        } else if self.has("tickvol") {
            Vendor::Metatrader
        } else if self.has("close/last") {
            Vendor::Nasdaq
        } else if all(&["price", "open", "vol.", "change %"]) {
            Vendor::Investing
        } else if self.has("adj close")
            || self.has("stock splits")
            || (written("Date") || written("Datetime")) && written("Open")
        {
            // Stooq's plain daily files have the same header as Yahoo's, and compatible symbols.
            Vendor::Yahoo
        } else {
            Vendor::Plain
        }
    }

    /// Lists the columns for an error message. Long headers are truncated.
    fn listing(&self) -> String {
        let shown: Vec<String> =
            self.raw.iter().take(20).map(|n| n.trim().chars().take(40).collect()).collect();
        let more = self.raw.len().saturating_sub(shown.len());
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{:?}{tail}", shown.join(","))
    }
}
