//! `symbols`: the facts about a security that a chart needs before it requests candles.

use history::Sessions;
use market::{Period, Symbol};
use schemars::JsonSchema;
use serde::Serialize;
use store::{Security, StoreError};

use super::form::{LANG, OrError, SYMBOL, TOKEN, WORDS, required, udf};
use super::ticker::Ticker;
use super::{config, hours, resolution};
use crate::caller::{Caller, Language};
use crate::kit::allowance::{Visible, may_see};
use crate::kit::doc::{AnswerDoc, Doc, Media};
use crate::kit::envelope::Problem;
use crate::kit::{Call, Site};
use crate::names::name_in;
use crate::refusal::Refusal;

pub(super) const SYMBOLS: Doc = udf("udfSymbols", "Symbol information for charts")
    .parameters(&[SYMBOL, LANG])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<UdfSymbol>>()])]);
pub(super) const SYMBOLS_BY_KEY: Doc = SYMBOLS.also("udfSymbolsByKey", &[TOKEN]);

/// Name, trading hours, time zone, price scale and resolutions of a ticker.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UdfSymbol {
    name: String,
    ticker: String,
    full_name: String,
    description: String,
    #[serde(rename = "type")]
    kind: &'static str,
    exchange: String,
    listed_exchange: String,
    timezone: &'static str,
    /// Trading hours of a full day: 0930-1200,1300-1601.
    session: String,
    /// Weekdays without trading: 20261225,20270101.
    session_holidays: String,
    /// Days with unusual hours: 0930-1300:20261127;…
    corrections: String,
    minmov: u32,
    pricescale: u64,
    format: &'static str,
    currency_code: String,
    has_intraday: bool,
    intraday_multipliers: Vec<String>,
    has_daily: bool,
    daily_multipliers: Vec<&'static str>,
    has_weekly_and_monthly: bool,
    weekly_multipliers: Vec<&'static str>,
    monthly_multipliers: Vec<String>,
    supported_resolutions: Vec<String>,
    volume_precision: u32,
    data_status: &'static str,
}

pub(super) fn answer(call: &Call<'_>, caller: &Caller, site: &Site) -> Result<UdfSymbol, Problem> {
    let ticker = Ticker::parse(&required(call, "symbol")?)?;
    let Visible { widest, floors } = may_see(&ticker.symbol, caller, site)?;
    let security = security(&ticker.symbol, site)?;
    let sessions = match ticker.sessions {
        // Sessions that the account may not see are omitted, as in its candles.
        Sessions::All => widest,
        sessions => sessions,
    };
    let venue = site.core.history.venue(&ticker.symbol);
    // Intraday candles before the floor are not served, so charts do not need the hours of earlier
    // days.
    let from = floors.minute.unwrap_or_else(|| venue.calendar().first());
    let today = venue.zone().date(caller.now());
    let all = periods(&ticker.symbol, caller, site)?;
    let (minutes, longer): (Vec<Period>, Vec<Period>) =
        all.iter().copied().partition(|period| period.is_clock());
    let names = |periods: &[Period]| periods.iter().copied().map(resolution::name).collect::<Vec<_>>();
    let months = longer
        .iter()
        .copied()
        .map(resolution::name)
        .filter_map(|name| Some(name.strip_suffix('M')?.to_owned()));
    let name = ticker.to_string();
    Ok(UdfSymbol {
        name: name.clone(),
        ticker: name.clone(),
        full_name: name,
        description: description(&ticker, &security, caller.language),
        kind: kind(&ticker.symbol),
        exchange: exchange(&security).to_owned(),
        listed_exchange: exchange(&security).to_owned(),
        timezone: venue.zone().name(),
        session: hours::week(venue, sessions, today),
        session_holidays: hours::holidays(venue, from),
        corrections: hours::corrections(venue, sessions, from),
        minmov: 1,
        pricescale: 10_u64.pow(security.decimals.min(market::DECIMALS_MAX)),
        format: "price",
        currency_code: security.currency.unwrap_or_else(|| ticker.symbol.market().currency().to_owned()),
        has_intraday: !minutes.is_empty(),
        intraday_multipliers: names(&minutes),
        has_daily: !longer.is_empty(),
        daily_multipliers: vec!["1"],
        has_weekly_and_monthly: !longer.is_empty(),
        weekly_multipliers: vec!["1"],
        monthly_multipliers: months.collect(),
        supported_resolutions: names(&all),
        volume_precision: 0,
        data_status: "endofday",
    })
}

/// Returns the periods that have candles, or all periods if the security has no candles.
fn periods(symbol: &Symbol, caller: &Caller, site: &Site) -> Result<Vec<Period>, Refusal> {
    let history = &site.core.history;
    let found = site.core.with_reader(|reader| history.periods(reader, symbol, caller.as_of));
    let found = found.map_err(Refusal::from)?;
    Ok(if found.is_empty() { Period::all().collect() } else { found })
}

pub(super) fn security(symbol: &Symbol, site: &Site) -> Result<Security, Refusal> {
    let found = site.core.with_reader(|reader| -> Result<_, StoreError> { reader.view().security(symbol) });
    let found = found.map_err(|error| {
        tracing::error!(%error, "cannot read a security");
        Refusal::Internal
    })?;
    Ok(found.unwrap_or_else(|| Security::new(symbol.clone())))
}

/// Returns the security's name, followed by the variant. The name is in the caller's language, or
/// in another language if missing, or the symbol if there is no name.
pub(super) fn description(ticker: &Ticker, security: &Security, language: Language) -> String {
    let name = name_in(security, language).unwrap_or(ticker.symbol.as_str());
    match ticker.manner(language) {
        manner if manner.is_empty() => name.to_owned(),
        manner => format!("{name} ({manner})"),
    }
}

pub(super) fn exchange(security: &Security) -> &str {
    let known = security.exchange.as_deref().filter(|exchange| !exchange.is_empty());
    known.unwrap_or(security.symbol.region().as_str())
}

pub(super) fn kind(symbol: &Symbol) -> &'static str {
    if symbol.is_index() { config::INDEX } else { config::STOCK }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_recognized_by_its_symbol() {
        for (symbol, wanted) in [
            (".SPX.US", "index"),
            ("HSI.HK", "index"),
            ("000001.SH", "index"),
            ("399001.SZ", "index"),
            ("BRK.B.US", "stock"),
            ("700.HK", "stock"),
            ("600519.SH", "stock"),
            ("000001.SZ", "stock"),
        ] {
            assert_eq!(kind(&symbol.parse().unwrap()), wanted, "{symbol}");
        }
    }

    #[test]
    fn a_missing_name_falls_back_to_the_symbol() {
        let ticker = Ticker::parse("9001.HK@forward").unwrap();
        let nameless = Security::new(ticker.symbol.clone());
        let named = Security { name_cn: Some("灯港".into()), ..nameless.clone() };
        assert_eq!(description(&ticker, &nameless, Language::En), "9001.HK (adjusted)");
        assert_eq!(description(&ticker, &named, Language::ZhHk), "灯港 (前復權)");
        assert_eq!(description(&Ticker::plain(ticker.symbol), &named, Language::En), "灯港");
    }
}
