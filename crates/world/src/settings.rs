use std::fmt;
use std::str::FromStr;

use market::{Market, Timestamp};

/// Maximum speed in thousandths: a million market seconds per machine second.
pub const SPEED_THOUSANDTHS_MAX: u64 = 1_000_000_000;
/// Maximum quiet time of `auto`, in milliseconds.
pub const QUIET_MS_MAX: u32 = 60_000;

/// First and last instant of a world, inclusive: a world has ended when its clock shows `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: Timestamp,
    end: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    #[error("the end {end} is before the start {start}")]
    EndBeforeStart { start: Timestamp, end: Timestamp },
    #[error("{0} is outside the years 1970 to 2099")]
    Year(Timestamp),
}

impl Span {
    /// 2100-01-01. Catches typos in the year.
    const YEARS_END: i64 = 4_102_444_800;

    pub fn new(start: Timestamp, end: Timestamp) -> Result<Span, SpanError> {
        if let Some(wrong) = [start, end].into_iter().find(|at| !(0..Span::YEARS_END).contains(&at.0)) {
            return Err(SpanError::Year(wrong));
        }
        if end < start { Err(SpanError::EndBeforeStart { start, end }) } else { Ok(Span { start, end }) }
    }

    pub fn start(&self) -> Timestamp {
        self.start
    }

    pub fn end(&self) -> Timestamp {
        self.end
    }

    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at <= self.end
    }
}

/// How the clock of a running world moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    /// Only by steps.
    #[default]
    Stepped,
    /// Market seconds per machine second, in thousandths: 1,000 is real time.
    Factor { thousandths: u64 },
    /// As fast as the connections receive their pushes.
    Max,
}

/// Whether the clock skips the time in which no market is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Skip {
    #[default]
    Closed,
    None,
}

/// The account whose rate limit and quota apply to the requests of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    #[default]
    None,
    /// The owner of the world.
    Owner,
}

/// Steps a world automatically: a step begins after `quiet_ms` without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auto {
    pub quiet_ms: u32,
}

/// A non-empty set of markets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markets([bool; 3]);

/// Settings of a world other than its span. The text format is `key=value`, separated by spaces.
/// Formatting writes all keys in this order; parsing gives a missing key its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub speed: Speed,
    pub skip: Skip,
    /// Markets whose trading hours determine skipped time and steps.
    pub markets: Markets,
    pub limits: Limits,
    pub auto: Option<Auto>,
    /// Whether a world pauses when its last connection is lost.
    pub pause_when_alone: bool,
    /// Whether night sessions count as trading hours.
    pub overnight: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseSettingsError {
    #[error("{0:?} is not a speed: write 0, 0.001 to 1000000, or max")]
    Speed(String),
    #[error("{0:?} is not a value of skip: write closed or none")]
    Skip(String),
    #[error("{0:?} is not a list of markets: write HK,US or HK,US,CN")]
    Markets(String),
    #[error("{0:?} is not a value of limits: write none or owner")]
    Limits(String),
    #[error("{0:?} is not a quiet time: write 1 to 60000 milliseconds")]
    Auto(String),
    #[error("{0:?} is neither on nor off")]
    Switch(String),
    #[error("{0:?} is not a setting of a world")]
    Key(String),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            speed: Speed::default(),
            skip: Skip::default(),
            markets: Markets::default(),
            limits: Limits::default(),
            auto: None,
            pause_when_alone: true,
            overnight: false,
        }
    }
}

impl Default for Markets {
    fn default() -> Markets {
        Markets([Market::Hk, Market::Us].into_iter().fold([false; 3], with))
    }
}

fn with([hk, us, cn]: [bool; 3], market: Market) -> [bool; 3] {
    match market {
        Market::Hk => [true, us, cn],
        Market::Us => [hk, true, cn],
        Market::Cn => [hk, us, true],
    }
}

impl Markets {
    /// Returns the set of these markets, or `None` if there are none.
    pub fn of(markets: impl IntoIterator<Item = Market>) -> Option<Markets> {
        let set = markets.into_iter().fold([false; 3], with);
        set.contains(&true).then_some(Markets(set))
    }

    pub fn iter(&self) -> impl Iterator<Item = Market> {
        Market::ALL.into_iter().zip(self.0).filter_map(|(market, is_in)| is_in.then_some(market))
    }
}

fn text_of(text: &str) -> String {
    text.chars().take(40).collect()
}

impl FromStr for Speed {
    type Err = ParseSettingsError;

