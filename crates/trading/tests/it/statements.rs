//! Statements: the example in the specification line by line, booking dates, and all equations for
//! random accounts, recomputed from the journal.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use market::{Date, Market, Symbol, Timestamp};
use proptest::prelude::*;
use trading::statement::{ShareChange, Statement, StatementKind, last_made_at, made_at, statements};
use trading::{
    Account, Command, Currency, Engine, Entry, Event, MarketView, Money, OrderType, Quantity, Settings, Side,
    Terms, TimeInForce, balance,
};

use crate::common::{Store, at, date, symbol, tables, venues};
use crate::world::{acts_and_operators, live, minutes, store};

/// Returns all statements created by an instant.
fn made(entries: &[Entry], store: &Store, from: Option<Date>, until: Timestamp) -> Vec<Statement> {
    let mut all = Vec::new();
    statements(entries, (store, tables()), from, until, &mut |together| {
        all.extend(together);
        ControlFlow::Continue(())
    });
    all
}

fn dailies(all: &[Statement]) -> Vec<&Statement> {
    all.iter().filter(|statement| statement.kind == StatementKind::Daily).collect()
}

/// An account that executes commands, and all entries that it has created.
struct Client<'a> {
    engine: Engine<'a>,
    account: Account,
    entries: Vec<Entry>,
}

