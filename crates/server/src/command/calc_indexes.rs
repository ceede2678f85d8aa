//! Command 26: calculated indexes that can be derived from stored prices, trades, shares and
//! earnings. All other indexes are left empty, which in the protocol means that an index does not
//! apply. No value is estimated.

use std::ops::RangeInclusive;

use access::Permit;
use history::{
    Adjust, Anchor, AsOf, Direction, Figures, HistoryError, Query, Quote, Select, SessionQuote, Sessions,
};
use market::{
    Date, DateSpan, Floors, PRICE_UNIT, Period, Price, SecurityKind, Symbol, Timestamp, Turnover,
    parse_scaled,
};
use store::{Reader, Security};
use wire::quote::{CalcIndex, CalcIndexes as Row, CalcIndexesRequest, CalcIndexesResponse};

use super::candles::seen;
use super::definition::{Command, Context, Subject, symbols};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// Number of daily candles read for comparisons with earlier closes. More than a year has, so a
/// year-to-date change is covered.
const DAYS_BACK: usize = 270;
/// Number of decimals in percentages and other ratios.
const RATIO_DECIMALS: u32 = 2;
const SCALE: u32 = market::DECIMALS_MAX;
/// Length of the five-minute change, in seconds.
const FIVE_MINUTES: i64 = 300;
/// Indexes that do not apply to warrants.
const OF_NO_WARRANT: RangeInclusive<i32> = 6..=18;

#[derive(Debug)]
pub(crate) struct CalcIndexes {
    symbols: Vec<Symbol>,
    indexes: Vec<CalcIndex>,
}

impl Command for CalcIndexes {
    const NUMBER: u8 = wire::command::CALC_INDEXES;
    const LABEL: &'static str = "calc_indexes";
    type Request = CalcIndexesRequest;
    type Response = CalcIndexesResponse;

    fn parse(request: CalcIndexesRequest, _: &Context<'_>) -> Result<CalcIndexes, Refusal> {
        let symbols = symbols(&request.symbols)?;
        // Unknown index numbers, sent by newer clients, are ignored.
        let indexes: Vec<CalcIndex> =
            request.calc_index.iter().filter_map(|number| CalcIndex::try_from(*number).ok()).collect();
        if request.calc_index.is_empty() {
            return Err(Refusal::BadQuery("no index is given".to_owned()));
        }
        Ok(CalcIndexes { symbols, indexes })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Prices
    }

    /// Omits securities that are unknown, have no candles, or that the account may not see.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<CalcIndexesResponse, Refusal> {
        let as_of = caller.as_of;
        let sessions = seen(Sessions::All, caller);
        let found = core.with_reader(|reader| {
            let mut rows = Vec::with_capacity(self.symbols.len());
            for symbol in self.symbols.iter().filter(|symbol| permit.holds(symbol.market().into())) {
                let floors = core.floors_of(permit.account()).of(symbol.market());
                if let Some(quote) = core.history.quote(reader, symbol, sessions, floors, as_of)? {
                    let facts = Facts::of(&quote, (&self.indexes, floors), core, reader, as_of)?;
                    rows.push(facts.row(&quote, &self.indexes));
                }
            }
            Ok(rows)
        });
        let security_calc_index = found.map_err(|error: HistoryError| Refusal::from(error))?;
        Ok(CalcIndexesResponse { security_calc_index })
    }
}

/// Inputs of the index calculations for one security.
struct Facts {
    last: Price,
    previous: Price,
    high: Price,
    low: Price,
    security: Option<Security>,
    /// Trading day of the quote.
    day: Date,
    /// Adjusted closes of earlier trading days, oldest first. Empty if no requested index needs
    /// earlier closes.
    closes: Vec<(Date, Price)>,
    /// Net inflow of the trading day. `None` if the day's trades are not stored or no requested
    /// index needs the inflow.
    flow: Option<Turnover>,
    /// Price five minutes before the day's newest price. `None` if no requested index needs that
    /// price.
    earlier: Option<Price>,
    is_warrant: bool,
}

