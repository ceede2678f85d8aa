//! Profit and closed trades of accounts, with manually computed figures.

use store::AccountId;
use trading::{Command, Currency, FeePlan, Money, OrderType, Quantity, Setting, Side, Terms};

use super::house::{House, Service, limit, replay};
use crate::{Moment, Performance, ProfitRow, SecurityRow, TradeRow};

fn performance(service: &Service, id: AccountId, moment: Moment) -> Performance {
    service.with_reader(|reader| service.paper.at(id, reader, &moment).performance(100)).unwrap()
}

/// Formats `day realised + unrealised = total currency`.
fn profit(row: &ProfitRow) -> String {
    let ProfitRow { day, realised, unrealised, total, currency } = row;
    format!("{day} today, {realised} + {unrealised} = {total} {currency}")
}

/// Formats the totals, each security, and each closed trade.
fn describe(found: &Performance) -> Vec<String> {
    let total = found.totals.as_ref().map_or_else(|| format!("{:?}", found.missing), profit);
    let security = |row: &SecurityRow| {
        let cost = row.average_cost.as_deref().unwrap_or("-");
        format!("{} {} at {cost}: {}", row.symbol, row.quantity, profit(&row.profit))
    };
    let trade = |row: &TradeRow| {
        let TradeRow { symbol, side, quantity, entry_price, exit_price, held_s, charges, income, .. } = row;
        let (result, gain) = (&row.profit, row.gain.as_deref().unwrap_or("-"));
        format!(
            "{symbol} {side} {quantity}: {entry_price} to {exit_price} in {held_s} s, charges {charges}, income \
             {income}, result {result}, {gain}"
        )
    };
    let lines = found.securities.iter().map(security).chain(found.trades.iter().map(trade));
    std::iter::once(total).chain(lines).collect()
}

/// Returns the account's profit by an independent computation: cash and positions less the initial
/// cash, in HKD.
fn gained(service: &Service, id: AccountId, moment: Moment) -> String {
    let gained = service.read(id, moment, |reading| {
        let value = reading.account.positions().map(|(symbol, position)| {
            position.value(reading.view.mark(symbol), reading.account.settings().cost)
        });
        reading.account.cash(Currency::HKD) + value.sum::<Money>() - Money::whole(500_000)
    });
    gained.text().to_string()
}

fn free_of_fees(service: &Service, id: AccountId) {
    let free = Command::Set(Setting::Fees(FeePlan::None));
    service.command(id, replay("09:00"), &free).unwrap();
}

fn in_us(side: Side, quantity: i64, price: &str) -> Terms {
    let symbol = "AAPL.US".parse().unwrap();
    let terms = Terms::new(symbol, side, OrderType::Limit, Quantity::whole(quantity));
    Terms { price: Some(trading::parse_price(price).unwrap()), ..terms }
}

