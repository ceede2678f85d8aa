//! Why: what happened to an order, line by line, from the entries of its journal.

use std::fmt;

use market::{Price, Timestamp};

use crate::decimal::plain_price;
use crate::event::{AcceptedOrder, Bar, Entry, Event, Execution, FillRule, Release, Trigger};
use crate::order::{Direction, OrderId, Standing, Watch};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::tables::Fee;
use crate::terms::Terms;
use crate::words::OrderStatus;

/// One line of an order's story. `Display` says it in words; instants are left to whoever knows the market's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryLine {
    pub at: Option<Timestamp>,
    pub what: Happening,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Accepted, and how it stands: working, parked, held, or waiting for a price.
    Accepted {
        terms: Box<Terms>,
        standing: Standing,
        by_engine: bool,
    },
    Rejected(Refusal),
    Reported,
    /// A trailing order watches, with this best price.
    Watching {
        best: Price,
    },
    Released {
        how: Trigger,
        price: Option<Price>,
        candle: Bar,
    },
    Filled {
        quantity: Quantity,
        price: Price,
        rule: FillRule,
        candle: Bar,
        budget: Option<Quantity>,
        fees: Vec<Fee>,
    },
    Replaced {
        terms: Box<Terms>,
    },
    /// By the client if there is no reason.
    Canceled {
        reason: Option<String>,
    },
    Expired,
}

/// The story of an order, oldest line first.
pub fn story<'a>(entries: impl IntoIterator<Item = &'a Entry>, id: OrderId) -> Vec<StoryLine> {
    let own = entries.into_iter().filter(|entry| entry.event.order() == Some(id));
    own.filter_map(|entry| happening(&entry.event).map(|what| StoryLine { at: entry.at, what })).collect()
}

fn happening(event: &Event) -> Option<Happening> {
    let what = match event {
        Event::Accepted(accepted) => {
            let AcceptedOrder { terms, standing, by_engine, .. } = accepted.as_ref();
            Happening::Accepted {
                terms: Box::new(terms.clone()),
                standing: standing.clone(),
                by_engine: *by_engine,
            }
        }
        Event::Activated { terms, standing, .. } => {
            Happening::Accepted { terms: terms.clone(), standing: standing.clone(), by_engine: true }
        }
        Event::Rejected { refusal, .. } => Happening::Rejected(refusal.clone()),
        Event::Reported { .. } => Happening::Reported,
        Event::Watching { best, .. } | Event::BestMoved { best, .. } => Happening::Watching { best: *best },
        Event::Released(release) => {
            let Release { how, price, candle, .. } = release.as_ref();
            Happening::Released { how: *how, price: *price, candle: *candle }
        }
        Event::Filled(filled) => {
            let Execution { quantity, price, rule, candle, budget, fees, .. } = filled.as_ref().clone();
            Happening::Filled { quantity, price, rule, candle, budget, fees }
        }
        Event::Replaced { terms, .. } => Happening::Replaced { terms: terms.clone() },
        Event::Canceled { reason, .. } => Happening::Canceled { reason: reason.clone() },
        Event::Expired { .. } => Happening::Expired,
        _ => return None,
    };
    Some(what)
}

impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Happening::Accepted { terms, standing, by_engine } => {
                let by = if *by_engine { " by the engine" } else { "" };
                write!(f, "accepted{by}: {}", terms_text(terms))?;
                f.write_str(&standing_text(terms, standing))
            }
            Happening::Rejected(refusal) => {
                write!(f, "rejected: {}", refusal.text)?;
                if let Some(check) = refusal.check {
                    write!(f, " (check {check})")?;
                }
                match &refusal.numbers {
                    Some(numbers) => {
                        write!(
                            f,
                            ": {} needed {}, available {}",
                            numbers.rule, numbers.needed, numbers.available
                        )
                    }
                    None => Ok(()),
                }
            }
            Happening::Reported => f.write_str("reported: its session is open"),
            Happening::Watching { best } => write!(f, "watches, best price {}", plain_price(*best)),
            Happening::Released { how, price, candle } => {
                let place = match how {
                    Trigger::Gap => "at the open of",
                    Trigger::Inside => "at the end of",
                };
                write!(f, "released {place} {}", bar_text(candle))?;
                price.map_or(Ok(()), |price| write!(f, ", limit {}", plain_price(price)))
            }
            Happening::Filled { quantity, price, rule, candle, budget, fees } => {
                write!(
                    f,
                    "filled {quantity} at {}, {} of {}",
                    plain_price(*price),
                    rule_text(*rule),
                    bar_text(candle)
                )?;
                if let Some(budget) = budget {
                    write!(f, "; the candle left {budget}")?;
                }
                for (index, fee) in fees.iter().enumerate() {
                    let before = if index == 0 { "; fees " } else { ", " };
                    write!(f, "{before}{} {}", fee.code, fee.amount.text())?;
                }
                Ok(())
            }
            Happening::Replaced { terms } => write!(f, "replaced: {}", terms_text(terms)),
            Happening::Canceled { reason: None } => f.write_str("cancelled by the client"),
            Happening::Canceled { reason: Some(reason) } => write!(f, "cancelled: {reason}"),
            Happening::Expired => f.write_str("expired"),
        }
    }
}

fn terms_text(terms: &Terms) -> String {
    let Terms { side, order_type, quantity, symbol, .. } = terms;
    let mut text = format!("{side} {quantity} {symbol} {order_type}");
    if let Some(price) = terms.price {
        text += &format!(" {}", plain_price(price));
    }
    text
}

fn standing_text(terms: &Terms, standing: &Standing) -> String {
    let toward = |direction: Direction| match direction {
        Direction::Rise => "a rise",
        Direction::Fall => "a fall",
    };
    let price = |price: Option<Price>| plain_price(price.unwrap_or_default());
    match (standing.status, standing.watch) {
        (OrderStatus::NotReported, _) => ", parked until its session opens".to_owned(),
        (OrderStatus::DelayedNotReported, _) => ", held until its time".to_owned(),
        (_, Some(Watch::Touch(direction))) => {
            format!(", waits for {} to {}", toward(direction), price(terms.trigger_price))
        }
        (_, Some(Watch::Monitor(direction))) => {
            format!(", watches after {} to {}", toward(direction), price(terms.monitor_price))
        }
        (_, Some(Watch::Trail(best))) => format!(", watches, best price {}", plain_price(best)),
        _ => String::new(),
    }
}

fn rule_text(rule: FillRule) -> &'static str {
    match rule {
        FillRule::MarketOpen => "the open and its slippage",
        FillRule::Open => "the open, better than its limit,",
        FillRule::Limit => "its limit, which the candle went through,",
        FillRule::OpeningAuction => "the opening auction",
        FillRule::ClosingAuction => "the closing auction",
        FillRule::OddLot => "its limit, as odd lots are,",
    }
}

fn bar_text(bar: &Bar) -> String {
    let Bar { time, open, high, low, close, volume, .. } = bar;
    let [open, high, low, close] = [open, high, low, close].map(|price| plain_price(*price).to_string());
    format!("candle {time} (O {open} H {high} L {low} C {close} V {volume})")
}
