//! Applies events to the account's state. The fold never fails, and the same entries always give
//! the same account, regardless of current prices and tables.

use market::{Date, Price, Symbol, Timestamp};

use crate::account::{ACCRUAL_YEARS, Account, UnsettledAmount};
use crate::event::{AcceptedOrder, Dividend, Entry, Event, Execution};
use crate::money::Currency;
use crate::money::{Fraction, Money};
use crate::order::{Facts, Fill, HistoryRow, Order, OrderId, Since, Watch};
use crate::position::Position;
use crate::quantity::Quantity;
use crate::settings::Setting;
use crate::tables::{DayTotals, Fee};
use crate::words::{OrderStatus, TriggerStatus};

/// Reason text of a forced order.
const FORCED: &str = "forced";

impl Account {
    /// Folds a journal into an account.
    pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Account {
        let mut account = Account::default();
        for entry in entries {
            account.apply(entry);
        }
        account
    }

    /// Returns the account at a past instant, from the journal entries up to then.
    pub fn fold_until<'a>(entries: impl IntoIterator<Item = &'a Entry>, now: Timestamp) -> Account {
        let mut account =
            Account::fold(entries.into_iter().take_while(|entry| entry.at.is_none_or(|at| at <= now)));
        if account.began.is_some() {
            account.set_horizon(Some(now));
        }
        account
    }

    /// Applies one entry. Returns the number of pushes that the entry causes: the number of history
    /// rows added to its order, or 1 for an event on an existing grid.
    pub fn apply(&mut self, entry: &Entry) -> usize {
        self.entries = entry.number;
        self.set_horizon(entry.at);
        let at = entry.at.unwrap_or_default();
        match &entry.event {
            Event::Began => self.began = entry.at,
            event if event.grid().is_some() => return usize::from(self.apply_to_grid(event, at)),
            event if event.order().is_some() => return self.apply_to_order(event, at),
            event => self.apply_to_account(event, entry.at),
        }
        0
    }

    fn apply_to_account(&mut self, event: &Event, at: Option<Timestamp>) {
        match event {
            Event::Opened { account, settings } => {
                self.number = *account;
                self.settings = settings.clone();
                self.participations.push((self.entries, settings.participation));
            }
            Event::Set { setting } => {
                if let Setting::Participation(share) = setting {
                    self.participations.push((self.entries, *share));
                }
                self.settings.set(*setting);
            }
            Event::CreditSet { credit } => self.credit = *credit,
            Event::Deposited { currency, amount } | Event::Adjusted { currency, amount, .. } => {
                self.pay(*currency, *amount);
            }
            Event::Withdrawn { currency, amount } => self.pay(*currency, -*amount),
            Event::Exchanged { from, paid, to, received, .. } => {
                self.pay(*from, -*paid);
                self.pay(*to, *received);
            }
            Event::PositionEntered { symbol, quantity, cost, facts, .. } => {
                self.enter_position(symbol, *quantity, *cost, facts, at.is_none());
            }
            Event::Rolled { market, .. } => {
                self.positions
                    .retain(|symbol, position| symbol.market() != *market || !position.quantity.is_zero());
                for (_, position) in
                    self.positions.iter_mut().filter(|(symbol, _)| symbol.market() == *market)
                {
                    position.init_quantity = position.quantity;
                }
            }
            Event::DividendDue(dividend) => self.dividends.push(dividend.clone()),
            Event::DividendPaid(dividend) => self.pay_dividend(dividend),
            Event::SharesChanged { symbol, after, ratio, cash_in_lieu, currency, .. } => {
                self.pay(*currency, *cash_in_lieu);
                self.change_shares(symbol, *after, *ratio, *cash_in_lieu);
            }
            Event::RightsSold { amount, currency, .. } => self.pay(*currency, *amount),
            Event::InterestAccrued { currency, balance, days, rate_millionths, year } => {
                let parts = i128::from(*days)
                    * i128::from(*rate_millionths)
                    * (ACCRUAL_YEARS / i128::from((*year).max(1)));
                let units = balance.abs().units().saturating_mul(parts);
                let accrued = self.accrued.entry(*currency).or_default();
                *accrued = accrued.saturating_add(units);
            }
            Event::InterestBooked { currency, amount } => {
                self.accrued.remove(currency);
                self.pay(*currency, *amount);
            }
            Event::OptionExpired { symbol, amount, currency, settles_on, .. } => {
                self.settle_later(symbol, *currency, *amount, *settles_on);
                if let Some(position) = self.positions.get_mut(symbol) {
                    position.quantity = Quantity::ZERO;
                    position.net = Money::ZERO;
                }
                self.forget_if_empty(symbol);
            }
            Event::Liquidating { on, .. } => self.is_liquidating = *on,
            Event::StrategyAgreed => self.has_agreed = true,
            _ => {}
        }
    }

    fn pay(&mut self, currency: Currency, amount: Money) {
        *self.cash.entry(currency).or_default() += amount;
    }

    /// Books cash immediately, and records it as unsettled until `settles_on`.
    fn settle_later(&mut self, symbol: &Symbol, currency: Currency, amount: Money, settles_on: Date) {
        self.pay(currency, amount);
        let market = symbol.market();
        // Amounts with the same market, currency and settlement date are added up, receipts separately
        // from payments.
        let is_same = |known: &&mut UnsettledAmount| {
            (known.market, known.currency, known.settles_on) == (market, currency, settles_on)
                && known.amount.is_negative() == amount.is_negative()
        };
        match self.unsettled.iter_mut().find(is_same) {
            Some(known) => known.amount += amount,
            None => self.unsettled.push(UnsettledAmount { market, currency, settles_on, amount }),
        }
    }

    fn enter_position(
        &mut self,
        symbol: &Symbol,
        quantity: Quantity,
        cost: Price,
        facts: &Facts,
        is_first: bool,
    ) {
        self.last_period += 1;
        let period = self.last_period;
        let position = self.position_mut(symbol, facts);
        position.enter(quantity, cost, period);
        if is_first {
            position.init_quantity = quantity;
        }
        self.forget_if_empty(symbol);
    }

    fn position_mut(&mut self, symbol: &Symbol, facts: &Facts) -> &mut Position {
        let empty = || Position::empty(facts.currency, facts.multiplier, facts.decimals);
        self.positions.entry(symbol.clone()).or_insert_with(empty)
    }

    fn forget_if_empty(&mut self, symbol: &Symbol) {
        let is_empty = |position: &Position| position.quantity.is_zero() && position.init_quantity.is_zero();
        if self.positions.get(symbol).is_some_and(is_empty) {
            self.positions.remove(symbol);
        }
    }

    fn pay_dividend(&mut self, dividend: &Dividend) {
        // Compare all fields, because one ex-date may have several dividends with different pay
        // dates.
        if let Some(index) = self.dividends.iter().position(|due| due == dividend) {
            self.dividends.remove(index);
        }
        self.pay(dividend.currency, dividend.amount);
        // A dividend from an earlier holding period does not lower the cost of the current
        // position.
        if let Some(position) = self.positions.get_mut(&dividend.symbol)
            && position.period == dividend.period
        {
            position.net -= dividend.amount;
        }
    }

    fn change_shares(&mut self, symbol: &Symbol, after: Quantity, ratio: Fraction, cash_in_lieu: Money) {
        let Some(position) = self.positions.get_mut(symbol) else { return };
        position.quantity = after;
        position.net -= cash_in_lieu;
        let (above, below) = ratio.parts();
        position.average = position.average.times(below, above);
        self.forget_if_empty(symbol);
        self.grids.change_shares(symbol, ratio);
    }

    fn apply_to_order(&mut self, event: &Event, at: Timestamp) -> usize {
        match event {
            Event::Accepted(accepted) => self.add_order(accepted, at),
            Event::Rejected { order: Some(accepted), .. } => self.add_order(accepted, at),
            Event::Filled(filled) => self.book(filled),
            _ => {}
        }
        let Some(id) = event.order() else { return 0 };
        let sequence = self.last_sequence;
        let Some(order) = self.by_number_mut(id.number()) else { return 0 };
        let before = order.status();
        let sequence = sequence.max(change_order(order, event, at));
        let is_done = order.remaining().is_zero();
        let (passed, last) = event.stages(before, order.executed.is_positive(), is_done);
        let rows = order.history.len();
        for stage in passed.iter().copied().chain(last) {
            let row = history_row(order, event, stage, at);
            order.history.push(row);
        }
        if let Some(last) = last {
            order.standing.status = last;
            order.updated_at = at;
        }
        let gained = order.history.len() - rows;
        let is_final = order.status().is_final();
        self.reserves.changed(id.number());
        self.last_sequence = sequence;
        self.apply_to_grid_of(id, event);
        if is_final {
            self.close_order(id);
        }
        gained
    }

    fn add_order(&mut self, accepted: &AcceptedOrder, at: Timestamp) {
        let order = new_order(accepted, at);
        let number = order.id.number();
        self.last_sequence = self.last_sequence.max(order.sequence);
        if let Some(attached) = order.attached {
            self.open_attached.entry(order.terms.symbol.clone()).or_default().push(number);
            if let Some(main) = self.by_number_mut(attached.main.number()) {
                main.attached_orders.push(order.id);
            }
        }
        self.open.entry(order.terms.symbol.clone()).or_default().push(number);
        self.orders.push(order);
    }

    fn close_order(&mut self, id: OrderId) {
        let Some(symbol) = self.by_number(id.number()).map(|order| order.terms.symbol.clone()) else {
            return;
        };
        for open in [&mut self.open, &mut self.open_attached] {
            if let Some(numbers) = open.get_mut(&symbol) {
                numbers.retain(|number| *number != id.number());
                if numbers.is_empty() {
                    open.remove(&symbol);
                }
            }
        }
    }

    /// Books the cash and shares of a fill. [`change_order`] updates the order.
    fn book(&mut self, filled: &Execution) {
        let Execution { symbol, side, quantity, price, facts, day, settles_on, .. } = filled;
        let amount = Money::of(*price, *quantity, facts.multiplier);
        let fees: Money = filled.fees.iter().map(|fee| fee.amount).sum();
        let net = if side.is_buy() { -(amount + fees) } else { amount - fees };
        let market = symbol.market();
        self.unsettled.retain(|known| known.market != market || known.settles_on > *day);
        self.settle_later(symbol, facts.currency, net, *settles_on);
        self.last_period += 1;
        let period = self.last_period;
        let change = if side.is_buy() { *quantity } else { -*quantity };
        self.position_mut(symbol, facts).trade(change, *price, period);
        self.forget_if_empty(symbol);
    }
}