/// The charges are 82.62 for 60,000, 49.94 for 31,000 and 51.00 for 31,500.
#[test]
fn a_partial_close_is_realised_at_average_cost_with_all_charges() {
    let house = House::new(&[
        "09:59 300 300 300 300 50000",
        "10:01 300 300 300 300 50000",
        "10:11 310 310 310 310 50000",
        "15:59 320 320 320 320 50000",
        "34:01 315 315 315 315 50000",
    ]);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "301"));
    service.read(id, replay("10:05"), |_| ());
    let bought = performance(&service, id, replay("10:05"));
    assert_eq!(
        describe(&bought),
        [
            "-82.62 today, -82.62 + 0.00 = -82.62 HKD",
            "700.HK 200 at 300.000: -82.62 today, -82.62 + 0.00 = -82.62 HKD",
        ],
        "charges are realised when they are paid"
    );
    assert_eq!((bought.trades_closed, bought.win_rate), (0, None));
    service.submit(id, replay("10:10"), limit(Side::Sell, 100, "309"));
    let part = describe(&performance(&service, id, replay("17:00")));
    assert_eq!(
        part,
        [
            "2867.44 today, 867.44 + 2000.00 = 2867.44 HKD",
            "700.HK 100 at 300.000: 2867.44 today, 867.44 + 2000.00 = 2867.44 HKD",
        ]
    );
    assert_eq!(gained(&service, id, replay("17:00")), "2867.44");
    // On the next day, the profit of the day is measured from the close of 320.
    let next = describe(&performance(&service, id, replay("34:02")));
    assert_eq!(next[0], "-500.00 today, 867.44 + 1500.00 = 2367.44 HKD");
    service.submit(id, replay("34:02"), limit(Side::Sell, 100, "314"));
    house.import(&["34:03 315 315 315 315 50000"]);
    let closed = performance(&service, id, replay("34:05"));
    assert_eq!(
        describe(&closed),
        [
            "-551.00 today, 2316.44 + 0.00 = 2316.44 HKD",
            "700.HK 0 at -: -551.00 today, 2316.44 + 0.00 = 2316.44 HKD",
            "700.HK long 200: 300.000 to 312.500 in 86520 s, charges 183.56, income 0.00, result 2316.44, 0.038607333",
        ]
    );
    assert_eq!((closed.trades_closed, closed.trades_won), (1, 1));
    assert_eq!(closed.win_rate.as_deref(), Some("1.0"));
    assert_eq!(gained(&service, id, replay("34:05")), "2316.44");
    // Two days later, nothing changes.
    assert!(describe(&performance(&service, id, replay("60:00")))[0].starts_with("0.00 today, 2316.44"));
}

/// Ten shares are sold short at 200, 30 are bought at 190, and the 20 that remain are sold at 195:
/// USD 100 twice.
#[test]
fn a_purchase_beyond_a_short_position_closes_one_trade_and_opens_another() {
    let house = House::new(&[]);
    let at = |clock: &str, price: i64| format!("{clock} {price} {price} {price} {price} 50000");
    let candles = [at("23:00", 200), at("23:02", 200), at("23:12", 190), at("23:22", 195)];
    house.import_of("AAPL.US", &candles.each_ref().map(String::as_str));
    let (id, service) = (house.bare_account("ann"), house.service());
    free_of_fees(&service, id);
    service.submit(id, replay("23:01"), in_us(Side::Sell, 10, "199"));
    let short = performance(&service, id, replay("23:13"));
    assert_eq!(describe(&short)[1], "AAPL.US -10 at 200.000: 100.00 today, 0.00 + 100.00 = 100.00 USD");
    service.submit(id, replay("23:10:30"), in_us(Side::Buy, 30, "191"));
    let reversed = performance(&service, id, replay("23:14"));
    assert_eq!(
        describe(&reversed),
        [
            "780.00 today, 780.00 + 0.00 = 780.00 HKD",
            "AAPL.US 20 at 190.000: 100.00 today, 100.00 + 0.00 = 100.00 USD",
            "AAPL.US short 10: 200.000 to 190.000 in 600 s, charges 0.00, income 0.00, result 100.00, 0.05",
        ]
    );
    assert!(reversed.approximate, "no rate was reported");
    service.submit(id, replay("23:20:30"), in_us(Side::Sell, 20, "194"));
    let closed = describe(&performance(&service, id, replay("23:30")));
    assert_eq!(closed[0], "1560.00 today, 1560.00 + 0.00 = 1560.00 HKD");
    assert_eq!(
        closed[2..],
        [
            "AAPL.US long 20: 190.000 to 195.000 in 600 s, charges 0.00, income 0.00, result 100.00, 0.026315789",
            "AAPL.US short 10: 200.000 to 190.000 in 600 s, charges 0.00, income 0.00, result 100.00, 0.05",
        ]
    );
}

