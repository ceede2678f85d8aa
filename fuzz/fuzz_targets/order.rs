//! Order bodies: text and numbers become the terms of an order, and the order goes through the
//! engine. A refusal is fine; a panic is not, nor an account that differs from the fold of its
//! journal.
#![no_main]

use std::str::FromStr;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use market::{Candle, Date, Market, Price, Session, Symbol, Timestamp, Turnover, Venue, Venues};
use serde_json::{Map, Value};
use trading::{
    Account, ActTimes, EffectiveCandle, Changes, Command, CorporateAction, Currency, DecimalError, Engine, Entry,
    Factors, Feed, Kind, Money, Percent, Quantity, Rate, Security, Settings, Tables, Terms, parse_price,
};

/// 2026-03-18, 10:00:15 in Hong Kong.
const NOW: i64 = 1_773_799_215;

fuzz_target!(|body: &[u8]| {
    let Ok(body) = serde_json::from_slice::<Map<String, Value>>(body) else { return };
    let Some(terms) = Fields(&body).terms() else { return };
    let symbol = terms.symbol.clone();
    let (feed, tables) = (OneMorning { symbol }, tables());
    let engine = Engine::new(&feed, tables);
    let (mut account, mut entries) = (Account::default(), Vec::new());
    let mut run = |account: &mut Account, command: &Command, at: i64| {
        let outcome = engine.handle(account, command, Timestamp(at));
        entries.extend(outcome.entries);
        outcome.refusal.is_none()
    };
    let given = [
        Command::Open { account: 1, settings: Settings::default() },
        Command::Deposit { currency: Currency::HKD, amount: Money::whole(1_000_000) },
        Command::Deposit { currency: Currency::USD, amount: Money::whole(1_000_000) },
        Command::EnterPosition {
            symbol: terms.symbol.clone(),
            quantity: Quantity::whole(500),
            cost: Price(market::PRICE_UNIT),
        },
    ];
    for command in &given {
        run(&mut account, command, NOW);
    }
    if !run(&mut account, &Command::submit(terms.clone()), NOW) {
        return;
    }
    let Some(id) = account.orders().last().map(|order| order.id) else {
        panic!("an order that was taken is listed")
    };
    let changes = Changes { quantity: terms.quantity, price: terms.price, ..Changes::default() };
    run(&mut account, &Command::Replace { id, changes: Box::new(changes) }, NOW + 20);
    entries.extend(engine.advance(&mut account, Timestamp(NOW + 3 * 86_400)).entries);
    let mut again = Account::default();
    for entry in &entries {
        let text = serde_json::to_string(entry).unwrap();
        let read: Entry = serde_json::from_str(&text).unwrap();
        assert_eq!(&read, entry);
        again.apply(&read);
    }
    again.set_horizon(account.horizon());
    assert_eq!(again, account);
});

/// The fields of a body as text, whether they were text or numbers.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn text(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    fn word<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    fn price(&self, name: &str) -> Option<Price> {
        self.decimal(name, parse_price)
    }

    fn decimal<T>(&self, name: &str, parse: impl Fn(&str) -> Result<T, DecimalError>) -> Option<T> {
        parse(&self.text(name)?).ok()
    }

    fn terms(&self) -> Option<Terms> {
        let quantity = self.decimal("submitted_quantity", Quantity::parse)?;
        let plain =
            Terms::new(self.word("symbol")?, self.word("side")?, self.word("order_type")?, quantity);
        Some(Terms {
            time_in_force: self.word("time_in_force")?,
            price: self.price("submitted_price"),
            trigger_price: self.price("trigger_price"),
            limit_offset: self.price("limit_offset"),
            trailing_amount: self.price("trailing_amount"),
            trailing_percent: self.decimal("trailing_percent", Percent::parse),
            expire_date: self.word("expire_date"),
            outside_rth: self.word("outside_rth"),
            depth_level: self.word("limit_depth_level").unwrap_or(0),
            trigger_count: self.word("trigger_count").unwrap_or(0),
            monitor_price: self.price("monitor_price"),
            remark: self.text("remark").unwrap_or_default(),
            delayed_until: self.word("delayed_until").map(Timestamp),
            ..plain
        })
    }
}

fn venues() -> &'static Venues {
    static VENUES: OnceLock<Venues> = OnceLock::new();
    VENUES.get_or_init(|| Venues::built_in().unwrap())
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| Tables::built_in().unwrap())
}

/// One security, with a few minutes around 305 in each market.
struct OneMorning {
    symbol: Symbol,
}

impl OneMorning {
    fn effective(&self) -> Vec<EffectiveCandle> {
        let mut times = ActTimes::new(self.venue(self.symbol.market()));
        // Around 10:00 in Hong Kong, and 09:30 in New York.
        let starts = [NOW - 15, NOW - 15 + 11 * 3_600 + 1_800];
        let minutes = starts.into_iter().flat_map(|start| (0..6).map(move |minute| start + minute * 60));
        let candle = |time: i64| {
            let units = |price: i64| Price(price * market::PRICE_UNIT / 10);
            let shift = time / 60 % 7;
            Candle {
                time: Timestamp(time),
                open: units(3_050 + shift * 2),
                high: units(3_066 + shift * 2),
                low: units(3_040),
                close: units(3_052),
                volume: 5_000,
                turnover: Turnover::default(),
                session: Session::Intraday,
            }
        };
        minutes.filter_map(|time| times.of(candle(time), None)).collect()
    }
}

impl Feed for OneMorning {
    fn venue(&self, market: Market) -> &Venue {
        venues().of(market)
    }

    fn security(&self, symbol: &Symbol, _: Date) -> Option<Security> {
        let is_hk = symbol.market() == Market::Hk;
        (*symbol == self.symbol).then_some(Security {
            kind: if symbol.is_us_option() { Kind::Option } else { Kind::Equity },
            lot: Quantity::whole(if is_hk { 100 } else { 1 }),
            currency: if is_hk { Currency::HKD } else { Currency::USD },
            is_delisted: false,
        })
    }

    fn candles(&self, _: &Symbol, after: Timestamp, through: Timestamp, out: &mut Vec<EffectiveCandle>) {
        out.extend(self.effective().iter().filter(|effective| effective.at > after && effective.at <= through));
    }

    fn mark(&self, _: &Symbol, at: Timestamp) -> Option<Price> {
        trading::mark_of(&self.effective(), at).or(Some(Price(305 * market::PRICE_UNIT)))
    }

    fn close_before(&self, _: &Symbol, _: Date) -> Option<Price> {
        None
    }

    fn newest(&self, _: &Symbol, at: Timestamp) -> Option<EffectiveCandle> {
        self.effective().into_iter().rev().find(|effective| effective.candle.time <= at)
    }

    fn intraday_close(&self, _: &Symbol, _: Date) -> Option<Price> {
        None
    }

    fn actions(&self, _: &Symbol, _: Date, _: Date) -> Vec<CorporateAction> {
        Vec::new()
    }

    fn rate(&self, _: Currency, _: Date) -> Option<Rate> {
        Rate::parse("7.8").ok()
    }

    fn factors(&self, _: &Symbol) -> Option<Factors> {
        None
    }
}
