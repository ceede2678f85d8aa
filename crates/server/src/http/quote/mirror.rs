//! The pull commands as HTTP: the same messages as JSON, the same route, the same refusals.

use serde_json::{Map, Value};

use crate::command::undecodable;
use crate::dispatch::{CommandRow, JsonReply};
use crate::kit::Site;
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call};
use crate::refusal::Refusal;

/// Fields that are numbers, which some clients send as text.
const NUMBERS: [&str; 6] = ["period", "adjust_type", "query_type", "direction", "count", "trade_session"];

pub(super) fn answer(
    call: &Call<'_>,
    command: u8,
    site: &Site,
    admitted: &Admitted,
) -> Result<Answer, Problem> {
    let Admitted { caller, permit } = admitted;
    let fields = fields(call.body)?;
    let JsonReply { data, candles } =
        CommandRow::find(command)?.answer_json(&site.core, caller, permit, fields)?;
    call.note.candles(candles);
    Ok(envelope::success(data))
}

/// The JSON object of a body; an absent body counts as an empty object.
fn fields(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body).map_err(|error| undecodable(&error))? {
        Value::Object(fields) => Ok(plain(fields)),
        _ => Err(Refusal::Malformed("the body is not a JSON object".to_owned())),
    }
}

/// Normalizes what clients write in several ways: a field that is null counts as absent, names may be in camel case, and numbers may be
/// text.
fn plain(fields: Map<String, Value>) -> Map<String, Value> {
    let mut plainer = Map::new();
    for (name, field) in fields {
        let name = snake_case(&name);
        let field = match field {
            Value::Null => continue,
            Value::Object(fields) => Value::Object(plain(fields)),
            Value::String(text) if NUMBERS.contains(&name.as_str()) => match text.parse::<i32>() {
                Ok(number) => Value::from(number),
                Err(_) if text.is_empty() => continue,
                Err(_) => Value::String(text),
            },
            other => other,
        };
        plainer.insert(name, field);
    }
    plainer
}

fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(written: &str, read_as: &str) {
        let read = Value::Object(fields(written.as_bytes()).unwrap());
        assert_eq!(read, serde_json::from_str::<Value>(read_as).unwrap());
    }

    #[test]
    fn several_ways_to_write_a_field_are_one() {
        check("", "{}");
        check(r#"{"symbol":"700.HK","date_request":null}"#, r#"{"symbol":"700.HK"}"#);
        check(
            r#"{"adjustType":1,"offsetRequest":{"count":"5","date":null}}"#,
            r#"{"adjust_type":1,"offset_request":{"count":5}}"#,
        );
        check(r#"{"period":"1000","symbol":"700","trade_session":""}"#, r#"{"period":1000,"symbol":"700"}"#);
        check(r#"{"period":"day"}"#, r#"{"period":"day"}"#);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for body in ["null", "[]", "[\"700.HK\",1000]", "7", "{", "symbol=700.HK", "{}{}", "\u{feff}{}"] {
            assert!(matches!(fields(body.as_bytes()), Err(Refusal::Malformed(_))), "{body}");
        }
        let deep = "{\"a\":".repeat(10_000);
        assert!(matches!(fields(deep.as_bytes()), Err(Refusal::Malformed(_))));
    }
}
