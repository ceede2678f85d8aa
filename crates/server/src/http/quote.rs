//! The pull commands as HTTP: the same messages as JSON, the same route, the same refusals.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::envelope::{self, Problem};
use super::{Answer, Asked};
use crate::command::{Request, not_offered, number};
use crate::refusal::Refusal;
use crate::route;
use crate::services::Services;

/// Paths below `/quote/` and the commands they mirror.
const PATHS: [(&str, u8); 21] = [
    ("/quote/markets/trading-sessions", number::TRADING_SESSIONS),
    ("/quote/markets/trading-days", number::TRADING_DAYS),
    ("/quote/static-info", number::STATIC_INFO),
    ("/quote/quotes", number::QUOTE),
    ("/quote/options/quotes", 12),
    ("/quote/warrants/quotes", 13),
    ("/quote/depth", 14),
    ("/quote/brokers", 15),
    ("/quote/participants", 16),
    ("/quote/trades", 17),
    ("/quote/intraday", number::INTRADAY),
    ("/quote/candlesticks", number::CANDLESTICKS),
    ("/quote/options/expiry-dates", 20),
    ("/quote/warrants/issuers", 22),
    ("/quote/warrants", 23),
    ("/quote/capital-flow", 24),
    ("/quote/capital-distribution", 25),
    ("/quote/calc-indexes", 26),
    ("/quote/history-candlesticks", number::HISTORY),
    ("/quote/profile", number::PROFILE),
    ("/quote/options/strikes", 21),
];

pub(super) fn mirror(asked: &Asked<'_>, path: &str, services: &Services) -> Result<Answer, Problem> {
    let Some((_, command)) = PATHS.iter().find(|(known, _)| *known == path) else {
        return Err(Problem::not_found());
    };
    let caller = asked.caller(services)?;
    let request = decode(*command, asked.body)?;
    let work = route::admit_request(services, &caller, request)?;
    let data = match *command {
        number::HISTORY | number::CANDLESTICKS => {
            crate::command::CandleReply::Columns(work.run_columns(services)?).json()
        }
        _ => work.run(services)?.json(),
    };
    Ok(envelope::success(data))
}

/// The message of a command, from JSON under its own names.
fn decode(command: u8, body: &[u8]) -> Result<Request, Refusal> {
    Ok(match command {
        number::PROFILE => Request::Profile(message(body)?),
        number::TRADING_SESSIONS => Request::TradingSessions,
        number::TRADING_DAYS => Request::TradingDays(message(body)?),
        number::STATIC_INFO => Request::StaticInfo(message(body)?),
        number::QUOTE => Request::Quote(message(body)?),
        number::INTRADAY => Request::Intraday(message(body)?),
        number::CANDLESTICKS => Request::Candlesticks(message(body)?),
        number::HISTORY => Request::History(message(body)?),
        other => return Err(not_offered(other)),
    })
}

fn message<M: DeserializeOwned>(body: &[u8]) -> Result<M, Refusal> {
    let malformed =
        |error: serde_json::Error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
    let mut value: Value = serde_json::from_slice(body).map_err(malformed)?;
    drop_nulls(&mut value);
    serde_json::from_value(value).map_err(malformed)
}

/// A field that is null is a field that is not there.
fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}
