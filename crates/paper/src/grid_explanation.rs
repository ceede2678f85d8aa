//! Explanation of a grid, derived from its account's journal. Lists every trigger with its candle,
//! and the order that the trigger created or the reason why it created none.

use market::{Market, Zone};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{
    Bar, Entry, Event, GridId, GridRule, GridStep, GridTrigger, GridTriggerKind, SleepingReason, plain_price,
};

use crate::explanation::{ExplainedCandle, Step, local};
use crate::order_words::way;
use crate::reason::Reason;

/// The steps of a grid, oldest first. Times are Unix seconds as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GridExplanation {
    pub order_id: String,
    pub symbol: String,
    pub steps: Vec<Step>,
}

/// Explains a grid. Returns `None` if the journal has no such grid.
pub fn grid_explanation(entries: &[Entry], id: GridId) -> Option<GridExplanation> {
    let symbol = entries.iter().find_map(|entry| match &entry.event {
        Event::GridSubmitted(new) if new.id == id => Some(&new.symbol),
        _ => None,
    });
    symbol.map(|symbol| GridExplanation {
        order_id: id.to_string(),
        symbol: symbol.to_string(),
        steps: grid_steps(entries, id, symbol.market()),
    })
}

pub(crate) fn grid_steps(entries: &[Entry], id: GridId, market: Market) -> Vec<Step> {
    let zone = Zone::of(market);
    let of_grid = entries.iter().filter(|entry| entry.event.grid() == Some(id));
    let step = |entry: &Entry| {
        let at = entry.at.unwrap_or_default();
        describe(&entry.event).map(|step| Step { at: at.0.to_string(), local: local(&zone, at), ..step })
    };
    of_grid.filter_map(step).collect()
}

fn step(event: &'static str, words: impl Into<String>, because: Vec<String>) -> Step {
    let (at, local, words) = (String::new(), String::new(), words.into());
    Step { at, local, event, words, because, candle: None, fill: None, reason: None }
}

fn describe(event: &Event) -> Option<Step> {
    let step = match event {
        Event::GridSubmitted(new) => {
            step("submitted", format!("submitted on {}", new.symbol), in_words(&new.rule))
        }
        Event::GridReplaced { rule, .. } => {
            let because = in_words(rule);
            step("replaced", format!("replaced: its base price is now {}", plain_price(rule.base)), because)
        }
        Event::GridTriggered(trigger) => triggered(trigger),
        Event::GridSlept { candle, reason, .. } => {
            let (words, because) = match reason {
                SleepingReason::Minutes => (
                    format!("asleep: {reason}"),
                    vec!["its last day had a daily candle and no one-minute candles, and a grid is triggered minute by minute".to_owned()],
                ),
                SleepingReason::Triggers | SleepingReason::Journal => {
                    (format!("asleep: {}", skipped(*reason)), Vec::new())
                }
                _ => {
                    let open = plain_price(candle.open);
                    (format!("inactive: a candle opened at {open}, outside its bounds"), Vec::new())
                }
            };
            with_candle(step("slept", words, because), candle)
        }
        Event::GridSuspended { reason, .. } => step("suspended", format!("suspended: {reason}"), Vec::new()),
        Event::GridRestarted { .. } => {
            step("restarted", "restarted with its previous base price", Vec::new())
        }
        Event::GridCanceled { bound: Some(candle), .. } => with_candle(
            step("canceled", "ended: the price crossed a bound at which the grid closes", Vec::new()),
            candle,
        ),
        Event::GridCanceled { bound: None, .. } => step("canceled", "cancelled on request", Vec::new()),
        Event::GridExpired { .. } => step("expired", "expired: its time in force ended", Vec::new()),
        _ => return None,
    };
    Some(step)
}

fn with_candle(step: Step, candle: &Bar) -> Step {
    Step { candle: Some(ExplainedCandle::of(candle)), ..step }
}

fn triggered(trigger: &GridTrigger) -> Step {
    let GridTrigger { side, quantity, price, base, kind, .. } = trigger;
    let side = if side.is_buy() { "buys" } else { "sells" };
    let what = match kind {
        GridTriggerKind::Gap => "the open",
        GridTriggerKind::Level | GridTriggerKind::Close => "its level",
    };
    let (price_text, base_text) = (plain_price(*price), plain_price(*base));
    let mut words = format!(
        "triggered at {what} {price_text}, {} the base {base_text}: {side} {quantity}",
        way(*price, *base)
    );
    if let Some(reason) = trigger.skipped {
        words = format!("{words}, but {}", skipped(reason));
    }
    let reason = trigger.refusal.as_ref().map(Reason::of);
    let because = reason.iter().map(|reason| reason.words.clone()).collect();
    let step = with_candle(step("triggered", words, because), &trigger.candle);
    Step { reason, ..step }
}

fn skipped(reason: SleepingReason) -> &'static str {
    match reason {
        SleepingReason::Price => "the price is outside its bounds",
        SleepingReason::Position => "the account's position would leave its limits",
        SleepingReason::Funds => "the account cannot pay for it",
        SleepingReason::Holdings => "the account does not have them",
        SleepingReason::Triggers => "it has reached the maximum number of triggers per trading day",
        SleepingReason::Journal => "the journal of the account is full",
        SleepingReason::Minutes => "the day has no one-minute candles",
    }
}

/// Describes a grid's rule, one sentence per setting.
fn in_words(rule: &GridRule) -> Vec<String> {
    let (up, down) = match rule.step {
        GridStep::Spread { up, down } => (plain_price(up).to_string(), plain_price(down).to_string()),
        GridStep::Percent { up, down } => (format!("{up} %"), format!("{down} %")),
    };
    let (quantity, base) = (rule.quantity, plain_price(rule.base));
    let (lower, upper) = (plain_price(rule.lower), plain_price(rule.upper));
    let (least, most) = (rule.lower_quantity, rule.upper_quantity);
    vec![
        format!("it sells {quantity} at {up} above its base {base}, and buys as many at {down} below it"),
        format!("from {lower} to {upper}, and while the account holds {least} to {most}"),
    ]
}
