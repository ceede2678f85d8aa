//! Reads candles from a server over HTTP, page by page.

use std::time::Duration;

use history::{Adjust, Anchor, COUNT_MAX, Direction, Query, Select, Sessions};
use market::{Candle, Candles, Price, Session as Hours, Symbol, Timestamp, Turnover};
use serde_json::Value;
use server::PAGED_MAX;
use store::Security;
use wire::code;

use super::Time;
use super::http::{Headers, field};
use super::session::{ApiError, Session};
use crate::failure::Failure;
use crate::output::printable;
use crate::progress::Bar;
use crate::suggest;

const PATH: &str = "/v1/quote/history-candlesticks";
/// Number of candles that the rate limit counts as one call.
const CALL: u64 = COUNT_MAX as u64;
/// Cost of the longest response in calls ("Cost" in `docs/http.md`).
const CALLS_MAX: u64 = PAGED_MAX.div_ceil(COUNT_MAX) as u64;
/// Maximum wait for a rate-limited page, in seconds.
const WAIT_MAX_S: u64 = 60;
/// Maximum number of waits per page.
const WAITS_MAX: u32 = 10;
/// API code for an unknown symbol.
const INVALID: i64 = code::INVALID.cast_signed();
/// API code for an exhausted quota.
const QUOTA: i64 = code::TOO_MANY.cast_signed();
/// HTTP status of a rate limit.
const TOO_FAST: u16 = 429;
/// Maximum number of securities that one search returns.
const SEARCH_LIMIT: &str = "50";

/// Pages in the order in which they were read. The candles within a page are in chronological
/// order.
#[derive(Debug)]
pub(crate) struct CandlePages {
    pub(crate) pages: Vec<Candles>,
    /// Number of decimals in prices.
    pub(crate) decimals: u32,
    /// Whether there are no more candles after the last page.
    pub(crate) ended: bool,
}

impl Default for CandlePages {
    fn default() -> CandlePages {
        CandlePages { pages: Vec::new(), decimals: 3, ended: true }
    }
}

/// Header line of the server's CSV.
const HEADER: &str = "symbol,time,open,high,low,close,volume,turnover,session";

pub(crate) fn gather(
    session: &Session,
    query: &Query,
    limit: u64,
    bar: &Bar,
    time: &dyn Time,
) -> Result<CandlePages, Failure> {
    let question = parameters(query);
    let mut gathered = CandlePages::default();
    let mut written = PriceDecimals::default();
    let (mut rows, mut calls) = (0, 1);
    let mut next: Option<String> = None;
    loop {
        let size = limit.saturating_sub(rows).clamp(1, calls * CALL);
        let address = address(&question, size, next.as_deref());
        let first = next.is_none();
        let (body, headers) = patiently(session, &address, first, bar, time)
            .map_err(|error| failure_of(session, &query.symbol, error))?;
        // The maximum size of the next page depends on the account's rate limit.
        calls = headers.number("x-ratelimit-limit").unwrap_or(CALLS_MAX).clamp(1, CALLS_MAX);
        let candles = read(&body, &query.symbol, &mut written).ok_or_else(|| strange(session))?;
        let count = candles.len() as u64;
        if count > size {
            return Err(strange(session));
        }
        rows += count;
        gathered.pages.push(candles);
        bar.set(rows);
        next = headers.get("x-next").map(str::to_owned);
        match next {
            // A server that repeatedly returns empty pages must not cause an endless loop.
            Some(_) if count == 0 => return Err(strange(session)),
            Some(_) if rows < limit => {}
            _ => break,
        }
    }
    gathered.ended = next.is_none();
    gathered.decimals = match written.decimals() {
        Some(decimals) => decimals,
        None => decimals(session, &query.symbol).unwrap_or(written.fewest.unwrap_or_default()),
    };
    Ok(gathered)
}