/// Returns the state of an order at acceptance.
pub(crate) fn new_order(accepted: &AcceptedOrder, at: Timestamp) -> Order {
    let trigger_status = match (&accepted.standing.watch, accepted.terms.order_type.is_conditional()) {
        (Some(Watch::Trail(_)), _) => TriggerStatus::Active,
        (_, true) => TriggerStatus::Deactive,
        (_, false) => TriggerStatus::NotUsed,
    };
    Order {
        id: accepted.id,
        sequence: accepted.sequence,
        terms: accepted.terms.clone(),
        facts: accepted.facts,
        standing: accepted.standing.clone(),
        since: if accepted.by_engine { Since::Engine(at) } else { Since::Client(at) },
        trigger_status,
        trigger_at: None,
        msg: if accepted.is_forced { FORCED.to_owned() } else { String::new() },
        refusal: None,
        submitted_at: at,
        updated_at: at,
        executed: Quantity::ZERO,
        paid: Money::ZERO,
        traded_on: None,
        traded: DayTotals::default(),
        fills: Vec::new(),
        fees: Vec::new(),
        history: Vec::new(),
        is_forced: accepted.is_forced,
        grid: accepted.grid,
        attached: accepted.attached,
        attached_orders: Vec::new(),
    }
}

/// Applies an event to an order, except for its status. Returns the event's sequence number, or 0
/// if it has none.
fn change_order(order: &mut Order, event: &Event, at: Timestamp) -> u64 {
    match event {
        Event::Activated { sequence, terms, standing, .. } => {
            renew(order, *sequence, terms.as_ref().clone(), standing.clone());
            order.since = Since::Engine(at);
            return *sequence;
        }
        Event::Replaced { sequence, terms, standing, .. } => {
            renew(order, *sequence, terms.as_ref().clone(), standing.clone());
            order.since = Since::Client(at);
            return *sequence;
        }
        Event::Released(release) => {
            order.sequence = release.sequence;
            order.since = Since::Engine(at);
            order.terms.price = release.price.or(order.terms.price);
            order.standing.reserve_price = Some(release.reserve_price);
            order.standing.watch = None;
            order.trigger_status = TriggerStatus::Released;
            order.trigger_at = Some(at);
            return release.sequence;
        }
        Event::Watching { best, .. } => {
            order.standing.watch = Some(Watch::Trail(*best));
            order.trigger_status = TriggerStatus::Active;
        }
        Event::BestMoved { best, .. } => order.standing.watch = Some(Watch::Trail(*best)),
        Event::Rejected { refusal, .. } => {
            order.msg = refusal.text.clone();
            order.refusal = Some(refusal.clone());
        }
        Event::Canceled { reason: Some(reason), .. } => order.msg = reason.clone(),
        Event::Resized { quantity, .. } => order.terms.quantity = *quantity,
        Event::Filled(filled) => add_fill(order, filled, at),
        _ => {}
    }
    0
}

