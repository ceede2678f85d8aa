//! Explanation of an order, derived from its account's journal. Lists every event with its time and
//! candle, the price and rule of each fill, and each charge. For a refusal, includes the failed
//! check and its numbers.

use market::{Market, Price, Timestamp, Zone};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{
    AcceptedOrder, AttachedLeg, AttachedTo, Bar, Direction, Entry, Event, Execution, FillRule, GridTrigger,
    Money, OrderId, OrderStatus, OrderType, Quantity, Refusal, Release, Setting, Share, Side, Standing,
    Terms, Trigger, Watch, plain_price,
};

use crate::order_words::{self, in_words};
use crate::reason::{Charge, Reason};

/// The steps of an order, oldest first. Times are Unix seconds as text; prices and amounts are also
/// text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OrderExplanation {
    pub order_id: String,
    pub symbol: String,
    /// Time zone of the security's market, in which all sentences and `local` are: Asia/Hong_Kong
    /// or America/New_York.
    pub zone: &'static str,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    pub at: String,
    /// Local time in the market, with its time zone: `2026-03-18 10:00:15 HKT`.
    pub local: String,
    pub event: &'static str,
    /// The event as a sentence.
    pub words: String,
    /// The rules that applied, one sentence each.
    pub because: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candle: Option<ExplainedCandle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<ExplainedFill>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// The candle that caused an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainedCandle {
    pub time: String,
    /// `minute`, or `day` for the daily candle of a day without one-minute candles. A daily candle
    /// is stamped with the market's opening time.
    pub period: &'static str,
    pub open: String,
    pub high: String,
    pub low: String,
    pub close: String,
    pub volume: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainedFill {
    pub quantity: String,
    pub price: String,
    /// Source of the price: `open`, `limit` or `close`.
    pub price_of: &'static str,
    /// Fill rule: `market_open`, `open`, `limit`, `opening_auction`, `closing_auction` or
    /// `odd_lot`.
    pub rule: &'static str,
    /// Quantity of the candle's volume that is available to this order. `None` if the volume is not
    /// limited.
    pub budget: Option<String>,
    pub amount: String,
    pub currency: String,
    pub fees: Vec<Charge>,
    pub fee_total: String,
    pub trading_day: String,
    pub settles_on: String,
}

/// Explains an order from a whole journal. Returns `None` if the journal has no such order.
pub fn explanation(entries: &[Entry], id: OrderId) -> Option<OrderExplanation> {
    let mut shares: Vec<(u64, Option<Share>)> = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::Opened { settings, .. } => shares.push((entry.number, settings.participation)),
            Event::Set { setting: Setting::Participation(set) } => shares.push((entry.number, *set)),
            _ => {}
        }
    }
    let share = |entry: &Entry| {
        let before = shares.iter().rev().find(|(number, _)| *number < entry.number);
        before.and_then(|(_, share)| *share)
    };
    explanation_of(entries, id, share)
}

/// Like [`explanation()`], but takes part of a journal. `share` returns the participation setting
/// in effect at an entry.
pub(crate) fn explanation_of(
    entries: &[Entry],
    id: OrderId,
    share: impl Fn(&Entry) -> Option<Share>,
) -> Option<OrderExplanation> {
    let mut teller: Option<Teller> = None;
    let mut steps = Vec::new();
    // A trigger is directly followed by the order that it created.
    let mut trigger: Option<&GridTrigger> = None;
    for entry in entries {
        if let Event::GridTriggered(last) = &entry.event {
            trigger = Some(last.as_ref());
        }
        if entry.event.order() != Some(id) {
            continue;
        }
        if teller.is_none() {
            teller = Teller::of(&entry.event);
        }
        // Skip entries before the order is accepted.
        let Some(teller) = teller.as_mut() else { continue };
        teller.share = share(entry);
        let step = teller.step(entry.at.unwrap_or_default(), &entry.event);
        steps.push(match &entry.event {
            Event::Accepted(accepted) if accepted.attached.is_some() => teller.attached(step, accepted),
            Event::Accepted(accepted) => teller.origin(step, accepted, trigger),
            _ => step,
        });
    }
    teller.map(|teller| OrderExplanation {
        order_id: id.to_string(),
        symbol: teller.terms.symbol.to_string(),
        zone: teller.zone.name(),
        steps,
    })
}

