//! The door to everything: feed and tables at hand, accounts are advanced and given commands.
//!
//! Both change the account in memory and return the entries that did it. Whoever keeps journals writes those entries first and
//! answers then; if they cannot be written, the account is thrown away and folded again from what was. The horizon is kept
//! beside the journal: entries do not tell how far nothing happened.

use market::{Price, Timestamp};

use crate::account::Account;
use crate::advance::advance;
use crate::balance::fees_at;
use crate::command::Command;
use crate::currency::Currency;
use crate::decide::decide;
use crate::event::Event;
use crate::feed::Feed;
use crate::fold::new_order;
use crate::money::Money;
use crate::order::Order;
use crate::refusal::Refusal;
use crate::scene::Scene;
use crate::tables::{Fee, Tables};
use crate::work::{Outcome, Work};

#[derive(Clone, Copy)]
pub struct Desk<'a> {
    pub feed: &'a dyn Feed,
    pub tables: &'a Tables,
}

impl std::fmt::Debug for Desk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl<'a> Desk<'a> {
    pub fn new(feed: &'a dyn Feed, tables: &'a Tables) -> Desk<'a> {
        Desk { feed, tables }
    }

    /// What may be known at an instant; reads take it.
    pub fn scene(&self, at: Timestamp) -> Scene<'a> {
        Scene::new(self.feed, self.tables, at)
    }

    /// Lets everything happen to an account that happens up to an instant. An account that is further already stays so.
    pub fn advance(&self, account: &mut Account, to: Timestamp) -> Outcome {
        let mut work = Work::new(account, self.feed, self.tables);
        if work.account.horizon.is_none_or(|horizon| horizon <= to) {
            advance(&mut work, to);
        }
        work.outcome
    }

    /// Advances an account to an instant and carries a command out. An operator may prepare an account before its first
    /// request; what is entered then has no instant.
    pub fn handle(&self, account: &mut Account, command: &Command, now: Timestamp) -> Outcome {
        let mut work = Work::new(account, self.feed, self.tables);
        let is_preparing = work.account.horizon.is_none() && !command.is_of_client();
        if !is_preparing && work.account.horizon.is_none_or(|horizon| horizon <= now) {
            advance(&mut work, now);
        }
        match decide(work.account, command, &self.scene(now)) {
            Ok(events) => {
                for event in events {
                    work.record((!is_preparing).then_some(now), event);
                }
            }
            Err(refusal) => work.outcome.refusal = Some(refusal),
        }
        work.outcome
    }

    /// What a command would do now, to a copy of the account: for a ticket that shows its cost before it is sent.
    pub fn preview(&self, account: &Account, command: &Command, now: Timestamp) -> Result<Preview, Refusal> {
        let mut account = account.clone();
        if account.horizon.is_none_or(|horizon| horizon <= now) {
            self.advance(&mut account, now);
        }
        let scene = self.scene(now);
        let events = decide(&account, command, &scene)?;
        let order = events.iter().find_map(|event| would_be(&account, event, now));
        let cost = order.and_then(|order| cost(&account, &order, &scene));
        Ok(Preview { events, cost })
    }
}

/// What a command would do, and what its order would cost if all of it were filled at its reserve price.
#[derive(Clone, Debug)]
pub struct Preview {
    pub events: Vec<Event>,
    /// None for what is no order, or waits for a price.
    pub cost: Option<Cost>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    pub price: Price,
    pub amount: Money,
    pub fees: Vec<Fee>,
    pub currency: Currency,
}

/// The order as it would stand after an event.
fn would_be(account: &Account, event: &Event, now: Timestamp) -> Option<Order> {
    match event {
        Event::Accepted(accepted) => Some(new_order(accepted, now)),
        Event::Rejected { order: Some(accepted), .. } => Some(new_order(accepted, now)),
        Event::Replaced { id, terms, standing, .. } => {
            let mut order = account.order(*id)?.clone();
            order.terms = terms.as_ref().clone();
            order.standing = standing.clone();
            Some(order)
        }
        _ => None,
    }
}

fn cost(account: &Account, order: &Order, scene: &Scene<'_>) -> Option<Cost> {
    let price = order.standing.reserve_price?;
    let amount = Money::of(price, order.remaining(), order.facts.multiplier);
    let fees = fees_at(account, order, scene, price);
    Some(Cost { price, amount, fees, currency: order.facts.currency })
}