fn renew(order: &mut Order, sequence: u64, terms: crate::terms::Terms, standing: crate::order::Standing) {
    order.sequence = sequence;
    order.terms = terms;
    if order.trigger_status != TriggerStatus::Released {
        order.trigger_status = match standing.watch {
            Some(Watch::Trail(_)) => TriggerStatus::Active,
            // An attached order is inactive until its main order has a fill.
            Some(_) if order.attached.is_some() => TriggerStatus::Active,
            Some(_) => TriggerStatus::Deactive,
            None => order.trigger_status,
        };
    }
    let status = order.standing.status;
    order.standing = standing;
    // The status is updated separately, from the event's stages.
    order.standing.status = status;
}

fn add_fill(order: &mut Order, filled: &Execution, at: Timestamp) {
    let Execution { quantity, price, day, facts, candle, .. } = filled;
    let traded = order.traded_on(*day);
    order.traded = traded.plus(Money::of(*price, *quantity, facts.multiplier), *quantity);
    order.traded_on = Some(*day);
    order.executed += *quantity;
    order.paid += Money::of(*price, *quantity, 1);
    let number = u32::try_from(order.fills.len() + 1).unwrap_or(u32::MAX);
    order.fills.push(Fill { number, at, quantity: *quantity, price: *price, day: *day, candle: candle.time });
    for fee in &filled.fees {
        match order.fees.iter_mut().find(|known| known.code == fee.code) {
            Some(known) => known.amount += fee.amount,
            None => order.fees.push(Fee::clone(fee)),
        }
    }
}

fn history_row(order: &Order, event: &Event, status: OrderStatus, at: Timestamp) -> HistoryRow {
    if let Event::Filled(filled) = event {
        let msg = format!("Execution of {}", filled.quantity);
        return HistoryRow { status, price: Some(filled.price), quantity: filled.quantity, msg, at };
    }
    let msg = match event {
        Event::Rejected { refusal, .. } => refusal.text.clone(),
        Event::Canceled { reason: Some(reason), .. } => reason.clone(),
        Event::Accepted(_) => order.msg.clone(),
        _ => String::new(),
    };
    HistoryRow { status, price: order.terms.price, quantity: order.remaining(), msg, at }
}
