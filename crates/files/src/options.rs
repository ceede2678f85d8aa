use std::str::FromStr;

use market::{Grain, Region, Symbol, parse_scaled};

use crate::{DecimalMark, TimeFormat};

/// Settings of the user, which override what is detected in the file. By default, everything is
/// detected.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The candles' period: one minute, one day, or an importable coarse grain. Inferred from the
    /// first rows if `None`.
    pub period: Option<Grain>,
    /// Region of tickers that are written without a region.
    pub region: Option<Region>,
    /// The security of a file without a symbol column. If `None`, the symbol is taken from the
    /// file's name.
    pub symbol: Option<GivenSymbol>,
    /// Column names set by the user, which take precedence over the recognised names.
    pub map: Vec<(Field, String)>,
    /// Names of columns that are treated as absent.
    pub ignored: Vec<String>,
    /// The time format, for files where it is ambiguous.
    pub time_format: Option<TimeFormat>,
    /// Column names of a file without a header, in order.
    pub columns: Vec<String>,
    /// The decimal mark, for files where it is ambiguous.
    pub decimal: Option<DecimalMark>,
    /// Factors set by the user. If neither volume nor turnover has one, vendors' lots are converted to
    /// shares.
    pub scale: Scale,
    /// Whether a minute candle is stamped with its start or its end. `None` for the vendor's
    /// convention.
    pub stamp: Option<Stamp>,
    /// Whether to estimate the turnover from prices and volume if the file has none.
    pub estimate_turnover: bool,
}

/// The symbol that the user has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenSymbol {
    Whole(Symbol),
    /// A ticker without a region, which depends on the other options and on the file.
    Ticker(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    Start,
    End,
}

/// The meaning of a column in a candle or trade table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    Symbol,
    Time,
    Date,
    Open,
    High,
    Low,
    Close,
    Volume,
    Turnover,
    Vwap,
    Session,
    /// Price of a single trade.
    Price,
    Direction,
    Type,
}

/// Exact factors by which the file's numbers are multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    pub price: Option<Ratio>,
    pub volume: Option<Ratio>,
    pub turnover: Option<Ratio>,
}

/// A positive exact factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    pub(crate) numer: i128,
    pub(crate) denom: i128,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseOptionError {
    #[error(transparent)]
    Symbol(#[from] market::ParseSymbolError),
    #[error(
        "{0:?} is not a column: symbol, time, date, open, high, low, close, volume, turnover, vwap and session are; of trades price, direction and type"
    )]
    Field(String),
    #[error("{0:?} is not a factor: write a number above zero, like 0.001 or 100")]
    Ratio(String),
    #[error("{0:?} is not a stamp: start and end are")]
    Stamp(String),
    #[error(
        "{0:?} is not a format of times: write mdy, dmy, or a pattern with a date in it like %d.%m.%Y %H:%M"
    )]
    TimeFormat(String),
    #[error("{0:?} is not a decimal mark: point and comma are")]
    DecimalMark(String),
    #[error("{0:?} is not a pair: write name=value, with commas between pairs")]
    Pair(String),
    #[error("{0:?} cannot be scaled: price, volume and turnover can")]
    Scaled(String),
}

impl Field {
    const NAMES: [(&'static str, Field); 14] = [
        ("symbol", Field::Symbol),
        ("time", Field::Time),
        ("date", Field::Date),
        ("open", Field::Open),
        ("high", Field::High),
        ("low", Field::Low),
        ("close", Field::Close),
        ("volume", Field::Volume),
        ("turnover", Field::Turnover),
        ("vwap", Field::Vwap),
        ("session", Field::Session),
        ("price", Field::Price),
        ("direction", Field::Direction),
        ("type", Field::Type),
    ];

    pub fn as_str(self) -> &'static str {
        Field::NAMES.into_iter().find(|(_, field)| *field == self).map_or("", |(name, _)| name)
    }

    /// Parses `--map time=when,close=last` to pairs of field and column name.
    pub fn parse_map(text: &str) -> Result<Vec<(Field, String)>, ParseOptionError> {
        ColumnMap::parse(text).map(|map| map.fields)
    }
}