/// Reads one page. A rate-limited request is retried after a wait. For the first page the error is
/// returned immediately.
fn patiently(
    session: &Session,
    address: &str,
    first: bool,
    bar: &Bar,
    time: &dyn Time,
) -> Result<(Vec<u8>, Headers), PageError> {
    for _ in 0..WAITS_MAX {
        if time.is_over() {
            return Err(PageError::Stopped);
        }
        let refused = match session.get_table(address) {
            Ok(answer) => return Ok(answer),
            Err(ApiError::Refused { status: TOO_FAST, headers, .. }) if !first => headers,
            Err(error) => return Err(PageError::Refused(error)),
        };
        let seconds = refused.number("retry-after").unwrap_or(1).clamp(1, WAIT_MAX_S);
        bar.line(&format!(
            "{} is rate limiting: waiting {seconds} s before the next page",
            session.url.as_str()
        ));
        if !time.pause(Duration::from_secs(seconds)) {
            return Err(PageError::Stopped);
        }
    }
    session.get_table(address).map_err(PageError::Refused)
}

/// Why a page could not be read.
enum PageError {
    Refused(ApiError),
    Stopped,
}

fn failure_of(session: &Session, symbol: &Symbol, requested: PageError) -> Failure {
    let error = match requested {
        PageError::Refused(error) => error,
        PageError::Stopped => {
            return Failure::Interrupted("stopped before all candles arrived".to_owned());
        }
    };
    let server = session.url.as_str();
    match &error {
        ApiError::Refused { code: QUOTA, headers, message, .. } => {
            let header = |name: &str| headers.get(name).map(printable);
            match (header("x-quota-used"), header("x-quota-limit"), header("x-quota-reset")) {
                (Some(used), Some(limit), Some(reset)) => anyhow::anyhow!(
                    "{server}: {message} ({QUOTA}): {used} of {limit} securities are used, and the quota resets on \
                    {reset}; `chandler quota --server {server}` lists them{}",
                    session.limit_hint(message)
                )
                .into(),
                _ => session.to_failure(error),
            }
        }
        ApiError::Refused { status: 400, code: INVALID, message, .. }
            if message.contains(symbol.as_str()) && message.contains("not known") =>
        {
            let names = suggestions(session, symbol.as_str());
            anyhow::anyhow!("{server}: {message}{}", suggest::question(&names)).into()
        }
        _ => session.to_failure(error),
    }
}

fn strange(session: &Session) -> Failure {
    anyhow::anyhow!("{}: the response is not from a Chandler server", session.url.as_str()).into()
}

/// Returns the query as URL parameters.
fn parameters(query: &Query) -> Vec<(&'static str, String)> {
    let mut pairs = vec![("symbol", query.symbol.to_string()), ("period", query.period.to_string())];
    if query.adjust == Adjust::Forward {
        pairs.push(("adjust", "forward".to_owned()));
    }
    match query.sessions {
        Sessions::Intraday => {}
        Sessions::Extended => pairs.push(("session", "extended".to_owned())),
        Sessions::All => pairs.push(("session", "all".to_owned())),
    }
    match query.select {
        Select::Dates { start, end } => {
            let dates = [("start", start), ("end", end)];
            pairs.extend(dates.into_iter().filter_map(|(name, date)| Some((name, date?.to_string()))));
        }
        Select::Offset { direction, anchor, .. } => {
            let name = if direction == Direction::Past { "before" } else { "after" };
            let clock = |minute: i32| format!("{:02}:{:02}", minute / 60, minute % 60);
            match anchor {
                Anchor::Latest if direction == Direction::Past => {}
                Anchor::Latest => pairs.push(("direction", "1".to_owned())),
                Anchor::Day(date) => pairs.push((name, date.to_string())),
                Anchor::Minute(date, minute) => pairs.push((name, format!("{date}T{}", clock(minute)))),
                Anchor::LatestMinute(minute) => pairs.extend([
                    ("direction", u8::from(direction == Direction::Present).to_string()),
                    ("minute", clock(minute)),
                ]),
            }
        }
    }
    pairs
}