/// State of the order while its steps are built.
struct Teller {
    terms: Terms,
    executed: Quantity,
    /// Main order and role, if the order is attached to another one.
    attached: Option<AttachedTo>,
    zone: Zone,
    /// Share of a candle's volume that the account may fill.
    share: Option<Share>,
}

impl Teller {
    fn of(event: &Event) -> Option<Teller> {
        let accepted = match event {
            Event::Accepted(accepted) => accepted,
            Event::Rejected { order: Some(accepted), .. } => accepted,
            _ => return None,
        };
        let terms = accepted.terms.clone();
        let zone = Zone::of(terms.symbol.market());
        let attached = accepted.attached;
        Some(Teller { terms, executed: Quantity::ZERO, attached, zone, share: None })
    }

    fn step(&mut self, at: Timestamp, event: &Event) -> Step {
        let step = |event: &'static str, words: String, because: Vec<String>| Step {
            at: at.0.to_string(),
            local: local(&self.zone, at),
            event,
            words,
            because,
            candle: None,
            fill: None,
            reason: None,
        };
        match event {
            Event::Accepted(accepted) => {
                let who = if accepted.is_forced { "created by forced liquidation" } else { "accepted" };
                let words = format!("{who}: {}", in_words(&accepted.terms));
                let mut because = self.standing(at, accepted, &accepted.standing);
                because.extend(accepted.terms.attached.as_deref().map(order_words::attached));
                step("accepted", words, because)
            }
            Event::Rejected { refusal, order, .. } => {
                let what = order.as_ref().map(|order| format!("{}: ", in_words(&order.terms)));
                let words = format!("rejected: {}{}", what.unwrap_or_default(), refusal.text);
                let reason = Reason::of(refusal);
                Step {
                    reason: Some(reason.clone()),
                    ..step("rejected", words, vec![rejected(refusal, &reason)])
                }
            }
            Event::Activated { terms, standing, .. } => {
                self.terms = terms.as_ref().clone();
                let mut because = Vec::new();
                let words = match &self.attached {
                    None => "its delay has ended: accepted by the engine".to_owned(),
                    Some(attached) => {
                        because.push(self.trigger());
                        format!("active: order {} has its first fill", attached.main)
                    }
                };
                because.extend(self.hours(at, standing, true));
                because.extend(self.reserve(standing));
                step("activated", words, because)
            }
            Event::Reported { .. } => {
                step("reported", "reported: its session is open".to_owned(), Vec::new())
            }
            Event::Watching { best, .. } => {
                let words = format!("started trailing the price from {}", plain_price(*best));
                step("watching", words, vec![self.stop()])
            }
            Event::BestMoved { best, .. } => step(
                "best_moved",
                format!("the best price so far is {}", plain_price(*best)),
                vec![self.stop()],
            ),
            Event::Released(release) => {
                let because = self.release(release);
                self.terms.price = release.price.or(self.terms.price);
                let kind = match release.price {
                    Some(price) => format!("a limit order at {}", plain_price(price)),
                    None => "a market order".to_owned(),
                };
                let candle = Some(ExplainedCandle::of(&release.candle));
                Step { candle, ..step("released", format!("released as {kind}"), because) }
            }
            Event::Filled(filled) => {
                self.executed += filled.quantity;
                let words = self.filled(filled);
                let (price_of, because) = self.fill_rules(filled);
                let (candle, fill) =
                    (Some(ExplainedCandle::of(&filled.candle)), Some(ExplainedFill::of(filled, price_of)));
                Step { candle, fill, ..step("filled", words, because) }
            }
            Event::Replaced { terms, standing, .. } => {
                self.terms = terms.as_ref().clone();
                let mut because = self.reserve(standing);
                because.push(match &self.attached {
                    Some(attached) if standing.watch.is_none() && standing.reserve_price.is_none() => {
                        format!("it waits for a fill of order {}, and then for its trigger", attached.main)
                    }
                    _ => format!("candles stamped after {} may fill it", self.clock(at)),
                });
                step("replaced", format!("replaced: {}", in_words(terms)), because)
            }
            Event::Canceled { reason: None, .. } => {
                step("canceled", "cancelled on request".to_owned(), Vec::new())
            }
            Event::Canceled { reason: Some(reason), .. } => {
                step("canceled", format!("cancelled: {reason}"), Vec::new())
            }
            Event::Resized { quantity, .. } => {
                self.terms.quantity = *quantity;
                let left = *quantity - self.executed;
                let because = "its main order, the position or the other attached order has changed";
                step("resized", format!("{left} are left to close"), vec![because.to_owned()])
            }
            Event::Expired { .. } => {
                step("expired", "expired: its time in force ended".to_owned(), Vec::new())
            }
            _ => step("other", "an event that does not concern an order".to_owned(), Vec::new()),
        }
    }

    /// Describes an order that was submitted with its main order, and waits for a fill of it.
    fn attached(&self, mut step: Step, accepted: &AcceptedOrder) -> Step {
        let Some(attached) = &accepted.attached else { return step };
        let what = order_words::leg(attached.leg);
        step.words =
            format!("attached to order {} as its {what}: {}", attached.main, in_words(&accepted.terms));
        step.because = vec![
            format!("it waits for a fill of order {}, and then for its trigger", attached.main),
            "it closes at most what that order has filled, and never opens a position".to_owned(),
            "its time in force begins with the first fill".to_owned(),
        ];
        step
    }

    /// Adds the grid and the trigger that created the order.
    fn origin(&self, mut step: Step, accepted: &AcceptedOrder, trigger: Option<&GridTrigger>) -> Step {
        let Some(origin) = &accepted.grid else { return step };
        let trigger = trigger.filter(|of| (of.grid, of.price) == (origin.grid, origin.price));
        step.words = format!("made by grid {}: {}", origin.grid, in_words(&accepted.terms));
        let seen = trigger.map(|trigger| (self.candle(&trigger.candle), prices(&trigger.candle)));
        let mut because = order_words::because(origin, seen);
        because.append(&mut step.because);
        step.because = because;
        step.candle = trigger.map(|trigger| ExplainedCandle::of(&trigger.candle));
        step
    }

    /// Describes the price that triggers an attached order.
    fn trigger(&self) -> String {
        let Some((attached, trigger)) = self.attached.zip(self.terms.trigger_price) else {
            return "it has no trigger".to_owned();
        };
        let is_rise = (attached.leg == AttachedLeg::ProfitTaker) != self.terms.side.is_buy();
        let way = if is_rise { "more" } else { "less" };
        format!("it waits for a price of {} or {way}", plain_price(trigger))
    }

    fn standing(&self, at: Timestamp, accepted: &AcceptedOrder, standing: &Standing) -> Vec<String> {
        let mut because = Vec::new();
        match (&standing.watch, accepted.terms.trigger_price, accepted.terms.monitor_price) {
            (Some(Watch::Touch(direction)), Some(trigger), _) => {
                let (way, before) = way(*direction);
                let trigger = plain_price(trigger);
                because.push(format!("it waits for a price of {trigger} or {way}: the market was {before}"));
            }
            (Some(Watch::Monitor(direction)), _, Some(monitor)) => {
                let (way, before) = way(*direction);
                let monitor = plain_price(monitor);
                because.push(format!(
                    "it follows the price from {monitor} or {way} on: the market was {before}"
                ));
            }
            (Some(Watch::Trail(best)), ..) => {
                because.push(format!("it trails the price from {}", plain_price(*best)));
                because.push(self.stop());
            }
            _ => {}
        }
        because.extend(self.hours(at, standing, accepted.by_engine));
        because.extend(self.reserve(standing));
        because
    }

    /// Describes when the order trades and when it expires. An order created by the engine may fill
    /// from the minute in which it was created.
    fn hours(&self, at: Timestamp, standing: &Standing, by_engine: bool) -> Vec<String> {
        let placement = &standing.placement;
        let mut hours = Vec::new();
        hours.push(match standing.status {
            OrderStatus::NotReported => {
                format!("its session is closed: it is reported at {}", self.clock(placement.reports_at))
            }
            OrderStatus::DelayedNotReported => {
                let until = self.terms.delayed_until.map_or_else(|| "later".to_owned(), |at| self.clock(at));
                format!("it is held until {until}")
            }
            _ if by_engine => format!("candles stamped {} or later count for it", self.clock(at)),
            _ => format!("candles stamped after {} count for it", self.clock(at)),
        });
        if let Some(auction) = placement.auction {
            let which = if auction.is_closing { "closing" } else { "opening" };
            hours.push(format!("its auction is the {which} one of {}", placement.day));
        }
        let is_market = matches!(self.terms.order_type, OrderType::Market | OrderType::MarketIfTouched);
        if is_market && self.terms.symbol.market() == Market::Us {
            hours.push(
                "as a market order it trades in regular hours only, regardless of outside_rth".to_owned(),
            );
        }
        hours.push(match placement.expires_at {
            Some(at) => format!("it ends at {}", self.clock(at)),
            None => "it does not expire".to_owned(),
        });
        hours
    }

    fn reserve(&self, standing: &Standing) -> Vec<String> {
        let price = standing.reserve_price.filter(|_| self.terms.side.is_buy());
        let words =
            |price: Price| format!("{} for each, and the charges, are held back for it", plain_price(price));
        price.map(words).into_iter().collect()
    }

    /// Describes the distance between a trailing stop and the best price.
    fn stop(&self) -> String {
        let away = match (self.terms.trailing_amount, self.terms.trailing_percent) {
            (Some(amount), _) => plain_price(amount).to_string(),
            (None, Some(percent)) => format!("{percent} %"),
            (None, None) => "nothing".to_owned(),
        };
        let side = if self.terms.side.is_buy() { "above" } else { "below" };
        format!("it is released at {away} {side} the best price")
    }

    fn release(&self, release: &Release) -> Vec<String> {
        let Release { candle, how, watch, .. } = release;
        let stamp = self.candle(candle);
        let level = match (self.terms.trigger_price, watch) {
            (Some(trigger), _) => format!("the trigger {}", plain_price(trigger)),
            (None, Some(Watch::Trail(best))) => {
                format!("the stop that follows from the best price, {},", plain_price(*best))
            }
            (None, _) => "its stop".to_owned(),
        };
        match how {
            Trigger::Gap => vec![
                format!("the open of the {stamp}, {}, was at {level} or beyond it", plain_price(candle.open)),
                "so the whole candle is after the release and may fill it".to_owned(),
            ],
            Trigger::Inside => vec![
                format!(
                    "the {stamp} ({}) reached {level} on every path that its prices allow",
                    prices(candle)
                ),
                format!(
                    "what followed within the {} is unknown, so only later candles may fill it",
                    if candle.is_day { "day" } else { "minute" }
                ),
            ],
        }
    }

    fn filled(&self, filled: &Execution) -> String {
        let Execution { quantity, price, .. } = filled;
        let left = self.terms.quantity - self.executed;
        let rest = if left.is_positive() { format!("; {left} are left") } else { String::new() };
        let done = if left.is_positive() { "filled in part" } else { "filled" };
        format!("{done}: {quantity} at {}{rest}", plain_price(*price))
    }

    /// Returns the name of the candle price at which the order was filled, and the rules that
    /// selected the price.
    fn fill_rules(&self, filled: &Execution) -> (&'static str, Vec<String>) {
        let Execution { candle, rule, price, .. } = filled;
        let (stamp, open) = (self.candle(candle), plain_price(candle.open));
        let limit = plain_price(self.terms.price.unwrap_or(*price));
        let (extreme, name) = match filled.side {
            Side::Buy => (candle.low, "low"),
            Side::Sell => (candle.high, "high"),
        };
        let (price_of, rule) = match rule {
            FillRule::MarketOpen if *price != candle.open => (
                "open",
                format!(
                    "a market order takes the open of a candle, {open}, and the account's slippage against it"
                ),
            ),
            FillRule::MarketOpen => ("open", format!("a market order takes the open of a candle, {open}")),
            FillRule::Open => (
                "open",
                format!(
                    "the open {open} was on the good side of the limit {limit}, so the open is the price"
                ),
            ),
            FillRule::Limit => (
                "limit",
                format!(
                    "the open {open} was not enough for the limit {limit}, the {name} {} was; inside a candle the \
                     limit is the price",
                    plain_price(extreme)
                ),
            ),
            FillRule::OpeningAuction => {
                ("open", format!("the opening auction has one price for all, the open {open}"))
            }
            FillRule::ClosingAuction => (
                "close",
                format!("the closing auction has one price for all, the close {}", plain_price(candle.close)),
            ),
            FillRule::OddLot => ("limit", format!("an odd lot fills whole, at its limit {limit}")),
        };
        let mut because = vec![format!("{stamp}: {}", prices(candle)), rule];
        if let Some(budget) = filled.budget {
            because.push(format!(
                "of its volume of {}, {budget} were left to this order: an account takes {} of each candle, cut to whole {}",
                candle.volume,
                self.share.map_or_else(|| "a share".to_owned(), |share| share.to_string()),
                self.unit()
            ));
        }
        because.extend(money(filled));
        (price_of, because)
    }

    /// Returns the unit of a candle's volume.
    fn unit(&self) -> &'static str {
        match self.terms.symbol.market() {
            Market::Hk => "lots",
            _ if self.terms.symbol.is_us_option() => "contracts",
            _ => "shares",
        }
    }

    fn clock(&self, at: Timestamp) -> String {
        local(&self.zone, at)
    }

    /// Formats a candle as `candle 10:01 HKT` or `daily candle of 2026-03-18`.
    fn candle(&self, candle: &Bar) -> String {
        let (date, seconds) = self.zone.local(candle.time);
        if candle.is_day {
            return format!("daily candle of {date}");
        }
        let zone = self.zone.abbreviation(candle.time);
        format!("candle {:02}:{:02} {zone}", seconds / 3600, seconds / 60 % 60)
    }
}

