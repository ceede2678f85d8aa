//! Typed responses with market values. A row that is not a valid candle is returned as text with
//! the reason, and does not affect the other rows.

use market::{Candle, Date, Price, Session, Symbol, Timestamp, Turnover};
use prost::Message;
use wire::quote::{
    Candlestick, IntradayLine, IntradayResponse, QuoteProfileResponse, SecurityCandlestickResponse,
    StaticInfoResponse, SubscriptionsResponse, TradingDaysResponse,
};

use crate::error::clipped;
use crate::{Request, SourceError};

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Profile(Profile),
    TradingDays(Calendar),
    StaticInfo(Vec<StaticInfo>),
    /// Candles of command 27 or 19.
    Candles(Page),
    Intraday(Vec<Line>),
    /// Whether the requested security is subscribed.
    Subscribed(bool),
}

/// Limits of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Number of securities whose history may be requested in a month. 0 if the server does not
    /// report it.
    pub history_securities: u32,
    pub rate_limits: Vec<RateLimit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    pub command: u8,
    pub per_second: u32,
    pub burst: u32,
}

/// Trading days, in the order in which the server sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar {
    pub full_days: Vec<Date>,
    pub half_days: Vec<Date>,
}

/// Static data of a security. Empty fields of the response are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticInfo {
    pub symbol: Symbol,
    pub name_cn: Option<String>,
    pub name_en: Option<String>,
    pub name_hk: Option<String>,
    pub listing_date: Option<Date>,
    pub exchange: Option<String>,
    pub currency: Option<String>,
    pub lot_size: Option<i64>,
    pub total_shares: Option<i64>,
    pub circulating_shares: Option<i64>,
    pub hk_shares: Option<i64>,
    pub eps: Option<String>,
    pub eps_ttm: Option<String>,
    pub bps: Option<String>,
    pub dividend_yield: Option<String>,
    pub board: Option<String>,
}

/// Candles in the order in which the server sent them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub candles: Vec<Candle>,
    pub wrong: Vec<WrongRow>,
    /// Number of decimals of the prices.
    pub decimals: u32,
}

/// A row that is not a valid candle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongRow {
    pub text: String,
    pub reason: String,
}

/// A minute of the current day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub time: Timestamp,
    pub price: Price,
    pub volume: i64,
    pub turnover: Turnover,
}

/// Maximum number of candles in a response.
const ROWS_MAX: usize = 1_000;

pub(crate) fn decode(request: &Request, body: &[u8]) -> Result<Answer, SourceError> {
    let wrong = |error: prost::DecodeError| SourceError::invalid(clipped(&error.to_string()));
    Ok(match request {
        Request::Profile => {
            let response = QuoteProfileResponse::decode(body).map_err(wrong)?;
            let number = |value: i32| u32::try_from(value).unwrap_or_default();
            let limits = response.rate_limit.iter().filter_map(|limit| {
                let command = u8::try_from(limit.command).ok()?;
                Some(RateLimit { command, per_second: number(limit.limit), burst: number(limit.burst) })
            });
            Answer::Profile(Profile {
                history_securities: number(response.history_candlestick_limit),
                rate_limits: limits.collect(),
            })
        }
        Request::TradingDays { .. } => {
            let response = TradingDaysResponse::decode(body).map_err(wrong)?;
            let dates = |texts: &[String]| texts.iter().map(|text| date(text)).collect::<Option<Vec<_>>>();
            match (dates(&response.trade_day), dates(&response.half_trade_day)) {
                (Some(full_days), Some(half_days)) => Answer::TradingDays(Calendar { full_days, half_days }),
                _ => return Err(SourceError::invalid("a trading day is not a date")),
            }
        }
        Request::StaticInfo { .. } => {
            let response = StaticInfoResponse::decode(body).map_err(wrong)?;
            Answer::StaticInfo(response.secu_static_info.into_iter().filter_map(static_info).collect())
        }
        Request::History { .. } | Request::Candles { .. } => {
            let response = SecurityCandlestickResponse::decode(body).map_err(wrong)?;
            if response.candlesticks.len() > ROWS_MAX {
                let rows = response.candlesticks.len();
                return Err(SourceError::invalid(format!("{rows} candles in one answer")));
            }
            Answer::Candles(page(&response.candlesticks))
        }
        Request::Intraday { .. } => {
            let response = IntradayResponse::decode(body).map_err(wrong)?;
            let lines: Option<Vec<Line>> = response.lines.iter().map(line).collect();
            Answer::Intraday(lines.ok_or_else(|| SourceError::invalid("a line is not a minute"))?)
        }
        Request::Subscribe { symbol, .. } => {
            let response = SubscriptionsResponse::decode(body).map_err(wrong)?;
            let is_requested = |text: &str| text.parse::<Symbol>().is_ok_and(|one| one == *symbol);
            Answer::Subscribed(response.sub_list.iter().any(|one| is_requested(&one.symbol)))
        }
    })
}

