//! Parses the rows of a batch. Decimals are exact: a number that JSON parsers round must be sent as
//! text.

use history::ingest::{CandleInput, Parsed, RefusedRow, TradeInput};
use market::{
    Candle, Grain, Price, Session, Symbol, Timestamp, Trade, TradeDirection, TradeType, Turnover, Venues,
};
use serde_json::{Map, Number, Value};

/// Number of decimal digits that a binary floating-point number represents exactly.
const DIGITS_EXACT: usize = 15;
/// Times of at least this value are in milliseconds. In seconds, this value is in the year 5138.
const MILLISECONDS_FROM: i64 = 100_000_000_000;
/// Maximum number of characters of a refused row that are stored in the quarantine.
const TEXT_MAX: usize = store::QUARANTINE_TEXT_MAX;

/// A row of a batch: JSON, or the text of a line that is not valid JSON.
pub(super) type Row = Result<Value, String>;

/// Parses a candle of an ingested batch, or returns why it is refused.
pub fn candle(row: &Row, venues: &Venues) -> Parsed<CandleInput> {
    let fields = fields(row)?;
    read_candle(fields, venues).map_err(|reason| refused(fields, reason))
}

/// Parses a trade of an ingested batch, or returns why it is refused.
pub fn trade(row: &Row) -> Parsed<TradeInput> {
    let fields = fields(row)?;
    read_trade(fields).map_err(|reason| refused(fields, reason))
}

/// Creates the refusal of a parsed row.
pub(super) fn refuse(row: &Row, symbol: &Symbol, reason: &str) -> RefusedRow {
    let text = row.as_ref().map_or_else(String::clone, Value::to_string);
    refused_text(Some(symbol.to_string()), text, reason)
}

fn fields(row: &Row) -> Result<&Map<String, Value>, RefusedRow> {
    match row {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(other) => Err(refused_text(None, other.to_string(), "not an object")),
        Err(text) => Err(refused_text(None, text.clone(), "not JSON")),
    }
}

fn refused(fields: &Map<String, Value>, reason: String) -> RefusedRow {
    let symbol = fields.get("symbol").and_then(Value::as_str).map(str::to_owned);
    let text = serde_json::to_string(fields).unwrap_or_default();
    RefusedRow { reason, ..refused_text(symbol, text, "") }
}

fn refused_text(symbol: Option<String>, text: String, reason: &str) -> RefusedRow {
    let text = text.chars().take(TEXT_MAX).collect();
    RefusedRow { row: 0, symbol, text, reason: reason.to_owned() }
}

fn read_candle(fields: &Map<String, Value>, venues: &Venues) -> Result<CandleInput, String> {
    let symbol = symbol(fields)?;
    let grain = match fields.get("period").filter(|value| !value.is_null()) {
        None => Grain::Minute,
        Some(value) => match value.as_str() {
            Some("1m") => Grain::Minute,
            Some("day" | "1d") => Grain::Day,
            _ => return Err("period is 1m or day".to_owned()),
        },
    };
    let time = match (grain, fields.get("time").and_then(Value::as_str)) {
        // A daily candle may have a date as its time.
        (Grain::Day, Some(text)) if text.len() == 10 => {
            let date = text.parse().map_err(|_| "time is not a date".to_owned())?;
            venues.of(symbol.market()).zone().midnight(date)
        }
        _ => whole_second(fields)?,
    };
    let is_final = match fields.get("final") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(is_final)) => Some(*is_final),
        Some(_) => return Err("final is true or false".to_owned()),
    };
    let turnover = match fields.get("turnover") {
        None | Some(Value::Null) => Turnover::default(),
        Some(_) => decimal(fields, "turnover", Turnover::parse)?,
    };
    let candle = Candle {
        time,
        open: decimal(fields, "open", Price::parse)?,
        high: decimal(fields, "high", Price::parse)?,
        low: decimal(fields, "low", Price::parse)?,
        close: decimal(fields, "close", Price::parse)?,
        volume: whole(fields, "volume")?,
        turnover,
        // Derived from the time.
        session: Session::Intraday,
    };
    Ok(CandleInput { symbol, grain, candle, is_final })
}

