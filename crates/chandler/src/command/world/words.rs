//! Arguments and responses that the commands of `chandler world` share.

use access::Secret;
use clap::ValueEnum;
use serde_json::{Map, Value};

use crate::command::trade::shown::text;
use crate::failure::{Failure, usage};
use crate::remote::field;
use crate::sdk::Credentials;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SkipName {
    #[default]
    Closed,
    None,
}

impl SkipName {
    /// Returns the value of the setting `skip`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            SkipName::Closed => "closed",
            SkipName::None => "none",
        }
    }
}

/// Returns the path of a world's endpoints.
pub(super) fn path_of(name: &str) -> Result<String, Failure> {
    // A name with other characters would change the path.
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(usage(format!("{name:?} is not a name of a world: 1 to 40 of a-z, 0-9 and -")));
    }
    Ok(format!("/v1/worlds/{name}"))
}

/// Returns initial cash as JSON: `HKD=500000` becomes `{"HKD": "500000"}`.
pub(super) fn cash_of(parts: &[String]) -> Result<Value, Failure> {
    let amount = |part: &String| {
        let (currency, amount) = part
            .split_once('=')
            .ok_or_else(|| usage(format!("{part:?} is not an amount: write HKD=500000")))?;
        Ok((currency.to_owned(), Value::from(amount)))
    };
    Ok(parts.iter().map(amount).collect::<Result<Map<_, _>, Failure>>()?.into())
}

/// Returns a speed as JSON: a number, or text such as `max`.
pub(super) fn speed_of(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| text.into())
}

/// Returns the API key of a new world.
pub(super) fn credentials_of(created: &Value) -> Credentials {
    let credentials = field(created, "credentials");
    Credentials {
        app_key: text(credentials, "app_key"),
        app_secret: Secret::new(text(credentials, "app_secret")),
        access_token: Secret::new(text(credentials, "access_token")),
    }
}
