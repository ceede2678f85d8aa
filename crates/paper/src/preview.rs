//! Preview of an order: the outcome of the checks, each charge, and the account's cash and buying
//! power before and after. Writes nothing.

use market::{Price, Symbol, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{
    AcceptedOrder, Account, Bar, Command, Entry, EstimateQuery, Event, Execution, Fee, FillRule, MarketView,
    Money, Order, OrderStatus, OutsideRth, Rate, Submit, Terms, VERSION, balance, decide, estimate,
    exact_price, fees_at, figures,
};

use crate::outlook::{Waiting, waiting};
use crate::reason::{Charge, Reason};

/// An order as it would be accepted now. Amounts are text with two decimals, and times are Unix
/// seconds as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Preview {
    pub verdict: Verdict,
    /// Reason why the order would be refused or rejected, if it would be.
    pub reason: Option<Reason>,
    pub symbol: String,
    pub side: &'static str,
    pub order_type: &'static str,
    pub quantity: String,
    pub time_in_force: &'static str,
    /// Sessions in which the order would trade.
    pub outside_rth: Option<&'static str>,
    /// Notes on ignored request fields and on the effect of the stored candles, one sentence each.
    pub notes: Vec<String>,
    /// Effect of the stored candles on the order, which is also one of the notes. Null if there is
    /// nothing to report.
    pub waiting: Option<Waiting>,
    /// Status of the order immediately after submission.
    pub status: Option<&'static str>,
    /// Trading day of the order.
    pub trading_day: Option<String>,
    /// Time at which the order would be reported.
    pub reports_at: Option<String>,
    /// Time at which the order would expire.
    pub expires_at: Option<String>,
    pub cost: Option<Cost>,
    /// Orders that would be attached to the order.
    pub attached_orders: Vec<AttachedPreview>,
    /// Maximum quantity that could be bought or sold now with cash only.
    pub cash_max_qty: Option<String>,
    /// Maximum quantity that could be bought or sold now with cash and credit.
    pub margin_max_qty: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accepted,
    /// The order is stored and rejected immediately.
    Rejected,
    /// The order is not stored.
    Refused,
}

/// An attached order as it would be accepted. It becomes active with the first fill of its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttachedPreview {
    /// `PROFIT_TAKER` or `STOP_LOSS`.
    pub attached_type: &'static str,
    pub side: &'static str,
    pub order_type: &'static str,
    pub trigger_price: String,
    /// Limit price, if it is a limit order once it is triggered.
    pub submit_price: Option<String>,
    pub time_in_force: &'static str,
    pub expire_date: Option<String>,
    pub outside_rth: Option<&'static str>,
}

impl AttachedPreview {
    fn of(event: &Event) -> Option<AttachedPreview> {
        let Event::Accepted(accepted) = event else { return None };
        let leg = accepted.attached.as_ref()?.leg;
        let AcceptedOrder { terms, facts, .. } = accepted.as_ref();
        let text = |price: Price| exact_price(price, facts.decimals).to_string();
        Some(AttachedPreview {
            attached_type: leg.as_str(),
            side: terms.side.as_str(),
            order_type: terms.order_type.as_str(),
            trigger_price: terms.trigger_price.map(text).unwrap_or_default(),
            submit_price: terms.price.map(text),
            time_in_force: terms.time_in_force.as_str(),
            expire_date: terms.expire_date.map(|date| date.to_string()),
            outside_rth: terms.outside_rth.map(OutsideRth::as_str),
        })
    }
}

/// Cost of the order if the whole quantity fills at one price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cost {
    pub currency: String,
    /// Price used for the estimate: the limit, the reserve price of a market order, or the current
    /// market price.
    pub price: String,
    pub amount: String,
    pub fees: Vec<Charge>,
    pub fee_total: String,
    /// Amount that leaves or enters the account, including all charges.
    pub total: String,
    /// Available cash in the order's currency.
    pub available_cash: Change,
    /// Buying power in HKD. `None` if a held currency has no exchange rate.
    pub buy_power: Option<Change>,
}