fn read_trade(fields: &Map<String, Value>) -> Result<TradeInput, String> {
    let symbol = symbol(fields)?;
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Number(number)) => Ok(number.to_string()),
        Some(_) => Err(format!("{name} is text or a number")),
    };
    let direction = TradeDirection::parse(text("direction")?.as_bytes());
    let kind = TradeType::parse(text("type")?.as_bytes(), symbol.market());
    let trade = Trade {
        time: Timestamp(milliseconds(fields)?.div_euclid(1_000)),
        price: decimal(fields, "price", Price::parse)?,
        volume: whole(fields, "volume")?,
        direction: direction.ok_or_else(|| "direction is up, down or neutral".to_owned())?,
        kind: kind.ok_or_else(|| "the market has no such trade type".to_owned())?,
    };
    let id = text("id")?;
    if id.len() > TEXT_MAX || id.contains('\0') {
        return Err("id is too long".to_owned());
    }
    Ok(TradeInput { symbol, trade, id: Some(id).filter(|id| !id.is_empty()) })
}

fn symbol(fields: &Map<String, Value>) -> Result<Symbol, String> {
    let text = fields.get("symbol").and_then(Value::as_str).ok_or_else(|| "symbol is required".to_owned())?;
    text.parse().map_err(|error: market::ParseSymbolError| error.to_string())
}

fn decimal<T>(
    fields: &Map<String, Value>,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, market::DecimalError>,
) -> Result<T, String> {
    let wrong = |error: market::DecimalError| format!("{name}: {error}");
    match fields.get(name) {
        Some(Value::String(text)) => parse(text).map_err(wrong),
        Some(Value::Number(number)) => parse(&exact(number, name)?).map_err(wrong),
        None | Some(Value::Null) => Err(format!("{name} is required")),
        Some(_) => Err(format!("{name} is text or a number")),
    }
}

/// Returns the digits of a number, or an error if the JSON parser may have rounded the number.
fn exact(number: &Number, name: &str) -> Result<String, String> {
    let text = number.to_string();
    if number.is_i64() || number.is_u64() {
        return Ok(text);
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    match text.contains(['e', 'E']) || digits > DIGITS_EXACT + 1 {
        true => Err(format!("{name} has too many digits for a number: write it as text")),
        false => Ok(text),
    }
}

fn whole(fields: &Map<String, Value>, name: &str) -> Result<i64, String> {
    let found = match fields.get(name) {
        Some(Value::Number(number)) => number.as_i64().or_else(|| zero_fraction(&number.to_string())),
        Some(Value::String(text)) => text.parse().ok().or_else(|| zero_fraction(text)),
        None | Some(Value::Null) => return Err(format!("{name} is required")),
        Some(_) => None,
    };
    found.ok_or_else(|| format!("{name} is not a whole number"))
}

/// Parses an integer, which may have zeros as decimals.
fn zero_fraction(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.')?;
    fraction.bytes().all(|byte| byte == b'0').then(|| whole.parse().ok())?
}

fn whole_second(fields: &Map<String, Value>) -> Result<Timestamp, String> {
    let milliseconds = milliseconds(fields)?;
    match milliseconds.rem_euclid(1_000) {
        0 => Ok(Timestamp(milliseconds.div_euclid(1_000))),
        _ => Err(market::Flaw::NotAMinute.to_string()),
    }
}

/// Converts a time in seconds or milliseconds to milliseconds.
pub(super) fn in_milliseconds(number: i64) -> Option<i64> {
    let is_seconds = number.unsigned_abs() < MILLISECONDS_FROM.unsigned_abs();
    if is_seconds { number.checked_mul(1_000) } else { Some(number) }
}

/// Returns the time of a row in milliseconds.
fn milliseconds(fields: &Map<String, Value>) -> Result<i64, String> {
    let wrong = || "time is RFC 3339, or Unix seconds or milliseconds".to_owned();
    let number = |number: i64| in_milliseconds(number).ok_or_else(wrong);
    match fields.get("time") {
        None | Some(Value::Null) => Err("time is required".to_owned()),
        Some(Value::Number(time)) => number(time.as_i64().ok_or_else(wrong)?),
        Some(Value::String(text)) => match text.parse::<i64>() {
            Ok(time) => number(time),
            Err(_) => text.parse::<jiff::Timestamp>().map(|at| at.as_millisecond()).map_err(|_| wrong()),
        },
        Some(_) => Err(wrong()),
    }
}
