//! `chandler clock`: shows a server's market clock, or moves a fixed clock forward. Needs write access
//! to the store of a server on this machine, or the operator role at another server.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use market::{Timestamp, Venues};
use serde_json::{Value, json};
use server::{CannotStep, MarketTime};

use super::trade::shown::text;
use crate::clock::{Clock, IsServed, NoticePath, ServedClock};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Format};
use crate::remote::session::Session;
use crate::remote::{self, field};

const PATH: &str = "/v1/admin/clock";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Time to move a fixed clock to, only forward: an instant such as 2026-03-18T02:00:15Z, or a
    /// step such as +15s, +5m, +1h, +1d
    to: Option<String>,
    #[command(flatten)]
    remote: remote::Flags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let wish = arguments.to.as_deref().map(Wish::parse).transpose()?;
    let document = match notice_of_server(arguments, context)? {
        Some(notice) => here(&notice, wish, context.history.venues())?,
        None => there(arguments, wish)?,
    };
    if arguments.format == Format::Json {
        return Ok(output::json(&document)?);
    }
    let mut out = output::stdout();
    writeln!(out, "{}{}", text(&document, "now"), pace(&document))?;
    Ok(out.flush()?)
}

/// Returns the clock file of the running server of the local store. `None` if another server was
/// given, or if no server of the default store runs.
fn notice_of_server(arguments: &Arguments, context: &CommandContext) -> Result<Option<NoticePath>, Failure> {
    let named = context.named;
    match (&arguments.remote.server, named.store, named.server) {
        (Some(_), true, true) => return Err(usage("--server and --store cannot be used together")),
        (Some(_), false, _) => return Ok(None),
        _ => {}
    }
    let is_served = |notice: &NoticePath| matches!(notice.read(), Some((_, IsServed::Yes)));
    match context.clock_notice().ok().filter(is_served) {
        None if named.store => Err(anyhow!("no server of this store is running on this machine").into()),
        notice => Ok(notice),
    }
}

/// Shows or moves the clock of the running server of the local store.
fn here(notice: &NoticePath, wish: Option<Wish>, venues: &Venues) -> Result<Value, Failure> {
    let read = || {
        let (noted, _) = notice.read().ok_or_else(|| anyhow!("the server of this store has stopped"))?;
        Ok::<Clock, Failure>(noted.clock(venues))
    };
    let mut clock = read()?;
    if let Some(wish) = wish {
        if !matches!(clock, Clock::Fixed(_)) {
            return Err(anyhow!(CannotStep::NotStanding).into());
        }
        notice.wishes().ask(wish.after(clock.now())).map_err(|error| anyhow!(error))?;
        clock = read()?;
    }
    let pace = ServedClock::new(clock, None).pace();
    Ok(json!({"now": clock.now().to_string(), "pace": pace.kind(), "speed": pace.factor()}))
}

/// Shows or moves the clock of another server.
fn there(arguments: &Arguments, wish: Option<Wish>) -> Result<Value, Failure> {
    let session = Session::open(&arguments.remote)?;
    let get = || session.get(PATH).map_err(|error| session.to_failure(error));
    let Some(wish) = wish else { return get() };
    let to = match wish {
        Wish::To(at) => at,
        Wish::On(_) => {
            let shown = get()?;
            let now = text(&shown, "now")
                .parse::<jiff::Timestamp>()
                .map_err(|_| usage("the server does not report its clock: give an instant to move it to"))?;
            wish.after(Timestamp(now.as_second()))
        }
    };
    session.post(PATH, json!({"now": to.to_string()})).map_err(|error| session.to_failure(error))
}

/// Describes how the server's clock advances. Empty if the server does not report it.
fn pace(document: &Value) -> String {
    let speed = field(document, "speed").as_f64().unwrap_or(1.0);
    match text(document, "pace").as_str() {
        "" => String::new(),
        "standing" => ", fixed: `chandler clock INSTANT` moves it".to_owned(),
        "machine" => ", the machine's clock".to_owned(),
        "running" if speed.to_bits() == 1_f64.to_bits() => ", runs".to_owned(),
        "running" => format!(", runs at {speed} times the machine's speed"),
        other => format!(", {other}"),
    }
}

/// Target of a clock move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    To(Timestamp),
    /// Seconds to move forward.
    On(i64),
}

impl Wish {
    /// Returns the time to move to from the present time of the clock.
    fn after(self, now: Timestamp) -> Timestamp {
        match self {
            Wish::To(at) => at,
            Wish::On(seconds) => Timestamp(now.0.saturating_add(seconds)),
        }
    }

    fn parse(text: &str) -> Result<Wish, Failure> {
        let wrong = || {
            usage(format!(
                "{text:?} is neither an instant nor a step: write 2026-03-18T02:00:15Z, or +15s, +5m, +1h, +1d"
            ))
        };
        let Some(step) = text.strip_prefix('+') else {
            let at: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
            return Ok(Wish::To(Timestamp(at.as_second())));
        };
        let unit = step.chars().last().and_then(|unit| match unit {
            's' => Some(1),
            'm' => Some(60),
            'h' => Some(3_600),
            'd' => Some(86_400),
            _ => None,
        });
        let number = step
            .get(..step.len().saturating_sub(1))
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.and_then(|digits| digits.parse::<i64>().ok());
        let seconds = unit.zip(number).and_then(|(unit, number)| number.checked_mul(unit));
        seconds.map(Wish::On).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_of_a_clock_is_described() {
        for (document, words) in [
            (json!({}), ""),
            (json!({"pace": "standing", "speed": 0.0}), ", fixed: `chandler clock INSTANT` moves it"),
            (json!({"pace": "machine", "speed": 1.0}), ", the machine's clock"),
            (json!({"pace": "running", "speed": 1.0}), ", runs"),
            (json!({"pace": "running", "speed": 60.0}), ", runs at 60 times the machine's speed"),
            (json!({"pace": "running", "speed": 0.5}), ", runs at 0.5 times the machine's speed"),
        ] {
            assert_eq!(pace(&document), words, "{document}");
        }
    }

    #[test]
    fn a_clock_move_is_parsed_from_an_instant_or_a_step() {
        for (text, seconds) in [("+15s", 15), ("+5m", 300), ("+1h", 3_600), ("+2d", 172_800)] {
            assert_eq!(Wish::parse(text).unwrap(), Wish::On(seconds));
        }
        assert_eq!(Wish::parse("1970-01-01T00:01:00Z").unwrap(), Wish::To(Timestamp(60)));
        for text in
            ["", "+", "+5", "+s", "+5w", "+-5s", "5s", "+5 s", "2026-03-18", "+99999999999999999999s", "+5ü"]
        {
            assert!(Wish::parse(text).is_err(), "{text}");
        }
    }
}
