//! `marks`: corporate actions to be marked on the chart.

use market::{Action, Period, Session, Timestamp, Venue};
use schemars::JsonSchema;
use serde::Serialize;
use store::StoreError;

use super::form::{OrError, RESOLUTION, SYMBOL, TOKEN, WORDS, number, required, udf};
use super::resolution;
use super::ticker::Ticker;
use crate::caller::Caller;
use crate::kit::allowance::may_see;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter};
use crate::kit::envelope::Problem;
use crate::kit::{Call, Site};
use crate::refusal::Refusal;

/// Maximum number of marks per response. Older marks are omitted, because more marks would cover
/// the chart.
const MARKS_MAX: usize = 500;

pub(super) const MARKS: Doc = udf("udfMarks", "Corporate actions")
    .parameters(&[
        SYMBOL,
        RESOLUTION,
        Parameter::query("from", Kind::Stamp, "Unix seconds, inclusive"),
        Parameter::query("to", Kind::Stamp, "Unix seconds, inclusive"),
    ])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<Vec<UdfMark>>>()])]);
pub(super) const MARKS_BY_KEY: Doc = MARKS.also("udfMarksByKey", &[TOKEN]);

/// A corporate action, as a mark on the chart.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UdfMark {
    id: String,
    time: i64,
    color: &'static str,
    text: String,
    label: &'static str,
    label_font_color: &'static str,
    min_size: u32,
}

pub(super) fn answer(call: &Call<'_>, caller: &Caller, site: &Site) -> Result<Vec<UdfMark>, Problem> {
    let ticker = Ticker::parse(&required(call, "symbol")?)?;
    let period = call.parameter_of("resolution").filter(|text| !text.is_empty());
    let period = period.map_or(Ok(Period::DAY), |text| resolution::parse(&text))?;
    let from = number(call, "from")?.unwrap_or(i64::MIN);
    let to = number(call, "to")?.unwrap_or(i64::MAX);
    may_see(&ticker.symbol, caller, site)?;
    let read =
        |reader: &mut store::Reader| -> Result<_, StoreError> { reader.view().actions(&ticker.symbol) };
    let actions = site.core.with_reader(read).map_err(|error| {
        tracing::error!(%error, "cannot read corporate actions");
        Refusal::Internal
    })?;
    let venue = site.core.history.venue(&ticker.symbol);
    // Actions after today have no candle yet.
    let today = venue.zone().date(caller.now());
    let there = numbered(&actions).filter(|(_, action)| action.ex_date <= today);
    let stamped = there.map(|(number, action)| (number, time(action, period, venue), action));
    let mut marks: Vec<UdfMark> = stamped
        .filter(|(_, at, _)| (from..=to).contains(&at.0))
        .map(|(number, at, action)| mark(number, at, action))
        .collect();
    marks.drain(..marks.len().saturating_sub(MARKS_MAX));
    Ok(marks)
}

/// Numbers the actions of each day. The number is part of a mark's id, so it must not depend on the
/// requested range.
fn numbered(actions: &[Action]) -> impl Iterator<Item = (usize, &Action)> {
    let days = actions.chunk_by(|one, other| one.ex_date == other.ex_date);
    days.flat_map(|day| day.iter().enumerate())
}

/// Returns the timestamp of the candle that a mark belongs to: the daily candle, or the day's first
/// one-minute candle.
fn time(action: &Action, period: Period, venue: &Venue) -> Timestamp {
    let midnight = venue.zone().midnight(action.ex_date);
    let Period::Clock(_) = period else { return super::history::day_stamp(midnight, venue.zone()) };
    let segments = venue.hours(action.ex_date).iter();
    let open =
        segments.filter(|segment| segment.session == Session::Intraday).map(|segment| segment.start).min();
    venue.zone().instant(action.ex_date, i64::from(open.unwrap_or(0)) * 60)
}

fn mark(number: usize, at: Timestamp, action: &Action) -> UdfMark {
    let Action { ex_date, cash, split, bonus, rights, rights_price } = action;
    let report = [
        (!cash.is_zero(), "D", format!("dividend {cash} per share")),
        (*split != market::adjust::Amount::ONE, "S", format!("split: {split} for 1")),
        (!bonus.is_zero(), "B", format!("bonus: {bonus} for 1")),
        (!rights.is_zero(), "R", format!("rights: {rights} for 1 at {rights_price}")),
    ];
    let report: Vec<(&'static str, String)> =
        report.into_iter().filter(|(is_there, ..)| *is_there).map(|(_, label, text)| (label, text)).collect();
    let label = report.first().map_or("A", |(label, _)| label);
    let text: Vec<String> = report.iter().map(|(_, text)| text.clone()).collect();
    UdfMark {
        id: format!("{ex_date}-{number}"),
        time: at.0,
        color: if label == "D" { "green" } else { "blue" },
        text: format!("{ex_date}: {}", text.join(", ")),
        label,
        label_font_color: "white",
        min_size: 14,
    }
}