impl Facts {
    fn of(
        quote: &Quote,
        (indexes, floors): (&[CalcIndex], Floors),
        core: &Core,
        reader: &mut Reader,
        as_of: AsOf,
    ) -> Result<Facts, HistoryError> {
        let SessionQuote { state, prev_close } = quote.regular;
        let (symbol, day) = (&quote.symbol, state.day);
        let zone = core.history.venue(symbol).zone();
        let mut closes = Vec::new();
        if indexes.iter().any(|index| looks_back(*index)) {
            let select =
                Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: DAYS_BACK };
            let query = Query {
                symbol: symbol.clone(),
                period: Period::DAY,
                // Adjusted, so that a split does not look like a loss.
                adjust: Adjust::Forward,
                sessions: Sessions::Intraday,
                floors,
                select,
            };
            let days = core.history.candles(reader, &query, as_of)?;
            let dated = days.candles.iter().map(|candle| (zone.date(candle.time), candle.close));
            closes = dated.filter(|(date, _)| *date < day).collect();
        }
        let flow = match indexes.contains(&CalcIndex::CapitalFlow) {
            true => day_flow(symbol, (day, floors), core, reader, as_of)?,
            false => None,
        };
        let earlier = match indexes.contains(&CalcIndex::FiveMinutesChangeRate) {
            true => five_minutes_before(symbol, (day, floors), core, reader, as_of)?,
            false => None,
        };
        let today = zone.date(as_of.now());
        let security = reader.view().security(symbol)?.map(|security| security.on(today));
        let board = security.as_ref().and_then(|security| security.board.as_deref());
        let kind = security.as_ref().and_then(|security| security.kind);
        let kind = kind.unwrap_or_else(|| SecurityKind::presumed(symbol, board));
        // Rounded like the quote, so that indexes agree with the prices that clients see.
        let shown = |price: Price| price.rounded(quote.decimals);
        Ok(Facts {
            last: shown(state.figures.last),
            previous: shown(prev_close),
            high: shown(state.figures.high),
            low: shown(state.figures.low),
            security,
            day,
            closes,
            flow,
            earlier,
            is_warrant: kind == SecurityKind::Warrant,
        })
    }

    fn row(&self, quote: &Quote, indexes: &[CalcIndex]) -> Row {
        let Figures { volume, turnover, .. } = quote.regular.state.figures;
        let price = |price: Price| price.text(quote.decimals).to_string();
        let mut row = Row { symbol: quote.symbol.as_str().to_owned(), ..Row::default() };
        let applies = |index: &&CalcIndex| !(self.is_warrant && OF_NO_WARRANT.contains(&i32::from(**index)));
        for index in indexes.iter().filter(applies) {
            match index {
                CalcIndex::Volume => row.volume = volume,
                CalcIndex::LastDone => row.last_done = price(self.last),
                CalcIndex::Turnover => row.turnover = turnover.text().to_string(),
                CalcIndex::ChangeVal => row.change_val = price(Price(self.last.0 - self.previous.0)),
                CalcIndex::ChangeRate => row.change_rate = self.since(Some(self.previous)),
                CalcIndex::Amplitude => {
                    row.amplitude = percent(self.high.0 - self.low.0, self.previous.0);
                }
                CalcIndex::YtdChangeRate => row.ytd_change_rate = self.since(self.year_end()),
                CalcIndex::FiveDayChangeRate => row.five_day_change_rate = self.since(self.days_before(5)),
                CalcIndex::TenDayChangeRate => row.ten_day_change_rate = self.since(self.days_before(10)),
                CalcIndex::FiveMinutesChangeRate => row.five_minutes_change_rate = self.since(self.earlier),
                CalcIndex::HalfYearChangeRate => row.half_year_change_rate = self.since(self.half_year()),
                CalcIndex::TurnoverRate => {
                    let shares = self.security.as_ref().and_then(|security| security.circulating_shares);
                    row.turnover_rate = percent(volume, shares.unwrap_or(0));
                }
                CalcIndex::CapitalFlow => {
                    row.capital_flow = self.flow.map(|flow| flow.text().to_string()).unwrap_or_default();
                }
                CalcIndex::TotalMarketValue => row.total_market_value = self.market_value(),
                CalcIndex::PeTtmRatio => {
                    row.pe_ttm_ratio = ratio(self.last.0, self.stored(|security| &security.eps_ttm));
                }
                CalcIndex::PbRatio => {
                    row.pb_ratio = ratio(self.last.0, self.stored(|security| &security.bps));
                }
                CalcIndex::DividendRatioTtm => {
                    // The stored value is the dividend per share.
                    let dividend = self.stored(|security| &security.dividend_yield);
                    row.dividend_ratio_ttm =
                        dividend.map(|dividend| percent(dividend, self.last.0)).unwrap_or_default();
                }
                // Warrant and option indexes need contract terms, and the remaining indexes need
                // data that is not stored.
                _ => {}
            }
        }
        row
    }

    /// Returns the change from `price` to the last price in percent, or an empty string if `price`
    /// is `None`.
    fn since(&self, price: Option<Price>) -> String {
        price.map(|price| percent(self.last.0 - price.0, price.0)).unwrap_or_default()
    }

    /// Returns the close `days` trading days ago, or `None` if fewer closes are known.
    fn days_before(&self, days: usize) -> Option<Price> {
        let at = self.closes.len().checked_sub(days)?;
        self.closes.get(at).map(|(_, close)| *close)
    }

    /// Returns the last close of the previous calendar year, or `None` if that year has no closes.
    fn year_end(&self) -> Option<Price> {
        let (date, close) = self.closes.iter().rfind(|(date, _)| date.year() < self.day.year())?;
        (date.year() == self.day.year() - 1).then_some(*close)
    }

    /// Returns the last close on or before the date six months ago, or `None` if the closes begin
    /// later.
    fn half_year(&self) -> Option<Price> {
        let then = self.day.checked_sub(DateSpan::new().months(6)).ok()?;
        self.closes.iter().rfind(|(date, _)| *date <= then).map(|(_, close)| *close)
    }

    fn market_value(&self) -> String {
        let shares = self.security.as_ref().and_then(|security| security.total_shares);
        let shares = shares.filter(|shares| *shares > 0);
        shares
            .and_then(|shares| i128::from(self.last.0).checked_mul(i128::from(shares)))
            .map(|value| Turnover(value).text().to_string())
            .unwrap_or_default()
    }

    /// Returns a numeric field of the imported security, in millionths, or `None` if the field is
    /// missing or not a number.
    fn stored(&self, field: impl Fn(&Security) -> &Option<String>) -> Option<i64> {
        let text = field(self.security.as_ref()?).as_deref()?;
        let (value, _) = parse_scaled(text.as_bytes(), SCALE).ok()?;
        i64::try_from(value).ok()
    }
}