/// Value before the order, and after it is filled at the estimated price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    pub before: String,
    pub after: String,
}

pub(crate) fn preview(account: &Account, view: &MarketView<'_>, request: &Submit) -> Preview {
    let terms = &request.terms;
    let requested = Preview::requested(account, view, terms);
    let events = match decide(account, &Command::Submit(Box::new(request.clone())), view) {
        Ok(events) => events,
        Err(refusal) => return Preview { reason: Some(Reason::of(&refusal)), ..requested },
    };
    let (accepted, reason) = match events.first() {
        Some(Event::Accepted(accepted)) => (accepted.as_ref(), None),
        Some(Event::Rejected { order: Some(accepted), refusal, .. }) => {
            (accepted.as_ref(), Some(Reason::of(refusal)))
        }
        _ => return requested,
    };
    let waiting = expected(account, view, accepted);
    let words = waiting.iter().map(|waiting| waiting.words.clone());
    let standing = &accepted.standing;
    let second = |at: Timestamp| at.0.to_string();
    let status = if reason.is_some() { OrderStatus::Rejected } else { standing.status };
    Preview {
        verdict: if reason.is_some() { Verdict::Rejected } else { Verdict::Accepted },
        status: Some(status.as_str()),
        outside_rth: accepted.terms.outside_rth.map(OutsideRth::as_str),
        notes: notes(terms, &accepted.terms).into_iter().chain(words).collect(),
        waiting,
        trading_day: Some(standing.placement.day.to_string()),
        reports_at: Some(second(standing.placement.reports_at)),
        expires_at: standing.placement.expires_at.map(second),
        attached_orders: events.iter().filter_map(AttachedPreview::of).collect(),
        cost: price_of(view, accepted).and_then(|price| costs(account, view, accepted, price)),
        reason,
        ..requested
    }
}

impl Preview {
    /// Creates the preview of a request, with the verdict `Refused` until the checks have passed.
    fn requested(account: &Account, view: &MarketView<'_>, terms: &Terms) -> Preview {
        let Terms { symbol, side, order_type, quantity, time_in_force, outside_rth, price, .. } = terms;
        let query = EstimateQuery {
            symbol: symbol.clone(),
            side: *side,
            order_type: *order_type,
            price: *price,
            order: None,
            fractional: account.settings().fractional,
        };
        let most = estimate(account, view, &query).ok();
        Preview {
            verdict: Verdict::Refused,
            reason: None,
            symbol: symbol.to_string(),
            side: side.as_str(),
            order_type: order_type.as_str(),
            quantity: quantity.to_string(),
            time_in_force: time_in_force.as_str(),
            outside_rth: outside_rth.map(OutsideRth::as_str),
            notes: Vec::new(),
            waiting: None,
            status: None,
            trading_day: None,
            reports_at: None,
            expires_at: None,
            cost: None,
            attached_orders: Vec::new(),
            cash_max_qty: most.map(|most| most.cash_max.to_string()),
            margin_max_qty: most.map(|most| most.margin_max.to_string()),
        }
    }
}

/// Describes how the accepted terms differ from the requested terms.
fn notes(requested: &Terms, taken: &Terms) -> Vec<String> {
    let order_type = taken.order_type;
    let fields = [
        ("limit", requested.price.is_some(), taken.price.is_some()),
        ("trigger", requested.trigger_price.is_some(), taken.trigger_price.is_some()),
        ("limit offset", requested.limit_offset.is_some(), taken.limit_offset.is_some()),
        ("trailing amount", requested.trailing_amount.is_some(), taken.trailing_amount.is_some()),
        ("trailing percentage", requested.trailing_percent.is_some(), taken.trailing_percent.is_some()),
        ("monitor price", requested.monitor_price.is_some(), taken.monitor_price.is_some()),
    ];
    let unused = fields.iter().filter(|(_, is_given, is_kept)| *is_given && !is_kept);
    let mut notes: Vec<String> =
        unused.map(|(name, _, _)| format!("{order_type} does not use the {name}")).collect();
    if requested.expire_date.is_some() && taken.expire_date.is_none() {
        notes.push(format!("{} does not use the date", taken.time_in_force));
    }
    match (requested.outside_rth, taken.outside_rth) {
        (Some(OutsideRth::AnyTime | OutsideRth::Overnight), Some(OutsideRth::NotApplicable)) => {
            notes.push("its market has no extended hours".to_owned());
        }
        (Some(OutsideRth::AnyTime | OutsideRth::Overnight), Some(OutsideRth::RegularOnly)) => {
            notes.push("it trades in regular hours only".to_owned());
        }
        _ => {}
    }
    notes
}