/// 200 shares at 300 become 400 at 150, and pay a dividend of 900. The profit of the second day is
/// 60,400 + 900 − 61,000.
#[test]
fn splits_and_dividends_change_the_cost_and_the_result_of_a_trade() {
    let house = House::new(&[
        "09:59 300 300 300 300 50000",
        "10:01 300 300 300 300 50000",
        "15:59 305 305 305 305 50000",
        "34:00 151 151 151 151 50000",
        "34:02 151 151 151 151 50000",
    ]);
    house.import_file("actions.csv", "symbol,ex_date,cash,split\n700.HK,2026-03-19,4.5,2\n");
    let (id, service) = (house.account("ann"), house.service());
    free_of_fees(&service, id);
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "301"));
    assert_eq!(
        describe(&performance(&service, id, replay("17:00")))[1],
        "700.HK 200 at 300.000: 1000.00 today, 0.00 + 1000.00 = 1000.00 HKD"
    );
    assert_eq!(
        describe(&performance(&service, id, replay("34:01")))[1],
        "700.HK 400 at 150.000: 300.00 today, 900.00 + 400.00 = 1300.00 HKD"
    );
    assert_eq!(gained(&service, id, replay("34:01")), "1300.00");
    service.submit(id, replay("34:01"), limit(Side::Sell, 400, "150"));
    assert_eq!(
        describe(&performance(&service, id, replay("34:05")))[1..],
        [
            "700.HK 0 at -: 300.00 today, 1300.00 + 0.00 = 1300.00 HKD",
            "700.HK long 400: 150.000 to 151.000 in 86460 s, charges 0.00, income 900.00, result 1300.00, 0.021666667",
        ]
    );
    assert_eq!(gained(&service, id, replay("34:05")), "1300.00");
}

/// A dividend of 3.00 has its ex-date on the 19th and is paid on the 20th, after the sale.
#[test]
fn a_dividend_that_is_paid_after_the_sale_belongs_to_its_trade() {
    let house = House::new(&[
        "09:59 300 300 300 300 50000",
        "10:01 300 300 300 300 50000",
        "34:02 298 298 298 298 50000",
    ]);
    let actions = "symbol,ex_date,cash,pay_date\n700.HK,2026-03-19,3,2026-03-20\n";
    house.import_file("actions.csv", actions);
    let (id, service) = (house.account("ann"), house.service());
    free_of_fees(&service, id);
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 100, "301"));
    service.read(id, replay("10:05"), |_| ());
    service.submit(id, replay("34:01"), limit(Side::Sell, 100, "297"));
    let sold = performance(&service, id, replay("34:05"));
    assert_eq!((sold.trades[0].profit.as_str(), sold.trades_won), ("-200.00", 0));
    let paid = performance(&service, id, replay("58:00"));
    assert_eq!((paid.trades[0].profit.as_str(), paid.trades_won), ("100.00", 1));
    assert_eq!(describe(&paid)[0], "300.00 today, 100.00 + 0.00 = 100.00 HKD");
    assert_eq!(gained(&service, id, replay("58:00")), "100.00");
}

#[test]
fn totals_of_several_currencies_are_in_hkd() {
    let house = House::new(&["09:59 300 300 300 300 50000", "10:01 300 300 300 300 50000"]);
    house.import(&["15:58 301 301 301 301 50000"]);
    house.import_of("AAPL.US", &["23:00 200 200 200 200 50000", "23:02 200 202 200 202 50000"]);
    let (id, service) = (house.bare_account("ann"), house.service());
    free_of_fees(&service, id);
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 100, "301"));
    service.submit(id, replay("23:01"), in_us(Side::Buy, 10, "201"));
    // HKD 100, and USD 20 at 7.8.
    let both = performance(&service, id, replay("23:10"));
    assert_eq!(describe(&both)[0], "256.00 today, 0.00 + 256.00 = 256.00 HKD");
    let currencies: Vec<String> = both.currencies.iter().map(|one| profit(&one.profit)).collect();
    assert_eq!(
        currencies,
        ["100.00 today, 0.00 + 100.00 = 100.00 HKD", "20.00 today, 0.00 + 20.00 = 20.00 USD"]
    );
}

