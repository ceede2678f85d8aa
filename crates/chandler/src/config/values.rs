//! Value types of the keys. Each type defines how a value is written in the file, in flags and in
//! variables, and which server setting it maps to.

use std::fmt::{self, Display};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use access::{LevelsFrom, PkceRule, Region};
use clap::ValueEnum;
use history::RunningTrades;
use market::{FloorTable, Market, Period};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use server::PublicUrl;

/// Minimum and maximum of a numeric value, both inclusive.
pub(crate) type Range = RangeInclusive<u32>;

/// Parses a value from a flag or a variable. Error messages do not name the flag or variable; the
/// caller adds the name.
pub(crate) trait FromFlag: Sized {
    const IS_LIST: bool = false;

    /// Parses a value from one string, or from several strings for a list. `range` applies only to
    /// numbers.
    fn from_flag(texts: &[String], range: &Range) -> Result<Self, String>;

    /// Returns the value if it is a number, to be checked against the key's range.
    fn number(&self) -> Option<u32> {
        None
    }
}

/// A value that maps to one server setting, possibly in another unit.
pub(crate) trait Setting<S> {
    fn of(setting: &S) -> Self;

    fn to_setting(&self) -> S;
}

/// A size in MiB. The corresponding setting is in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Mebibytes(pub(crate) u32);

/// A disk size, written as a whole number with a decimal unit: `10GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiskSize(u64);

/// A duration, written as `300s`, `5m` or `1h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(u64);

/// Name of a node. `None` stands for the host name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeName(Option<String>);

/// A market, written as HK, US or CN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarketName(pub(crate) Market);

impl MarketName {
    pub(crate) const ALL: [MarketName; 3] =
        [MarketName(Market::Hk), MarketName(Market::Us), MarketName(Market::Cn)];
}

impl Display for MarketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.as_str())
    }
}

impl FromStr for MarketName {
    type Err = String;

    fn from_str(text: &str) -> Result<MarketName, String> {
        let known = MarketName::ALL.into_iter().find(|market| market.0.as_str().eq_ignore_ascii_case(text));
        known.ok_or_else(|| format!("{text:?} is not a market: write HK, US or CN"))
    }
}

/// A period whose candles a mirror collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredPeriod(pub(crate) Period);

impl StoredPeriod {
    pub(crate) const ALL: [StoredPeriod; 2] = [StoredPeriod(Period::DAY), StoredPeriod(Period::MINUTE)];
}

impl Display for StoredPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl FromStr for StoredPeriod {
    type Err = String;

    fn from_str(text: &str) -> Result<StoredPeriod, String> {
        let known = StoredPeriod::ALL.into_iter().find(|period| period.0.to_string() == text);
        known.ok_or_else(|| format!("{text:?} is not a stored period: write day or 1m"))
    }
}

/// A listener for the accounts in one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RegionalConfig {
    #[serde(with = "text")]
    pub(crate) region: Region,
    pub(crate) listen: SocketAddr,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

impl<T: Clone> Setting<T> for T {
    fn of(setting: &T) -> T {
        setting.clone()
    }

    fn to_setting(&self) -> T {
        self.clone()
    }
}

impl Setting<usize> for u32 {
    fn of(setting: &usize) -> u32 {
        u32::try_from(*setting).unwrap_or(u32::MAX)
    }

    fn to_setting(&self) -> usize {
        usize::try_from(*self).unwrap_or(usize::MAX)
    }
}

impl Setting<usize> for Mebibytes {
    fn of(bytes: &usize) -> Mebibytes {
        Mebibytes(u32::of(&(bytes >> 20)))
    }

    fn to_setting(&self) -> usize {
        let mebibytes: usize = self.0.to_setting();
        mebibytes.saturating_mul(1 << 20)
    }
}

/// Whether trades of the running minute are hidden.
impl Setting<RunningTrades> for bool {
    fn of(setting: &RunningTrades) -> bool {
        *setting == RunningTrades::Hidden
    }

    fn to_setting(&self) -> RunningTrades {
        if *self { RunningTrades::Hidden } else { RunningTrades::Shown }
    }
}