/// Formats an instant as `2026-03-18 10:01:00 HKT`.
pub(crate) fn local(zone: &Zone, at: Timestamp) -> String {
    let (date, seconds) = zone.local(at);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{date} {hour:02}:{minute:02}:{second:02} {}", zone.abbreviation(at))
}

/// Describes the amounts booked by a fill.
fn money(filled: &Execution) -> Vec<String> {
    let Execution { facts, quantity, price, side, fees, .. } = filled;
    let amount = Money::of(*price, *quantity, facts.multiplier);
    let total: Money = fees.iter().map(|fee| fee.amount).sum();
    let currency = facts.currency;
    let mut words: Vec<String> =
        fees.iter().map(|fee| format!("{} {currency} {}", fee.code, fee.amount.text())).collect();
    let (verb, with_fees) =
        if side.is_buy() { ("paid", amount + total) } else { ("received", amount - total) };
    words.push(format!(
        "{currency} {} {verb}: {} and charges of {}; booked on {}, settled on {}",
        with_fees.text(),
        amount.text(),
        total.text(),
        filled.day,
        filled.settles_on
    ));
    words
}

pub(crate) fn prices(candle: &Bar) -> String {
    let Bar { open, high, low, close, volume, .. } = candle;
    let [open, high, low, close] = [open, high, low, close].map(|price| plain_price(*price));
    format!("open {open}, high {high}, low {low}, close {close}, volume {volume}")
}