#[test]
fn an_entered_position_has_its_cost_and_no_result() {
    let house = House::new(&["09:59 300 300 300 300 50000", "10:01 310 310 310 310 50000"]);
    let (id, service) = (house.account("ann"), house.service());
    let enter = |quantity: i64, cost: &str| Command::EnterPosition {
        symbol: "700.HK".parse().unwrap(),
        quantity: Quantity::whole(quantity),
        cost: trading::parse_price(cost).unwrap(),
    };
    service.read(id, replay("09:00"), |_| ());
    service.command(id, replay("09:00"), &enter(300, "310.4")).unwrap();
    assert_eq!(
        describe(&performance(&service, id, replay("10:00")))[1],
        "700.HK 300 at 310.400: -3120.00 today, 0.00 + -3120.00 = -3120.00 HKD"
    );
    // The second entry ends the trade at its cost.
    service.command(id, replay("10:00"), &enter(100, "300")).unwrap();
    assert_eq!(
        describe(&performance(&service, id, replay("10:02")))[1..],
        [
            "700.HK 100 at 300.000: 1000.00 today, 0.00 + 1000.00 = 1000.00 HKD",
            "700.HK long 300: 310.400 to 310.400 in 3600 s, charges 0.00, income 0.00, result 0.00, 0.0",
        ]
    );
}

#[test]
fn a_past_clock_shows_the_past_and_a_rewind_starts_again() {
    let house = House::new(&["09:59 300 300 300 300 50000", "10:01 300 302 300 302 50000"]);
    let (id, service) = (house.account("ann"), house.service());
    free_of_fees(&service, id);
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 100, "301"));
    service.read(id, replay("10:05"), |_| ());
    let now = describe(&performance(&service, id, replay("10:05")));
    assert_eq!(now[0], "200.00 today, 0.00 + 200.00 = 200.00 HKD");
    assert_eq!(describe(&performance(&service, id, replay("10:01"))).len(), 1, "nothing was held");
    assert_eq!(describe(&performance(&service, id, replay("10:05"))), now);
    let operation =
        crate::JournalOperation { name: "x", actor: "operator", reason: "", machine: super::house::MACHINE };
    service.paper.reset(id, &operation).unwrap();
    assert_eq!(describe(&performance(&service, id, replay("10:05"))).len(), 1);
}

#[test]
fn deposits_change_neither_growth_nor_drawdown() {
    let house = House::new(&[
        "09:59 300 300 300 300 500000",
        "10:01 300 300 300 300 500000",
        "15:59 310 310 310 310 500000",
        "39:59 290 290 290 290 500000",
    ]);
    let (id, service) = (house.account("ann"), house.service());
    free_of_fees(&service, id);
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 1_000, "301"));
    service.read(id, replay("17:00"), |_| ());
    let deposit = Command::Deposit { currency: Currency::HKD, amount: Money::whole(510_000) };
    service.command(id, replay("34:00"), &deposit).unwrap();
    let moment = replay("58:00");
    let equity = service.with_reader(|reader| service.paper.at(id, reader, &moment).equity(10)).unwrap();
    let points: Vec<String> = equity
        .points
        .iter()
        .map(|point| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {} {} {}", point.date, point.net_assets, text(&point.growth), text(&point.drawdown))
        })
        .collect();
    // 510,000 becomes 490,000 before the deposit: 1,000,000 of which 510,000 were put in.
    assert_eq!(
        points,
        [
            "2026-03-18 510000.00 1.02 0.0",
            "2026-03-19 1000000.00 0.98 0.039215686",
            "2026-03-20 1000000.00 0.98 0.039215686",
        ]
    );
    assert_eq!(equity.max_drawdown.as_deref(), Some("0.039215686"));
    // A curve that begins later is relative to its first point.
    let late = service.with_reader(|reader| service.paper.at(id, reader, &moment).equity(2)).unwrap();
    let growth: Vec<_> = late.points.iter().map(|point| point.growth.as_deref()).collect();
    assert_eq!(growth, [Some("1.0"), Some("1.0")]);
}