/// An optional path. An empty string means none.
impl Setting<Option<PathBuf>> for String {
    fn of(setting: &Option<PathBuf>) -> String {
        setting.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }

    fn to_setting(&self) -> Option<PathBuf> {
        (!self.is_empty()).then(|| self.into())
    }
}

impl Setting<u64> for DiskSize {
    fn of(bytes: &u64) -> DiskSize {
        DiskSize(*bytes)
    }

    fn to_setting(&self) -> u64 {
        self.0
    }
}

impl Setting<Duration> for Span {
    fn of(while_: &Duration) -> Span {
        Span(while_.as_secs())
    }

    fn to_setting(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl Setting<Option<String>> for NodeName {
    fn of(name: &Option<String>) -> NodeName {
        NodeName(name.clone())
    }

    fn to_setting(&self) -> Option<String> {
        self.0.clone()
    }
}

impl Setting<Vec<(Region, SocketAddr)>> for Vec<RegionalConfig> {
    fn of(setting: &Vec<(Region, SocketAddr)>) -> Vec<RegionalConfig> {
        setting.iter().map(|&(region, listen)| RegionalConfig { region, listen }).collect()
    }

    fn to_setting(&self) -> Vec<(Region, SocketAddr)> {
        self.iter().map(|one| (one.region, one.listen)).collect()
    }
}

/// Returns the text of a single value. If a flag is repeated, the last value wins, as in clap.
fn one(texts: &[String]) -> &str {
    texts.last().map_or("", String::as_str)
}

fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

impl FromFlag for String {
    fn from_flag(texts: &[String], _: &Range) -> Result<String, String> {
        Ok(one(texts).to_owned())
    }
}

impl FromFlag for SocketAddr {
    fn from_flag(texts: &[String], _: &Range) -> Result<SocketAddr, String> {
        let text = one(texts);
        text.parse().map_err(|_| format!("{text:?} is not an address and a port: write 127.0.0.1:8080"))
    }
}

impl FromFlag for Option<SocketAddr> {
    fn from_flag(texts: &[String], range: &Range) -> Result<Option<SocketAddr>, String> {
        SocketAddr::from_flag(texts, range).map(Some)
    }
}

impl FromFlag for Option<PublicUrl> {
    fn from_flag(texts: &[String], _: &Range) -> Result<Option<PublicUrl>, String> {
        parsed(one(texts)).map(Some)
    }
}

impl FromFlag for FloorTable {
    fn from_flag(texts: &[String], _: &Range) -> Result<FloorTable, String> {
        parsed(one(texts))
    }
}

impl FromFlag for PkceRule {
    fn from_flag(texts: &[String], _: &Range) -> Result<PkceRule, String> {
        parsed(one(texts))
    }
}

impl FromFlag for LevelsFrom {
    fn from_flag(texts: &[String], _: &Range) -> Result<LevelsFrom, String> {
        parsed(one(texts))
    }
}

impl<T: FromStr<Err: Display>> FromFlag for Vec<T> {
    const IS_LIST: bool = true;

    fn from_flag(texts: &[String], _: &Range) -> Result<Vec<T>, String> {
        texts.iter().map(|text| parsed(text)).collect()
    }
}

impl FromFlag for u32 {
    fn from_flag(texts: &[String], range: &Range) -> Result<u32, String> {
        let text = one(texts);
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("{text:?} is not a number from {} to {}", range.start(), range.end()))
    }

    fn number(&self) -> Option<u32> {
        Some(*self)
    }
}

impl FromFlag for Mebibytes {
    fn from_flag(texts: &[String], range: &Range) -> Result<Mebibytes, String> {
        u32::from_flag(texts, range).map(Mebibytes)
    }