/// Returns the net inflow of `day` so far, equal to the last line of command 24. `None` if no
/// trades are stored for `day`.
fn day_flow(
    symbol: &Symbol,
    (day, floors): (Date, Floors),
    core: &Core,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<Option<Turnover>, HistoryError> {
    match core.history.capital_flow(reader, symbol, floors, as_of) {
        Ok(flow) => Ok(flow.lines.last().filter(|_| flow.day == day).map(|(_, total)| *total)),
        Err(
            HistoryError::NoTrades(_)
            | HistoryError::UnknownSecurity(_)
            | HistoryError::NoCandles(_)
            | HistoryError::Option(_),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the price five minutes before the newest regular-hours candle of `day`, or `None` if no
/// such price is known.
fn five_minutes_before(
    symbol: &Symbol,
    (day, floors): (Date, Floors),
    core: &Core,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<Option<Price>, HistoryError> {
    let minutes = core.history.newest_day_minutes(reader, symbol, Sessions::Intraday, floors, as_of)?;
    let minutes = minutes.filter(|minutes| minutes.day == day);
    Ok(minutes.and_then(|minutes| {
        let newest = minutes.candles.last()?;
        minutes.price_at(Timestamp(newest.time.0 - FIVE_MINUTES))
    }))
}

/// Returns whether an index compares the last price with closes of earlier days.
fn looks_back(index: CalcIndex) -> bool {
    matches!(
        index,
        CalcIndex::YtdChangeRate
            | CalcIndex::FiveDayChangeRate
            | CalcIndex::TenDayChangeRate
            | CalcIndex::HalfYearChangeRate
    )
}

/// Returns `part / whole` in percent, or an empty string if `whole` is not positive.
fn percent(part: i64, whole: i64) -> String {
    quotient(i128::from(part) * 100, i128::from(whole))
}

/// Returns `price / amount`, or an empty string if `amount` is missing or not positive.
fn ratio(price: i64, amount: Option<i64>) -> String {
    amount.map(|amount| quotient(i128::from(price), i128::from(amount))).unwrap_or_default()
}

fn quotient(dividend: i128, divisor: i128) -> String {
    if divisor <= 0 {
        return String::new();
    }
    let value = dividend * i128::from(PRICE_UNIT) / divisor;
    i64::try_from(value).map(|value| Price(value).text(RATIO_DECIMALS).to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use history::{SessionState, TradeStatus};

    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn facts(security: Option<Security>) -> Facts {
        let closes = [
            ("2025-12-30", 90),
            ("2025-12-31", 100),
            ("2026-05-12", 110),
            ("2026-05-14", 120),
            ("2026-11-10", 130),
            ("2026-11-11", 140),
            ("2026-11-12", 160),
        ];
        let close = |(day, units): (&str, i64)| (date(day), Price(units * PRICE_UNIT));
        Facts {
            last: Price(200 * PRICE_UNIT),
            previous: Price(160 * PRICE_UNIT),
            high: Price(210 * PRICE_UNIT),
            low: Price(178 * PRICE_UNIT),
            security,
            day: date("2026-11-13"),
            closes: closes.map(close).to_vec(),
            flow: None,
            earlier: None,
            is_warrant: false,
        }
    }

    fn all(facts: &Facts) -> Row {
        let figures = Figures {
            open: facts.previous,
            high: facts.high,
            low: facts.low,
            last: facts.last,
            volume: 1_000,
            turnover: Turnover(i128::from(200_000 * PRICE_UNIT)),
        };
        let state = SessionState { day: facts.day, figures, time: Timestamp(0) };
        let quote = Quote {
            symbol: "700.HK".parse().unwrap(),
            decimals: 3,
            trade_status: TradeStatus::Normal,
            regular: SessionQuote { state, prev_close: facts.previous },
            pre: None,
            post: None,
            overnight: None,
        };
        let indexes: Vec<CalcIndex> =
            (1..=40).filter_map(|number| CalcIndex::try_from(number).ok()).collect();
        assert_eq!(indexes.len(), 40);
        facts.row(&quote, &indexes)
    }

    #[test]
    fn indexes_are_computed_from_prices_shares_and_earnings() {
        let security = Security {
            total_shares: Some(9_000_000_000),
            circulating_shares: Some(40_000),
            eps_ttm: Some("8".to_owned()),
            bps: Some("150.5".to_owned()),
            dividend_yield: Some("5.3".to_owned()),
            ..Security::new("700.HK".parse().unwrap())
        };
        let wanted = Row {
            symbol: "700.HK".to_owned(),
            last_done: "200.000".to_owned(),
            change_val: "40.000".to_owned(),
            change_rate: "25.00".to_owned(),
            volume: 1_000,
            turnover: "200000.000".to_owned(),
            ytd_change_rate: "100.00".to_owned(),
            turnover_rate: "2.50".to_owned(),
            total_market_value: "1800000000000.000".to_owned(),
            amplitude: "20.00".to_owned(),
            pe_ttm_ratio: "25.00".to_owned(),
            pb_ratio: "1.33".to_owned(),
            dividend_ratio_ttm: "2.65".to_owned(),
            five_day_change_rate: "81.82".to_owned(),
            half_year_change_rate: "81.82".to_owned(),
            ..Row::default()
        };
        assert_eq!(all(&facts(Some(security))), wanted);
    }

    #[test]
    fn share_indexes_are_empty_for_a_warrant() {
        let flow = Some(Turnover(i128::from(-7 * PRICE_UNIT)));
        assert_eq!(all(&Facts { flow, ..facts(None) }).capital_flow, "-7.000");
        let wanted = Row {
            symbol: "700.HK".to_owned(),
            last_done: "200.000".to_owned(),
            change_val: "40.000".to_owned(),
            change_rate: "25.00".to_owned(),
            volume: 1_000,
            turnover: "200000.000".to_owned(),
            ..Row::default()
        };
        assert_eq!(all(&Facts { flow, is_warrant: true, ..facts(None) }), wanted);
    }

    #[test]
    fn indexes_without_stored_data_are_empty() {
        let row = all(&Facts { closes: Vec::new(), previous: Price(0), ..facts(None) });
        let wanted = Row {
            symbol: "700.HK".to_owned(),
            last_done: "200.000".to_owned(),
            change_val: "200.000".to_owned(),
            volume: 1_000,
            turnover: "200000.000".to_owned(),
            ..Row::default()
        };
        assert_eq!(row, wanted);
        let odd = Security {
            eps_ttm: Some("-3".to_owned()),
            bps: Some("none".to_owned()),
            total_shares: Some(i64::MAX),
            circulating_shares: Some(0),
            ..Security::new("700.HK".parse().unwrap())
        };
        let row = all(&facts(Some(odd)));
        assert!([row.pe_ttm_ratio, row.pb_ratio, row.turnover_rate].iter().all(String::is_empty));
        assert_eq!(row.total_market_value, "1844674407370955161400.000");
        // A year-to-date change needs a close of the previous year.
        let mut young = facts(None);
        young.closes.retain(|(day, _)| *day >= date("2026-11-01"));
        let row = all(&young);
        assert!([row.ytd_change_rate, row.half_year_change_rate].iter().all(String::is_empty));
    }
}