/// Describes how the stored candles would affect the order after it is accepted.
fn expected(account: &Account, view: &MarketView<'_>, accepted: &AcceptedOrder) -> Option<Waiting> {
    let mut after = account.clone();
    after.apply(&entry(&after, view, Event::Accepted(Box::new(accepted.clone()))));
    after.order(accepted.id).and_then(|order| waiting(&after, view, order))
}

/// Returns the price used for the cost estimate, or `None` if there is no price.
fn price_of(view: &MarketView<'_>, accepted: &AcceptedOrder) -> Option<Price> {
    let AcceptedOrder { terms, standing, .. } = accepted;
    let mark = |symbol: &Symbol| view.mark(symbol);
    // The proceeds of a market sell order are estimated at the mark, because its reserve price is
    // higher.
    if terms.order_type.is_market() && !terms.side.is_buy() {
        return mark(&terms.symbol);
    }
    standing.reserve_price.or(terms.price).or(terms.trigger_price).or_else(|| mark(&terms.symbol))
}

fn costs(account: &Account, view: &MarketView<'_>, accepted: &AcceptedOrder, price: Price) -> Option<Cost> {
    let mut after = account.clone();
    let event = Event::Accepted(Box::new(accepted.clone()));
    after.apply(&entry(&after, view, event));
    let order = after.order(accepted.id)?.clone();
    let amount = Money::of(price, order.remaining(), order.facts.multiplier);
    let fees = fees_at(&after, &order, view, price);
    let filled = filled(&order, view, price, &fees);
    after.apply(&entry(&after, view, Event::Filled(Box::new(filled))));
    let fee_total: Money = fees.iter().map(|fee| fee.amount).sum();
    let total = if accepted.terms.side.is_buy() { amount + fee_total } else { amount - fee_total };
    let currency = accepted.facts.currency;
    let available = |account: &Account| balance(account, view, currency, None).available().text().to_string();
    let power = |account: &Account| {
        figures(account, view).ok().map(|figures| figures.buy_power().to(Rate::ONE).text().to_string())
    };
    Some(Cost {
        currency: currency.to_string(),
        price: exact_price(price, accepted.facts.decimals).to_string(),
        amount: amount.text().to_string(),
        fees: fees.iter().map(Charge::of).collect(),
        fee_total: fee_total.text().to_string(),
        total: total.text().to_string(),
        available_cash: Change { before: available(account), after: available(&after) },
        buy_power: power(account).zip(power(&after)).map(|(before, after)| Change { before, after }),
    })
}

fn entry(account: &Account, view: &MarketView<'_>, event: Event) -> Entry {
    Entry { version: VERSION, number: account.entries() + 1, at: Some(view.at), event }
}

/// Returns a fill of the whole order at `price`, booked and settled on its trading day.
fn filled(order: &Order, view: &MarketView<'_>, price: Price, fees: &[Fee]) -> Execution {
    let candle = Bar {
        time: view.at,
        open: price,
        high: price,
        low: price,
        close: price,
        volume: 0,
        session: 0,
        is_day: false,
    };
    let day = order.standing.placement.day;
    Execution {
        id: order.id,
        symbol: order.symbol().clone(),
        side: order.terms.side,
        quantity: order.remaining(),
        price,
        facts: order.facts,
        fees: fees.to_vec(),
        day,
        settles_on: day,
        candle,
        rule: FillRule::Limit,
        budget: None,
    }
}