    fn from_str(text: &str) -> Result<Speed, ParseSettingsError> {
        let wrong = || ParseSettingsError::Speed(text_of(text));
        if text == "max" {
            return Ok(Speed::Max);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return Err(wrong());
        }
        // `1.50000` equals `1.5`.
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 3 {
            return Err(wrong());
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        let fraction: u64 = format!("{fraction:0<3}").parse().map_err(|_| wrong())?;
        let thousandths = whole.checked_mul(1_000).and_then(|whole| whole.checked_add(fraction));
        match thousandths {
            Some(0) => Ok(Speed::Stepped),
            Some(thousandths) if thousandths <= SPEED_THOUSANDTHS_MAX => Ok(Speed::Factor { thousandths }),
            _ => Err(wrong()),
        }
    }
}

impl FromStr for Skip {
    type Err = ParseSettingsError;

    fn from_str(text: &str) -> Result<Skip, ParseSettingsError> {
        match text {
            "closed" => Ok(Skip::Closed),
            "none" => Ok(Skip::None),
            _ => Err(ParseSettingsError::Skip(text_of(text))),
        }
    }
}

impl FromStr for Limits {
    type Err = ParseSettingsError;

    fn from_str(text: &str) -> Result<Limits, ParseSettingsError> {
        match text {
            "none" => Ok(Limits::None),
            "owner" => Ok(Limits::Owner),
            _ => Err(ParseSettingsError::Limits(text_of(text))),
        }
    }
}

impl FromStr for Markets {
    type Err = ParseSettingsError;

    fn from_str(text: &str) -> Result<Markets, ParseSettingsError> {
        let wrong = || ParseSettingsError::Markets(text_of(text));
        let markets: Option<Vec<Market>> = text.split(',').map(|name| Market::parse(name.trim())).collect();
        Markets::of(markets.ok_or_else(wrong)?).ok_or_else(wrong)
    }
}

impl FromStr for Auto {
    type Err = ParseSettingsError;

    fn from_str(text: &str) -> Result<Auto, ParseSettingsError> {
        let quiet_ms = text.parse().ok().filter(|quiet_ms| (1..=QUIET_MS_MAX).contains(quiet_ms));
        quiet_ms.map(|quiet_ms| Auto { quiet_ms }).ok_or_else(|| ParseSettingsError::Auto(text_of(text)))
    }
}

fn switch(text: &str) -> Result<bool, ParseSettingsError> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ParseSettingsError::Switch(text_of(text))),
    }
}

impl FromStr for Settings {
    type Err = ParseSettingsError;

    fn from_str(text: &str) -> Result<Settings, ParseSettingsError> {
        let mut settings = Settings::default();
        for word in text.split_ascii_whitespace() {
            let wrong = || ParseSettingsError::Key(text_of(word));
            let (key, value) = word.split_once('=').ok_or_else(wrong)?;
            match key {
                "speed" => settings.speed = value.parse()?,
                "skip" => settings.skip = value.parse()?,
                "markets" => settings.markets = value.parse()?,
                "limits" => settings.limits = value.parse()?,
                "auto" if value == "off" => settings.auto = None,
                "auto" => settings.auto = Some(value.parse()?),
                "pause_when_alone" => settings.pause_when_alone = switch(value)?,
                "overnight" => settings.overnight = switch(value)?,
                _ => return Err(wrong()),
            }
        }
        Ok(settings)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speed::Stepped => f.pad("0"),
            Speed::Max => f.pad("max"),
            Speed::Factor { thousandths } => {
                let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
                match rest {
                    0 => write!(f, "{whole}"),
                    _ => f.write_str(format!("{whole}.{rest:03}").trim_end_matches('0')),
                }
            }
        }
    }
}

impl fmt::Display for Markets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, market) in self.iter().enumerate() {
            write!(f, "{}{market}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Skip {
    pub fn as_str(self) -> &'static str {
        match self {
            Skip::Closed => "closed",
            Skip::None => "none",
        }
    }
}

impl Limits {
    pub fn as_str(self) -> &'static str {
        match self {
            Limits::None => "none",
            Limits::Owner => "owner",
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { speed, skip, markets, limits, auto, pause_when_alone, overnight } = self;
        let switch = |on: bool| if on { "on" } else { "off" };
        write!(f, "speed={speed} skip={} markets={markets} limits={}", skip.as_str(), limits.as_str())?;
        match auto {
            Some(Auto { quiet_ms }) => write!(f, " auto={quiet_ms}")?,
            None => f.write_str(" auto=off")?,
        }
        write!(f, " pause_when_alone={} overnight={}", switch(*pause_when_alone), switch(*overnight))
    }
}