fn page(rows: &[Candlestick]) -> Page {
    let mut page = Page { candles: Vec::with_capacity(rows.len()), wrong: Vec::new(), decimals: 0 };
    for row in rows {
        match candle(row) {
            Ok(candle) => {
                let decimals = row.close.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                page.decimals = page.decimals.max(u32::try_from(decimals).unwrap_or_default());
                page.candles.push(candle);
            }
            Err(reason) => page.wrong.push(WrongRow { text: text(row), reason }),
        }
    }
    page
}

fn candle(row: &Candlestick) -> Result<Candle, String> {
    let price = |name: &str, text: &str| Price::parse(text).map_err(|error| format!("{name}: {error}"));
    let session = u8::try_from(row.trade_session).ok().and_then(Session::from_code);
    // A decimal that the server omits is received as an empty string.
    let turnover = if row.turnover.is_empty() { "0" } else { &row.turnover };
    Ok(Candle {
        time: Timestamp(row.timestamp),
        open: price("open", &row.open)?,
        high: price("high", &row.high)?,
        low: price("low", &row.low)?,
        close: price("close", &row.close)?,
        volume: row.volume,
        turnover: Turnover::parse(turnover).map_err(|error| format!("turnover: {error}"))?,
        session: session.ok_or_else(|| format!("unknown session {}", row.trade_session))?,
    })
}

fn text(row: &Candlestick) -> String {
    let Candlestick { close, open, low, high, volume, turnover, timestamp, trade_session } = row;
    clipped(&format!("{timestamp},{open},{high},{low},{close},{volume},{turnover},{trade_session}"))
}

fn line(line: &IntradayLine) -> Option<Line> {
    let turnover = if line.turnover.is_empty() { "0" } else { &line.turnover };
    Some(Line {
        time: Timestamp(line.timestamp),
        price: Price::parse(&line.price).ok()?,
        volume: line.volume,
        turnover: Turnover::parse(turnover).ok()?,
    })
}

fn static_info(info: wire::quote::StaticInfo) -> Option<StaticInfo> {
    let some = |text: String| Some(clipped(&text)).filter(|text| !text.is_empty());
    let positive = |number: i64| Some(number).filter(|number| *number > 0);
    Some(StaticInfo {
        symbol: info.symbol.parse().ok()?,
        name_cn: some(info.name_cn),
        name_en: some(info.name_en),
        name_hk: some(info.name_hk),
        listing_date: date(&info.listing_date.replace('-', "")),
        exchange: some(info.exchange),
        currency: some(info.currency),
        lot_size: positive(i64::from(info.lot_size)),
        total_shares: positive(info.total_shares),
        circulating_shares: positive(info.circulating_shares),
        hk_shares: positive(info.hk_shares),
        eps: some(info.eps),
        eps_ttm: some(info.eps_ttm),
        bps: some(info.bps),
        dividend_yield: some(info.dividend_yield),
        board: some(info.board),
    })
}

/// Parses a date written as `YYYYMMDD`.
fn date(text: &str) -> Option<Date> {
    let digits =
        Some(text).filter(|text| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()))?;
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    format!("{year}-{month}-{day}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(close: &str, timestamp: i64) -> Candlestick {
        Candlestick {
            close: close.to_owned(),
            open: "1".to_owned(),
            low: "1".to_owned(),
            high: "2.125".to_owned(),
            volume: 3,
            turnover: String::new(),
            timestamp,
            trade_session: 0,
        }
    }

    #[test]
    fn an_invalid_row_does_not_affect_the_others() {
        let rows = [row("1.5", 60), row("one", 120), row("", 180), row("1.0000001", 240), row("2.125", 300)];
        let page = page(&rows);
        let times: Vec<i64> = page.candles.iter().map(|candle| candle.time.0).collect();
        assert_eq!((times, page.decimals), (vec![60, 300], 3));
        let reasons: Vec<&str> = page.wrong.iter().map(|row| row.reason.as_str()).collect();
        assert_eq!(reasons, ["close: not a number", "close: not a number", "close: more than 6 decimals"]);
        assert_eq!(page.wrong[0].text, "120,1,2.125,1,one,3,,0");
    }

    #[test]
    fn dates_have_eight_digits() {
        assert_eq!(date("20240229"), "2024-02-29".parse().ok());
        for text in ["", "2024-2-9", "20240230", "２0240101", "202401011"] {
            assert_eq!(date(text), None, "{text}");
        }
    }
}