fn rejected(refusal: &Refusal, reason: &Reason) -> String {
    match refusal.check {
        Some(10..=12) => format!("{}; it was accepted and then rejected, and costs nothing", reason.words),
        _ => reason.words.clone(),
    }
}

/// Returns the words for the direction in which the price must move, and for the side of the level
/// on which the price was.
fn way(direction: Direction) -> (&'static str, &'static str) {
    match direction {
        Direction::Rise => ("more", "below it"),
        Direction::Fall => ("less", "above it"),
    }
}

impl ExplainedCandle {
    pub(crate) fn of(candle: &Bar) -> ExplainedCandle {
        let Bar { time, open, high, low, close, volume, is_day, .. } = candle;
        let [open, high, low, close] = [open, high, low, close].map(|price| plain_price(*price).to_string());
        let period = if *is_day { "day" } else { "minute" };
        ExplainedCandle { time: time.0.to_string(), period, open, high, low, close, volume: *volume }
    }
}

impl ExplainedFill {
    fn of(filled: &Execution, price_of: &'static str) -> ExplainedFill {
        let total: Money = filled.fees.iter().map(|fee| fee.amount).sum();
        let amount = Money::of(filled.price, filled.quantity, filled.facts.multiplier);
        ExplainedFill {
            quantity: filled.quantity.to_string(),
            price: plain_price(filled.price).to_string(),
            price_of,
            rule: rule_name(filled.rule),
            budget: filled.budget.map(|budget| budget.to_string()),
            amount: amount.text().to_string(),
            currency: filled.facts.currency.to_string(),
            fees: filled.fees.iter().map(Charge::of).collect(),
            fee_total: total.text().to_string(),
            trading_day: filled.day.to_string(),
            settles_on: filled.settles_on.to_string(),
        }
    }
}

fn rule_name(rule: FillRule) -> &'static str {
    match rule {
        FillRule::MarketOpen => "market_open",
        FillRule::Open => "open",
        FillRule::Limit => "limit",
        FillRule::OpeningAuction => "opening_auction",
        FillRule::ClosingAuction => "closing_auction",
        FillRule::OddLot => "odd_lot",
    }
}