    fn number(&self) -> Option<u32> {
        Some(self.0)
    }
}

impl FromFlag for bool {
    fn from_flag(texts: &[String], _: &Range) -> Result<bool, String> {
        let text = one(texts);
        text.parse().map_err(|_| format!("{text:?} is neither true nor false"))
    }
}

impl FromFlag for LogFormat {
    fn from_flag(texts: &[String], _: &Range) -> Result<LogFormat, String> {
        let text = one(texts);
        LogFormat::from_str(text, false)
            .map_err(|_| format!("{text:?} is not a log format: write text or json"))
    }
}

impl FromStr for RegionalConfig {
    type Err = String;

    /// Parses `us=127.0.0.1:8081`.
    fn from_str(text: &str) -> Result<RegionalConfig, String> {
        let wrong = || format!("{text:?} is not a region with its address: write us=127.0.0.1:8081");
        let (region, listen) = text.split_once('=').ok_or_else(wrong)?;
        Ok(RegionalConfig {
            region: region.parse().map_err(|_| wrong())?,
            listen: listen.trim().parse().map_err(|_| wrong())?,
        })
    }
}

/// A regional listener written as a table in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegionalTable {
    #[serde(with = "text")]
    region: Region,
    listen: SocketAddr,
}

impl<'de> Deserialize<'de> for RegionalConfig {
    /// Accepts a string, as in the flag, or a table. An untagged enum is not used, because its
    /// errors report neither the cause nor the position.
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<RegionalConfig, D::Error> {
        struct LineOrTable;

        impl<'de> Visitor<'de> for LineOrTable {
            type Value = RegionalConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a line like \"us=127.0.0.1:8081\", or a table with region and listen")
            }

            fn visit_str<E: Error>(self, line: &str) -> Result<RegionalConfig, E> {
                line.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<RegionalConfig, A::Error> {
                let RegionalTable { region, listen } =
                    RegionalTable::deserialize(MapAccessDeserializer::new(table))?;
                Ok(RegionalConfig { region, listen })
            }
        }

        from.deserialize_any(LineOrTable)
    }
}

/// Size units. Each unit is a thousand times the previous unit.
const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
/// Minimum cache size in bytes. A smaller cache could not hold a single large security.
const CACHE_BYTES_MIN: u64 = 10_000_000;

/// Splits `10GB` into its number and its unit. `None` if there is no number.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start()))
}

impl FromStr for DiskSize {
    type Err = String;

    fn from_str(text: &str) -> Result<DiskSize, String> {
        let wrong = || format!("{text:?} is not a size: write a number with MB, GB or TB, as 10GB");
        let (number, unit) = number_and_unit(text.trim()).ok_or_else(wrong)?;
        let power = UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)).ok_or_else(wrong)?;
        let factor = (0..=power).fold(1_u64, |factor, _| factor.saturating_mul(1_000));
        match number.checked_mul(factor).filter(|bytes| i64::try_from(*bytes).is_ok()) {
            Some(bytes) if bytes >= CACHE_BYTES_MIN => Ok(DiskSize(bytes)),
            Some(_) => Err(format!("{text:?} is too small: write 10MB or more")),
            None => Err(wrong()),
        }
    }
}

impl Display for DiskSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut number, mut unit) = (self.0, "");
        for next in UNITS {
            if number % 1_000 != 0 || number == 0 {
                break;
            }
            (number, unit) = (number / 1_000, next);
        }
        write!(f, "{number}{unit}")
    }
}

/// Maximum offline window in seconds. Equals one day; after that the data would be far out of date.
const GRACE_S_MAX: u64 = 86_400;

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let wrong = || format!("{text:?} is not a duration of at most a day: write 300s, 5m or 1h");
        let (number, unit) = number_and_unit(text.trim()).ok_or_else(wrong)?;
        let seconds = match unit {
            "s" => Some(number),
            "m" => number.checked_mul(60),
            "h" => number.checked_mul(3_600),
            _ => None,
        };
        seconds.filter(|seconds| *seconds <= GRACE_S_MAX).map(Span).ok_or_else(wrong)
    }
}

impl Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            seconds if seconds % 3_600 == 0 => write!(f, "{}h", seconds / 3_600),
            seconds if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            seconds => write!(f, "{seconds}s"),
        }
    }
}

/// Maximum length of a node name in bytes, the same as for a DNS label.
const NODE_NAME_MAX: usize = 63;

