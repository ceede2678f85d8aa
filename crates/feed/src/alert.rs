//! Price alerts: whether a change of a security's quote fires an alert. Quotes are those of regular
//! hours, whose high and low include every price of the day, so that no price between two quotes
//! is missed.

use market::{Date, PRICE_UNIT, Price, Timestamp};

/// What an alert waits for. An alert fires when its condition becomes true, not while it is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The price rises to a value.
    PriceRise,
    /// The price falls to a value.
    PriceFall,
    /// The change since the previous close rises to a percentage.
    PercentRise,
    /// The change since the previous close falls to a percentage below zero, which is given as a
    /// positive number.
    PercentFall,
}

/// How often an alert fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// At most once a trading day.
    Daily,
    EveryTime,
    /// Once; then the alert is disabled.
    Once,
}

/// A condition with its value: a price, or a percentage in the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertRule {
    pub condition: Condition,
    pub value: Price,
    pub frequency: Frequency,
}

/// The quote of a security in regular hours at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    pub at: Timestamp,
    /// Trading day of the prices.
    pub day: Date,
    pub high: Price,
    pub low: Price,
    pub last: Price,
}

/// State of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlertState {
    pub is_enabled: bool,
    /// The last quote that was compared; `None` while the security has none.
    pub seen: Option<Observation>,
    /// Whether the last price satisfied the condition.
    pub is_met: bool,
    /// The last trading day on which the alert fired.
    pub fired_on: Option<Date>,
}

impl Condition {
    pub const ALL: [Condition; 4] =
        [Condition::PriceRise, Condition::PriceFall, Condition::PercentRise, Condition::PercentFall];

    pub fn is_percent(self) -> bool {
        matches!(self, Condition::PercentRise | Condition::PercentFall)
    }

    fn is_rise(self) -> bool {
        matches!(self, Condition::PriceRise | Condition::PercentRise)
    }
}

impl AlertState {
    /// Returns the state of a new alert. A condition that is already true must become false before
    /// the alert fires.
    pub fn new(rule: &AlertRule, seen: Option<Observation>, prev_close: Option<Price>) -> AlertState {
        let is_met = seen.is_some_and(|seen| rule.is_met(seen.last, prev_close));
        AlertState { is_enabled: true, seen, is_met, fired_on: None }
    }

    /// Compares the next quote. Returns the price if the alert fires: the last price or, if only
    /// the day's high or low has reached the value since the previous quote, that price.
    /// `prev_close` is the close before the day of the quote.
    pub fn observe(
        &mut self,
        rule: &AlertRule,
        now: Observation,
        prev_close: Option<Price>,
    ) -> Option<Price> {
        let before = self.seen.replace(now);
        let was_met = std::mem::replace(&mut self.is_met, rule.is_met(now.last, prev_close));
        let before = before?;
        let is_same_day = before.day == now.day;
        // A day begins without a change.
        let was_met = was_met && (is_same_day || !rule.condition.is_percent());
        if was_met || !self.is_enabled {
            return None;
        }
        let extreme = |seen: Observation| if rule.condition.is_rise() { seen.high } else { seen.low };
        let was_reached = is_same_day && rule.is_met(extreme(before), prev_close);
        let price = if self.is_met {
            now.last
        } else if !was_reached && rule.is_met(extreme(now), prev_close) {
            extreme(now)
        } else {
            return None;
        };
        match rule.frequency {
            Frequency::Daily if self.fired_on == Some(now.day) => return None,
            Frequency::Once => self.is_enabled = false,
            Frequency::Daily | Frequency::EveryTime => {}
        }
        self.fired_on = Some(now.day);
        Some(price)
    }
}

impl AlertRule {
    /// Returns whether a price satisfies the condition. Without a previous close, no percentage
    /// does.
    fn is_met(&self, price: Price, prev_close: Option<Price>) -> bool {
        let (price, value) = (i128::from(price.0), i128::from(self.value.0));
        // Both sides of `change / close >= percentage / 100`, multiplied to stay exact.
        let change = |close: i128| (price - close) * 100 * i128::from(PRICE_UNIT);
        let prev_close = prev_close.map(|close| i128::from(close.0)).filter(|close| *close > 0);
        match (self.condition, prev_close) {
            (Condition::PriceRise, _) => price >= value,
            (Condition::PriceFall, _) => price <= value,
            (Condition::PercentRise, Some(close)) => change(close) >= value * close,
            (Condition::PercentFall, Some(close)) => change(close) <= -value * close,
            (Condition::PercentRise | Condition::PercentFall, None) => false,
        }
    }
}