fn address(question: &[(&'static str, String)], limit: u64, next: Option<&str>) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(question.iter().map(|(name, value)| (*name, value.as_str())));
    text.append_pair("limit", &limit.to_string());
    if let Some(token) = next {
        text.append_pair("next", token);
    }
    format!("{PATH}?{}", text.finish())
}

/// Infers a security's number of decimals from price texts. Prices are written with the security's
/// decimals, or with more decimals if a price needs them. A price that ends in a zero therefore has
/// exactly the security's decimals; without such a price the number is uncertain.
#[derive(Debug, Default)]
struct PriceDecimals {
    fewest: Option<u32>,
    is_certain: bool,
}

impl PriceDecimals {
    fn price(&mut self, text: &str) -> Option<i64> {
        let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digits = u32::try_from(digits).ok().filter(|digits| *digits <= market::DECIMALS_MAX)?;
        self.fewest = Some(self.fewest.map_or(digits, |fewest| fewest.min(digits)));
        self.is_certain |= digits == 0 || text.ends_with('0');
        Price::parse(text).ok().map(|price| price.0)
    }

    /// Returns the number of decimals, or `None` if the prices are not conclusive.
    fn decimals(&self) -> Option<u32> {
        match self.fewest {
            // Without any price the number of decimals has no effect.
            None => Some(CandlePages::default().decimals),
            fewest => fewest.filter(|_| self.is_certain),
        }
    }
}

/// Parses the candles in a CSV table. `None` if the table is malformed or not in chronological
/// order.
fn read(body: &[u8], symbol: &Symbol, written: &mut PriceDecimals) -> Option<Candles> {
    let text = std::str::from_utf8(body).ok()?;
    let mut lines = text.lines();
    if lines.next()? != HEADER {
        return None;
    }
    let mut candles = Candles::default();
    for line in lines {
        let mut fields = line.split(',');
        if fields.next()? != symbol.as_str() {
            return None;
        }
        let time = fields.next()?.parse::<jiff::Timestamp>().ok()?.as_second();
        if candles.time.last().is_some_and(|last| *last >= time) {
            return None;
        }
        let mut price = || written.price(fields.next()?).map(Price);
        let (open, high, low, close) = (price()?, price()?, price()?, price()?);
        let volume = fields.next()?.parse().ok()?;
        let turnover = Turnover::parse(fields.next()?).ok()?;
        let session = Hours::parse(fields.next()?)?;
        if fields.next().is_some() {
            return None;
        }
        candles.push(Candle { time: Timestamp(time), open, high, low, close, volume, turnover, session });
    }
    Some(candles)
}

/// Returns the server's record of a security. `None` if the request fails. The request does not
/// count against the quota.
fn details(session: &Session, symbol: &Symbol) -> Option<Value> {
    session.get(&format!("/v1/securities/{symbol}")).ok()
}

fn decimals(session: &Session, symbol: &Symbol) -> Option<u32> {
    let decimals = field(&details(session, symbol)?, "decimals").as_u64()?;
    u32::try_from(decimals).ok().filter(|decimals| *decimals <= market::DECIMALS_MAX)
}

/// Returns the server's name for a security. `None` if the request fails, because a chart does not
/// need a name.
pub(crate) fn name(session: &Session, symbol: &Symbol) -> Option<String> {
    let details = details(session, symbol)?;
    let names = ["name_en", "name_hk", "name_cn"].map(|name| text(&details, name));
    names.into_iter().flatten().next()
}

/// Returns similar symbols from the server. Empty if the requests fail, because suggestions are
/// optional.
pub(crate) fn suggestions(session: &Session, typed: &str) -> Vec<String> {
    let ticker = typed.rsplit_once('.').map_or(typed, |(ticker, _)| ticker);
    // The server matches substrings of codes and names. Most typing errors are in the second half
    // of a ticker, so the first half is searched as well.
    let letters = ticker.chars().count();
    let half: String = ticker.chars().take(letters.div_ceil(2)).collect();
    for part in [ticker, &half] {
        let names = suggest::nearest(typed, search(session, part).iter());
        if !names.is_empty() {
            return names;
        }
    }
    Vec::new()
}

fn search(session: &Session, part: &str) -> Vec<Security> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("query", part).append_pair("limit", SEARCH_LIMIT);
    let Ok(data) = session.get(&format!("/v1/securities?{}", query.finish())) else { return Vec::new() };
    let found = field(&data, "securities").as_array().into_iter().flatten();
    let security = |one: &Value| {
        let symbol = field(one, "symbol").as_str()?.parse().ok()?;
        let [name_en, name_hk, name_cn] = ["name_en", "name_hk", "name_cn"].map(|name| text(one, name));
        Some(Security { name_en, name_hk, name_cn, ..Security::new(symbol) })
    };
    found.filter_map(security).collect()
}

fn text(of: &Value, name: &str) -> Option<String> {
    field(of, name).as_str().filter(|text| !text.is_empty()).map(printable)
}

#[cfg(test)]
#[path = "candles_tests.rs"]
mod tests;