impl FromStr for NodeName {
    type Err = String;

    /// Validates the name. It is used as a metrics label, in logs, and in a database row that other
    /// nodes read.
    fn from_str(text: &str) -> Result<NodeName, String> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        if text.len() > NODE_NAME_MAX || !text.chars().all(is_plain) {
            return Err(format!(
                "{text:?} cannot name a server: at most {NODE_NAME_MAX} letters, digits, dots and dashes"
            ));
        }
        Ok(NodeName((!text.is_empty()).then(|| text.to_owned())))
    }
}

impl Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl FromFlag for DiskSize {
    fn from_flag(texts: &[String], _: &Range) -> Result<DiskSize, String> {
        parsed(one(texts))
    }
}

impl FromFlag for Span {
    fn from_flag(texts: &[String], _: &Range) -> Result<Span, String> {
        parsed(one(texts))
    }
}

impl FromFlag for NodeName {
    fn from_flag(texts: &[String], _: &Range) -> Result<NodeName, String> {
        parsed(one(texts))
    }
}

/// Serializes a value as a string, with its `Display` and `FromStr` implementations.
pub(super) mod text {
    use super::{Deserialize, Display, Error, FromStr};

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: serde::Deserializer<'de>,
    {
        String::deserialize(from)?.parse().map_err(Error::custom)
    }

    pub(crate) fn serialize<T: Display, S: serde::Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }
}

/// Serializes each value of a list as a string.
pub(super) mod texts {
    use super::{Deserialize, Display, Error, FromStr};

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: serde::Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| text.parse().map_err(Error::custom)).collect()
    }

    pub(crate) fn serialize<T: Display, S: serde::Serializer>(
        values: &[T],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(ToString::to_string))
    }
}

/// Serializes an optional value as a string. `None` is an empty string, because the annotated file
/// lists every key.
pub(super) mod text_or_none {
    use super::{Deserialize, Display, Error, FromStr};

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: serde::Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(Error::custom) }
    }

    pub(crate) fn serialize<T: Display, S: serde::Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_str(""),
        }
    }
}

/// Serializes an optional socket address. A separate module is needed because the standard
/// library's parse error does not show the expected format.
pub(super) mod address_or_none {
    use std::net::SocketAddr;

    use super::{Deserialize, Error};

    pub(crate) use super::text_or_none::serialize;

    pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SocketAddr>, D::Error> {
        let text = String::deserialize(from)?;
        let wrong =
            |_| D::Error::custom(format!("{text:?} is not an address and a port: write 10.0.0.7:9090"));
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(wrong) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_durations_and_names_are_parsed() {
        for (text, bytes) in [
            ("10GB", 10_000_000_000),
            ("10 gb", 10_000_000_000),
            ("1500MB", 1_500_000_000),
            ("2TB", 2_000_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(DiskSize(bytes)), "{text}");
        }
        for text in ["", "10", "GB", "-1GB", "1.5GB", "10GiB", "9MB", "99999999999999TB"] {
            assert!(text.parse::<DiskSize>().is_err(), "{text}");
        }
        assert_eq!(
            [DiskSize(10_000_000_000), DiskSize(1_500_000_000)].map(|size| size.to_string()),
            ["10GB", "1500MB"]
        );
        for (text, seconds) in [("300s", 300), ("5m", 300), ("1h", 3_600), ("0s", 0), ("24h", 86_400)] {
            assert_eq!(text.parse(), Ok(Span(seconds)), "{text}");
        }
        for text in ["", "5", "m", "25h", "-5m", "5d"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!([300, 90, 7_200, 0].map(|seconds| Span(seconds).to_string()), ["5m", "90s", "2h", "0s"]);
        assert_eq!("node-1.b".parse(), Ok(NodeName(Some("node-1.b".to_owned()))));
        assert_eq!("".parse(), Ok(NodeName(None)));
        for text in ["a b", "a\nb", "\"", &"x".repeat(64)] {
            assert!(text.parse::<NodeName>().is_err(), "{text}");
        }
    }
}