/// A parsed `--map time=when,close=last,notes=-`: mapped and ignored columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMap {
    pub fields: Vec<(Field, String)>,
    pub ignored: Vec<String>,
}

impl ColumnMap {
    pub fn parse(text: &str) -> Result<ColumnMap, ParseOptionError> {
        let mut map = ColumnMap::default();
        for pair in pairs(text) {
            match pair? {
                (column, "-") if !column.is_empty() => map.ignored.push(column.to_owned()),
                (field, column) => map.fields.push((field.parse()?, column.to_owned())),
            }
        }
        Ok(map)
    }
}

impl FromStr for Field {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Field, ParseOptionError> {
        let named = Field::NAMES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        named.map(|(_, field)| field).ok_or_else(|| ParseOptionError::Field(short(text)))
    }
}

impl FromStr for GivenSymbol {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<GivenSymbol, ParseOptionError> {
        let text = text.trim();
        let wrong = match text.parse::<Symbol>() {
            Ok(symbol) => return Ok(GivenSymbol::Whole(symbol)),
            Err(wrong) => wrong,
        };
        let (ticker, class) = text.split_once(['-', '.']).unwrap_or((text, ""));
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let is_ticker =
            (1..=6).contains(&ticker.len()) && class.len() <= 1 && is_plain(ticker) && is_plain(class);
        if is_ticker { Ok(GivenSymbol::Ticker(text.to_owned())) } else { Err(wrong.into()) }
    }
}

impl std::fmt::Display for GivenSymbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GivenSymbol::Whole(symbol) => f.write_str(symbol.as_str()),
            GivenSymbol::Ticker(ticker) => f.write_str(ticker),
        }
    }
}

impl From<Symbol> for GivenSymbol {
    fn from(symbol: Symbol) -> GivenSymbol {
        GivenSymbol::Whole(symbol)
    }
}

impl FromStr for Stamp {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Stamp, ParseOptionError> {
        match text {
            "start" => Ok(Stamp::Start),
            "end" => Ok(Stamp::End),
            _ => Err(ParseOptionError::Stamp(short(text))),
        }
    }
}

impl FromStr for DecimalMark {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<DecimalMark, ParseOptionError> {
        match text {
            "point" | "." => Ok(DecimalMark::Point),
            "comma" | "," => Ok(DecimalMark::Comma),
            _ => Err(ParseOptionError::DecimalMark(short(text))),
        }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.numer, self.denom)
    }
}

impl Ratio {
    /// Creates a factor from a whole number above zero.
    pub(crate) const fn whole(factor: i128) -> Ratio {
        Ratio { numer: factor, denom: 1 }
    }
}

impl FromStr for Ratio {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Ratio, ParseOptionError> {
        const DECIMALS: u32 = 9;
        let wrong = || ParseOptionError::Ratio(short(text));
        let (value, exact) = parse_scaled(text.trim().as_bytes(), DECIMALS).map_err(|_| wrong())?;
        // A factor above a trillion would put every price out of range.
        if !exact || value <= 0 || value > 10i128.pow(DECIMALS + 12) {
            return Err(wrong());
        }
        let denom = 10i128.pow(DECIMALS);
        let common = gcd(value, denom);
        Ok(Ratio { numer: value / common, denom: denom / common })
    }
}

impl FromStr for Scale {
    type Err = ParseOptionError;

    /// Parses `--scale price=0.001,volume=100`.
    fn from_str(text: &str) -> Result<Scale, ParseOptionError> {
        let mut scale = Scale::default();
        for pair in pairs(text) {
            let (name, factor) = pair?;
            let factor = Some(factor.parse()?);
            match name {
                "price" => scale.price = factor,
                "volume" => scale.volume = factor,
                "turnover" => scale.turnover = factor,
                _ => return Err(ParseOptionError::Scaled(short(name))),
            }
        }
        Ok(scale)
    }
}

fn pairs(text: &str) -> impl Iterator<Item = Result<(&str, &str), ParseOptionError>> {
    text.split(',').map(|pair| {
        let (name, value) = pair.split_once('=').ok_or_else(|| ParseOptionError::Pair(short(pair)))?;
        Ok((name.trim(), value.trim()))
    })
}

pub(crate) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
