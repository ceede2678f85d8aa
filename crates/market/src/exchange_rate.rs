//! Built-in exchange rates: approximate values for a store in which no rate was reported yet.

use jiff::civil::Date;

/// Built-in rates hold from this day on. On it the Hong Kong dollar was linked to the US dollar at 7.8.
pub const BUILTIN_RATES_FROM: Date = Date::constant(1983, 10, 17);

/// HKD for one unit of a currency, in hundred-millionths.
pub const BUILTIN_RATES: [(&str, i64); 4] =
    [("CNH", 110_000_000), ("CNY", 110_000_000), ("SGD", 580_000_000), ("USD", 780_000_000)];

/// The built-in rate of a currency on a day. A reported rate of that day or before it takes precedence.
pub fn builtin_rate(currency: &str, day: Date) -> Option<i64> {
    let known = || BUILTIN_RATES.iter().find(|(known, _)| *known == currency);
    if day < BUILTIN_RATES_FROM { None } else { known().map(|(_, rate)| *rate) }
}

/// The currency whose reported rate replaces a missing one: the offshore renminbi has the rate of
/// the onshore one.
pub fn stand_in_currency(currency: &str) -> Option<&'static str> {
    (currency == "CNH").then_some("CNY")
}