impl<'a> Client<'a> {
    fn open(store: &'a Store, cash: &[(Currency, i64)]) -> Client<'a> {
        let mut client =
            Client { engine: Engine::new(store, tables()), account: Account::default(), entries: Vec::new() };
        client.act(Timestamp(0), Command::Open { account: 7, settings: Settings::default() });
        for (currency, amount) in cash {
            client.act(Timestamp(0), Command::Deposit { currency: *currency, amount: Money::whole(*amount) });
        }
        client
    }

    fn act(&mut self, now: Timestamp, command: Command) {
        let outcome = self.engine.handle(&mut self.account, &command, now);
        assert!(outcome.refusal.is_none(), "{:?}", outcome.refusal);
        self.entries.extend(outcome.entries);
    }

    fn advance(&mut self, now: Timestamp) {
        self.entries.extend(self.engine.advance(&mut self.account, now).entries);
    }
}

fn hk(local: &str) -> Timestamp {
    at(Market::Hk, local)
}

/// Formats the amounts of a statement, one line per row.
fn shown(statement: &Statement) -> String {
    let mut lines = vec![format!("{} {} made {}", statement.kind, statement.date, statement.made_at)];
    for line in &statement.balances {
        let [begin, change, ledger, settled] =
            [line.begin, line.change, line.ledger, line.settled].map(Money::exact_text);
        lines.push(format!("{} {begin} + {change} = {ledger}, settled {settled}", line.currency));
    }
    for line in &statement.flows {
        let flow = &line.flow;
        let amount = flow.amount.exact_text();
        lines
            .push(format!("{} {} {amount} {}", line.date, flow.name, flow.description).trim_end().to_owned());
    }
    for line in &statement.trades {
        let [amount, fees, clear] = [line.amount, line.fee_total(), line.clear()].map(Money::exact_text);
        let (side, order) = (if line.side.is_buy() { "buy" } else { "sell" }, line.order.number());
        lines.push(format!(
            "{} {side} {} {} at {}: {amount}, fees {fees}, {clear} on {} (order {order})",
            line.day,
            line.quantity,
            line.symbol,
            line.price(),
            line.settles_on,
        ));
    }
    for line in &statement.holdings {
        let close = line.close.map_or("-".to_owned(), |close| trading::plain_price(close).to_string());
        let cost = line.cost.map_or("-".to_owned(), |cost| cost.to_string());
        lines.push(format!(
            "{} {} + {} = {} at {close}: {}, cost {cost}",
            line.symbol,
            line.begin,
            line.change,
            line.ledger,
            line.value.exact_text(),
        ));
    }
    let assets = statement.assets.as_ref().unwrap();
    lines.push(format!(
        "assets {} = {} + {}, outstanding {}",
        assets.total().exact_text(),
        assets.ledger.exact_text(),
        assets.market_value.exact_text(),
        assets.outstanding.exact_text(),
    ));
    lines.join("\n")
}

/// Creates the store of example G1 in the specification, with candles for the following days.
fn first_example() -> Store {
    let mut store = Store::default();
    let tencent = symbol("700.HK");
    store.add(&tencent, hk("2026-03-18 10:00"), &["305", "305", "300", "305", "50000"], None);
    store.add(&tencent, hk("2026-03-18 10:01"), &["305.2", "305.8", "305", "305.6", "50000"], None);
    store.closes.push((tencent, date("2026-03-18"), market::Price::parse("305.6").unwrap()));
    store
}

fn buy(name: &str, quantity: i64, price: &str) -> Command {
    let mut terms = Terms::new(symbol(name), Side::Buy, OrderType::Limit, Quantity::whole(quantity));
    terms.price = Some(market::Price::parse(price).unwrap());
    Command::submit(terms)
}

#[test]
fn statements_match_the_specification_example() {
    let store = first_example();
    let mut client = Client::open(&store, &[(Currency::HKD, 500_000)]);
    client.act(hk("2026-03-18 10:00:15"), buy("700.HK", 200, "306"));
    client.advance(hk("2026-03-21 09:00"));
    let all = made(&client.entries, &store, None, hk("2026-03-21 09:00"));
    let found: Vec<String> = all.iter().map(shown).collect();
    assert_eq!(
        found.join("\n\n"),
        "daily 2026-03-18 made 2026-03-19T01:00:00Z
HKD 0.00 + 438875.25 = 438875.25, settled 500000.00
2026-03-18 Deposit 500000.00
2026-03-18 BuyStock -61040.00 700
2026-03-18 Fee -15.00 PLATFORM
2026-03-18 Fee -62.00 STAMP_DUTY
2026-03-18 Fee -3.45 TRADING_FEE
2026-03-18 Fee -1.65 SFC_LEVY
2026-03-18 Fee -0.09 AFRC_LEVY
2026-03-18 Fee -2.56 SETTLEMENT
2026-03-18 buy 200 700.HK at 305.200: 61040.00, fees 84.75, -61124.75 on 2026-03-20 (order 1)
700.HK 0 + 200 = 200 at 305.6: 61120.00, cost 305.200
assets 499995.25 = 438875.25 + 61120.00, outstanding -61124.75

daily 2026-03-19 made 2026-03-20T01:00:00Z
HKD 438875.25 + 0.00 = 438875.25, settled 500000.00
700.HK 200 + 0 = 200 at 305.6: 61120.00, cost 305.200
assets 499995.25 = 438875.25 + 61120.00, outstanding -61124.75

daily 2026-03-20 made 2026-03-21T01:00:00Z
HKD 438875.25 + 0.00 = 438875.25, settled 438875.25
700.HK 200 + 0 = 200 at 305.6: 61120.00, cost 305.200
assets 499995.25 = 438875.25 + 61120.00, outstanding 0.00"
    );
}

#[test]
fn a_statement_is_created_at_nine_the_next_morning() {
    let store = first_example();
    let mut client = Client::open(&store, &[(Currency::HKD, 500_000)]);
    client.act(hk("2026-03-18 10:00:15"), buy("700.HK", 200, "306"));
    client.advance(hk("2026-03-24 10:00"));
    let dates = |until: &str| {
        let all = made(&client.entries, &store, None, hk(until));
        all.iter().map(|statement| statement.date.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(dates("2026-03-19 08:59:59"), "");
    assert_eq!(dates("2026-03-19 09:00"), "2026-03-18");
    // Nothing was booked on the weekend.
    assert_eq!(dates("2026-03-24 09:00"), "2026-03-18 2026-03-19 2026-03-20 2026-03-23");
    let zone = venues().of(Market::Hk).zone();
    assert_eq!(made_at(zone, date("2026-03-18")), hk("2026-03-19 09:00"));
    for (now, last) in [
        ("2026-03-19 08:59:59", "2026-03-18 09:00"),
        ("2026-03-19 09:00", "2026-03-19 09:00"),
        ("2026-03-19 23:59", "2026-03-19 09:00"),
    ] {
        assert_eq!(last_made_at(zone, hk(now)), hk(last), "{now}");
    }
}

#[test]
fn operator_entries_on_a_weekend_have_a_separate_statement() {
    let store = first_example();
    let mut client = Client::open(&store, &[(Currency::HKD, 1_000)]);
    client.advance(hk("2026-03-20 10:00"));
    let deposit = Command::Deposit { currency: Currency::USD, amount: Money::whole(5) };
    client.act(hk("2026-03-21 08:00"), deposit);
    // Friday's statement is created in this second, and does not include the position.
    let entered = |quantity| Command::EnterPosition {
        symbol: symbol("AAPL.US"),
        quantity: Quantity::whole(quantity),
        cost: market::Price::parse("190").unwrap(),
    };
    client.act(hk("2026-03-21 09:00"), entered(10));
    client.act(hk("2026-03-22 12:00"), entered(15));
    client.advance(hk("2026-03-24 10:00"));
    let all = made(&client.entries, &store, None, hk("2026-03-24 09:00"));
    let found: Vec<(String, usize, String)> = all
        .iter()
        .map(|statement| {
            let changes = statement.share_changes.iter().map(|line| line.quantity.to_string());
            (statement.date.to_string(), statement.flows.len(), changes.collect::<Vec<_>>().join(" "))
        })
        .collect();
    let expected =
        [("2026-03-20", 1, ""), ("2026-03-21", 1, "10"), ("2026-03-22", 0, "5"), ("2026-03-23", 0, "")];
    assert_eq!(found, expected.map(|(date, flows, changes)| (date.to_owned(), flows, changes.to_owned())));
    // Without a USD rate, the totals are missing, and the error names the currency.
    assert_eq!(
        all[1].assets.as_ref().unwrap_err(),
        "no rate for USD: report one with `chandler account rates USD RATE --day 2026-03-21`"
    );
}

#[test]
fn a_monthly_statement_is_created_with_the_next_date() {
    let store = first_example();
    let mut client = Client::open(&store, &[(Currency::HKD, 500_000)]);
    client.act(hk("2026-03-18 10:00:15"), buy("700.HK", 200, "306"));
    client.advance(hk("2026-05-05 10:00"));
    let all = made(&client.entries, &store, None, hk("2026-04-01 09:00"));
    assert!(
        all.iter().all(|statement| statement.kind == StatementKind::Daily),
        "the last date alone is not enough"
    );
    let all = made(&client.entries, &store, None, hk("2026-04-02 09:00"));
    let month = all.iter().find(|statement| statement.kind == StatementKind::Monthly).unwrap();
    assert_eq!((month.first, month.date), (date("2026-03-18"), date("2026-03-31")));
    assert_eq!(month.made_at, hk("2026-04-02 09:00"));
    assert_eq!((month.flows.len(), month.trades.len()), (8, 1));
    assert_eq!(month.balances[0].begin, Money::ZERO);
    assert_eq!(month.balances[0].ledger.exact_text().to_string(), "438875.25");
    // A later `from` skips earlier dates. The monthly statement is created with the first date
    // after the month.
    for from in ["2026-03-20", "2026-04-01", "2026-04-02"] {
        let later = made(&client.entries, &store, Some(date(from)), hk("2026-04-03 09:00"));
        let months = later.iter().filter(|statement| statement.kind == StatementKind::Monthly).count();
        assert_eq!(months, usize::from(from != "2026-04-02"), "{from}");
        assert!(dailies(&later).iter().all(|statement| statement.date >= date(from)));
    }
}

#[test]
fn orders_are_booked_on_their_markets_dates() {
    let mut store = first_example();
    store.rates.push((Currency::USD, date("2026-01-02"), trading::Rate::parse("7.8").unwrap()));
    let apple = symbol("AAPL.US");
    store.add(&apple, at(Market::Us, "2026-03-18 14:01"), &["190", "190", "189", "190", "50000"], None);
    let mut client = Client::open(&store, &[(Currency::HKD, 500_000), (Currency::USD, 10_000)]);
    client.advance(hk("2026-03-18 12:00"));
    // At this time it is Thursday in Hong Kong and Wednesday in New York, so the second order has
    // an earlier date than the first order.
    let mut terms = Terms::new(symbol("700.HK"), Side::Buy, OrderType::Limit, Quantity::whole(100));
    terms.price = Some(market::Price::parse("300").unwrap());
    terms.time_in_force = TimeInForce::GoodTilCanceled;
    client.act(hk("2026-03-19 01:00"), Command::submit(terms));
    client.act(hk("2026-03-19 02:00"), buy("AAPL.US", 10, "200"));
    client.advance(hk("2026-03-20 09:00"));
    let all = made(&client.entries, &store, None, hk("2026-03-20 09:00"));
    let seen: Vec<(String, Vec<u64>, Vec<u64>)> = all
        .iter()
        .map(|day| {
            let traded = day.trades.iter().map(|trade| trade.order.number()).collect();
            (day.date.to_string(), traded, day.cash_locks.iter().map(|lock| lock.order.number()).collect())
        })
        .collect();
    let (wednesday, thursday) = ("2026-03-18".to_owned(), "2026-03-19".to_owned());
    assert_eq!(seen, [(wednesday, vec![2], vec![]), (thursday, vec![], vec![1])]);
    let usd = all[0].balances.iter().find(|line| line.currency == Currency::USD).unwrap();
    assert_eq!((usd.ledger, usd.reserved), (client.account.cash(Currency::USD), Money::ZERO));
}

#[test]
fn a_stopped_run_returns_the_next_date() {
    let store = first_example();
    let mut client = Client::open(&store, &[(Currency::HKD, 500_000)]);
    client.act(hk("2026-03-18 10:00:15"), buy("700.HK", 200, "306"));
    client.advance(hk("2026-04-10 10:00"));
    let until = hk("2026-04-10 09:00");
    let whole: Vec<String> = made(&client.entries, &store, None, until).iter().map(shown).collect();
    let (mut parts, mut from) = (Vec::new(), None);
    loop {
        let before = parts.len();
        let next = statements(&client.entries, (&store, tables()), from, until, &mut |together| {
            parts.extend(together.iter().map(shown));
            ControlFlow::Break(())
        });
        if parts.len() == before {
            break;
        }
        from = next;
    }
    assert_eq!(parts, whole);
    let stranger = statements(&[], (&store, tables()), None, until, &mut |_| ControlFlow::Break(()));
    assert_eq!(stranger, None);
}

/// Returns the changes in cash that an entry causes, with their currencies.
fn cash_of(entry: &Entry) -> Vec<(Currency, Money)> {
    match &entry.event {
        Event::Deposited { currency, amount }
        | Event::Adjusted { currency, amount, .. }
        | Event::InterestBooked { currency, amount }
        | Event::RightsSold { currency, amount, .. }
        | Event::OptionExpired { currency, amount, .. } => vec![(*currency, *amount)],
        Event::Withdrawn { currency, amount } => vec![(*currency, -*amount)],
        Event::Exchanged { from, paid, to, received, .. } => vec![(*from, -*paid), (*to, *received)],
        Event::DividendPaid(dividend) => vec![(dividend.currency, dividend.amount)],
        Event::SharesChanged { currency, cash_in_lieu, .. } => vec![(*currency, *cash_in_lieu)],
        Event::Filled(filled) => {
            let amount = Money::of(filled.price, filled.quantity, filled.facts.multiplier);
            let fees: Money = filled.fees.iter().map(|fee| fee.amount).sum();
            let net = if filled.side == Side::Buy { -amount - fees } else { amount - fees };
            vec![(filled.facts.currency, net)]
        }
        _ => Vec::new(),
    }
}

/// Returns the change in a position that an entry causes, or `None`.
fn shares_of(entry: &Entry) -> Option<(Symbol, Quantity)> {
    match &entry.event {
        Event::PositionEntered { symbol, change, .. } => Some((symbol.clone(), *change)),
        Event::SharesChanged { symbol, before, after, .. } => Some((symbol.clone(), *after - *before)),
        Event::OptionExpired { symbol, quantity, .. } => Some((symbol.clone(), -*quantity)),
        Event::Filled(filled) if filled.side == Side::Buy => Some((filled.symbol.clone(), filled.quantity)),
        Event::Filled(filled) => Some((filled.symbol.clone(), -filled.quantity)),
        _ => None,
    }
}

/// Checks the equations between the lines of one statement.
fn check_sums(statement: &Statement) -> Result<(), TestCaseError> {
    for line in &statement.balances {
        prop_assert_eq!(line.begin + line.change, line.ledger);
        let flows = statement.flows.iter().filter(|flow| flow.flow.currency == line.currency);
        prop_assert_eq!(flows.map(|flow| flow.flow.amount).sum::<Money>(), line.change);
        let locks = statement.cash_locks.iter().filter(|lock| lock.currency == line.currency);
        prop_assert_eq!(locks.map(|lock| lock.amount).sum::<Money>(), line.reserved);
        let traded = |name: &str| ["BuyStock", "SellStock", "Fee"].contains(&name);
        let moved = statement.flows.iter().filter(|flow| flow.flow.currency == line.currency);
        let moved: Money = moved.filter(|flow| traded(flow.flow.name)).map(|flow| flow.flow.amount).sum();
        let trades = statement.trades.iter().filter(|trade| trade.currency == line.currency);
        prop_assert_eq!(trades.map(|trade| trade.clear()).sum::<Money>(), moved);
    }
    for line in &statement.holdings {
        prop_assert_eq!(line.begin + line.change, line.ledger);
        let changes = statement.share_changes.iter().filter(|change| change.symbol == line.symbol);
        prop_assert_eq!(changes.map(|change| change.quantity).sum::<Quantity>(), line.change);
        if let Some(close) = line.close {
            prop_assert_eq!(line.value, Money::of(close, line.ledger, line.multiplier));
        }
    }
    let known = |symbol: &Symbol| statement.holdings.iter().any(|line| line.symbol == *symbol);
    prop_assert!(statement.share_changes.iter().all(|change| known(&change.symbol)));
    if let Ok(assets) = &statement.assets {
        prop_assert_eq!(assets.total(), assets.ledger + assets.market_value);
    }
    for action in &statement.corporate {
        let shares = statement.share_changes.iter().any(|change| {
            change.symbol == action.symbol
                && change.change == ShareChange::Corporate
                && change.quantity == action.shares
        });
        prop_assert!(action.shares.is_zero() || shares, "{action:?}");
    }
    Ok(())
}

/// Checks that each statement starts with the final amounts of the previous statement, and that the
/// statements together equal the journal.
fn check_chain(entries: &[Entry], days: &[&Statement]) -> Result<(), TestCaseError> {
    let mut cash: BTreeMap<Currency, Money> = BTreeMap::new();
    let mut shares: BTreeMap<Symbol, Quantity> = BTreeMap::new();
    for day in days {
        for line in &day.balances {
            prop_assert_eq!(line.begin, cash.insert(line.currency, line.ledger).unwrap_or_default());
        }
        for line in &day.holdings {
            prop_assert_eq!(line.begin, shares.insert(line.symbol.clone(), line.ledger).unwrap_or_default());
        }
        // The unsettled amount is the sum of all trades up to the date that settle later.
        for line in &day.balances {
            let coming = entries.iter().filter_map(|entry| match &entry.event {
                Event::Filled(filled) => Some((entry, filled)),
                _ => None,
            });
            let coming = coming.filter(|(_, filled)| filled.day <= day.date && filled.settles_on > day.date);
            let coming = coming.flat_map(|(entry, _)| cash_of(entry));
            let coming: Money =
                coming.filter(|(currency, _)| *currency == line.currency).map(|(_, amount)| amount).sum();
            prop_assert_eq!(line.ledger - line.settled, coming, "{} on {}", line.currency, day.date);
        }
    }
    let mut booked: BTreeMap<Currency, Money> = BTreeMap::new();
    let mut held: BTreeMap<Symbol, Quantity> = BTreeMap::new();
    for entry in entries {
        for (currency, amount) in cash_of(entry) {
            *booked.entry(currency).or_default() += amount;
        }
        if let Some((symbol, change)) = shares_of(entry) {
            *held.entry(symbol).or_default() += change;
        }
    }
    for (currency, amount) in booked {
        prop_assert_eq!(cash.get(&currency).copied().unwrap_or_default(), amount);
    }
    for (symbol, quantity) in held {
        prop_assert_eq!(shares.get(&symbol).copied().unwrap_or_default(), quantity);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn statements_of_random_accounts_add_up(minutes in minutes(), acts in acts_and_operators()) {
        let store = store(&minutes);
        let life = live(&store, &acts, &[], &[]);
        let all = made(&life.entries, &store, None, hk("2026-04-03 09:00"));
        for statement in &all {
            check_sums(statement)?;
        }
        let days = dailies(&all);
        check_chain(&life.entries, &days)?;
        // A trade is included in the statement of its trading day.
        for day in &days {
            for trade in &day.trades {
                prop_assert_eq!(trade.day, day.date);
            }
        }
        // The monthly statement is the sum of the daily statements.
        let month = all.iter().find(|statement| statement.kind == StatementKind::Monthly);
        let month = month.ok_or_else(|| TestCaseError::fail("no month"))?;
        let of_month: Vec<&Statement> = days.iter().filter(|day| day.date <= month.date).copied().collect();
        let flows: Vec<_> = of_month.iter().flat_map(|day| day.flows.clone()).collect();
        prop_assert_eq!(&flows, &month.flows);
        let trades: usize = of_month.iter().map(|day| day.trades.len()).sum();
        prop_assert_eq!(trades, month.trades.len());
        let last = of_month.last().ok_or_else(|| TestCaseError::fail("no date"))?;
        for line in &month.balances {
            let of_last = last.balances.iter().find(|of_last| of_last.currency == line.currency);
            prop_assert_eq!(of_last.map(|of_last| (of_last.ledger, of_last.settled)), Some((line.ledger, line.settled)));
        }
        // The reserve in the last statement equals the reserve of the account.
        let end = days.last().ok_or_else(|| TestCaseError::fail("no date"))?;
        let view = MarketView::new(&store, tables(), hk("2026-04-02 22:00"));
        for line in &end.balances {
            let now = balance(&life.account, &view, line.currency, None);
            prop_assert_eq!((line.ledger, line.reserved), (now.cash, now.reserved));
        }
    }
}
