//! Parses and formats script lines about grids.

use market::Timestamp;
use trading::{
    Account, Command, Entry, Event, Grid, GridId, GridRuleInput, MarketView, Percent, Quantity, SubmitGrid,
    parse_price, plain_price,
};

use super::market::symbol;

/// Parses `base 300 percent 2 2 quantity 100 price 240 360 hold 100 500 tif 1 …`.
pub fn rule(words: &[&str], instant: impl Fn(&str) -> Timestamp) -> GridRuleInput {
    let mut rule = GridRuleInput { time_in_force: Some(1), ..GridRuleInput::default() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || *words.next().unwrap_or_else(|| panic!("{word} has no value"));
        let price = |text: &str| Some(parse_price(text).unwrap_or_else(|_| panic!("{text:?} is no price")));
        let percent = |text: &str| Some(Percent::parse(text).expect("a percentage"));
        let quantity = |text: &str| Some(Quantity::parse(text).expect("a quantity"));
        let whole = |text: &str| Some(text.parse().unwrap_or_else(|_| panic!("{text:?} is no integer")));
        match *word {
            "base" => rule.submitted_base_price = price(value()),
            "price" => {
                (rule.lower_limit_price, rule.upper_limit_price) = (price(value()), price(value()));
            }
            "spread" => {
                rule.trigger_price_type = Some(1);
                (rule.trigger_spread_up, rule.trigger_spread_down) = (price(value()), price(value()));
            }
            "percent" => {
                rule.trigger_price_type = Some(2);
                (rule.trigger_percent_up, rule.trigger_percent_down) = (percent(value()), percent(value()));
            }
            "type" => rule.trigger_price_type = whole(value()),
            "quantity" => rule.trigger_quantity = quantity(value()),
            "hold" => {
                (rule.lower_limit_quantity, rule.upper_limit_quantity) =
                    (quantity(value()), quantity(value()));
            }
            "events" => {
                (rule.lower_limit_event, rule.upper_limit_event) = (whole(value()), whole(value()));
            }
            "depth" => {
                (rule.trigger_sell_depth, rule.trigger_buy_depth) = (whole(value()), whole(value()));
            }
            "up" => rule.grid_order_type_up = Some(value().to_owned()),
            "down" => rule.grid_order_type_down = Some(value().to_owned()),
            "multiple" => rule.multiple_trigger = Some(true),
            "short" => rule.support_shortsell = Some(true),
            "rth" => rule.rth = whole(value()),
            "tif" => rule.time_in_force = whole(value()),
            "until" => rule.expire_time = Some(instant(value()).0),
            "without" => forget(&mut rule, value()),
            _ => panic!("{word:?}"),
        }
    }
    rule
}

fn forget(rule: &mut GridRuleInput, field: &str) {
    match field {
        "base" => rule.submitted_base_price = None,
        "upper" => rule.upper_limit_price = None,
        "type" => rule.trigger_price_type = None,
        "quantity" => rule.trigger_quantity = None,
        "hold" => rule.lower_limit_quantity = None,
        "tif" => rule.time_in_force = None,
        _ => panic!("{field:?}"),
    }
}

/// Parses `grid 700.HK …`, `regrid 1 …`, `ungrid 1`, `suspend 1`, `restart 1` and `agree`. Returns
/// `None` for other lines.
pub fn command(words: &[&str], account: u64, instant: impl Fn(&str) -> Timestamp) -> Option<Command> {
    let id = |number: &str| GridId::of(account, number.parse().expect("the number of a grid"));
    let command = match words {
        ["grid", of, "in", currency, rest @ ..] => Command::SubmitGrid(Box::new(SubmitGrid {
            symbol: symbol(of),
            settlement_currency: Some(currency.parse().expect("a currency")),
            rule: rule(rest, instant),
        })),
        ["grid", of, rest @ ..] => {
            let (symbol, rule) = (symbol(of), rule(rest, instant));
            Command::SubmitGrid(Box::new(SubmitGrid { symbol, settlement_currency: None, rule }))
        }
        ["regrid", number, rest @ ..] => {
            Command::ReplaceGrid { id: id(number), rule: Box::new(rule(rest, instant)) }
        }
        ["ungrid", number] => Command::CancelGrid { id: id(number) },
        ["suspend", number] => Command::SuspendGrid { id: id(number) },
        ["restart", number] => Command::RestartGrid { id: id(number) },
        ["agree"] => Command::AgreeToStrategy,
        _ => return None,
    };
    Some(command)
}

/// Returns the output of the queries `grid? 1`, `levels 1` and `history 1`. Returns `None` for
/// other lines.
pub fn answer(words: &[&str], account: &Account, view: &MarketView<'_>) -> Option<Vec<String>> {
    let grid = |number: &str| {
        let id = GridId::of(account.number(), number.parse().expect("the number of a grid"));
        account.grid(id).expect("a grid")
    };
    match words {
        ["grid?", number] => Some(vec![grid_line(grid(number))]),
        ["levels", number] => {
            let levels = grid(number).levels(view);
            Some(vec![format!("sells at {}, buys at {}", plain_price(levels.up), plain_price(levels.down))])
        }
        ["history", number] => Some(grid(number).history.iter().map(history_line).collect()),
        _ => None,
    }
}

/// Formats each trigger as `301 Sell 100 level`, followed by the sleeping reason, if any.
pub fn triggers(entries: &[Entry]) -> Vec<String> {
    let line = |entry: &Entry| match &entry.event {
        Event::GridTriggered(trigger) => {
            let price = plain_price(trigger.price);
            let asleep = trigger.skipped.map(|reason| format!(" asleep: {reason}")).unwrap_or_default();
            Some(format!("{price} {} {} {}{asleep}", trigger.side, trigger.quantity, trigger.kind))
        }
        Event::GridSlept { reason, .. } => Some(format!("asleep: {reason}")),
        _ => None,
    };
    entries.iter().filter_map(line).collect()
}

/// Formats a grid as `grid 1 Performing base 306 (300 before) 1 times bought 0 sold 100 profit 0`.
fn grid_line(grid: &Grid) -> String {
    let before = grid.base_before.map(|base| format!(" ({} before)", plain_price(base))).unwrap_or_default();
    format!(
        "grid {} {} base {}{before} {} times bought {} sold {} profit {}",
        grid.id.number(),
        grid.status,
        plain_price(grid.base),
        grid.trigger_times,
        grid.bought,
        grid.sold,
        grid.profit
    )
}

fn history_line(row: &trading::GridHistoryRow) -> String {
    let suspended = row.suspend_reason.map(|reason| format!(" `{reason}`")).unwrap_or_default();
    format!("{} {}{suspended} {}", row.number, row.status, row.reason).trim_end().to_owned()
}
