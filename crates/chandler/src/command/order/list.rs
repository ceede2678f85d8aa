//! `chandler order list`, `show` and `why`: list, print and explain orders.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::Value;
use trading::{OrderStatus, Side};

use crate::client::AccountFlags;
use crate::command::trade::shown::{self, amount, rows, text, zoned};
use crate::command::trade::{OrdersQuestion, Range, order_id};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only this security
    #[arg(long)]
    symbol: Option<String>,
    /// Only this state, as shown in the list: open, filled, "waiting for market open"; may be
    /// repeated
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Only this side
    #[arg(long, value_enum)]
    side: Option<SideName>,
    /// Orders of earlier days instead of today's; implied by --start and --end
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    range: Range,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SideName {
    Buy,
    Sell,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The id of the order
    id: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl List {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.trader(context)?;
        let between = self.range.between()?;
        let mut wanted: Vec<OrderStatus> = Vec::new();
        for text in &self.status {
            wanted.extend(statuses(text)?);
        }
        let question = OrdersQuestion {
            symbol: self.symbol.as_deref().map(|text| client.symbol(text, context)).transpose()?,
            statuses: wanted,
            side: self.side.map(|side| match side {
                SideName::Buy => Side::Buy,
                SideName::Sell => Side::Sell,
            }),
            history: (self.history || self.range.is_given()).then_some(between),
        };
        let document = client.orders(&question)?;
        if self.format == Format::Json {
            return shown::json(&document);
        }
        let columns = [
            Column::Right("order"),
            Column::Left("submitted"),
            Column::Left("symbol"),
            Column::Left("side"),
            Column::Left("type"),
            Column::Right("quantity"),
            Column::Right("executed"),
            Column::Right("price"),
            Column::Right("average"),
            Column::Left("state"),
            Column::Left("reason"),
        ];
        let nothing = match question.history {
            Some(_) => "no orders of earlier days",
            None => "no orders today: `--history` lists those of earlier days",
        };
        let orders = output::table(&columns, rows(&document, "orders").iter().flat_map(rows_of));
        shown::table(orders.optional(&["average", "submitted", "executed", "type", "reason"]), nothing)
    }
}

/// Returns the order states with this label or API name. An unknown label is an error.
fn statuses(text: &str) -> Result<Vec<OrderStatus>, Failure> {
    let word = |status: &OrderStatus| shown::status(status.as_str());
    let is_meant = |status: &OrderStatus| {
        status.as_str().eq_ignore_ascii_case(text) || word(status).eq_ignore_ascii_case(text)
    };
    let found: Vec<OrderStatus> = OrderStatus::ALL.iter().copied().filter(is_meant).collect();
    if found.is_empty() {
        let mut words: Vec<String> =
            OrderStatus::ALL.iter().map(|status| format!("{:?}", word(status))).collect();
        // States with the same label are adjacent, so `dedup` removes all duplicates.
        words.dedup();
        return Err(usage(format!("{text:?} is not an order state: write one of {}", words.join(", "))));
    }
    Ok(found)
}

fn row(order: &Value) -> Vec<String> {
    let of = |name: &str| text(order, name);
    let average = of("executed_price");
    vec![
        of("order_id"),
        zoned(order, "submitted_at", &of("symbol")),
        of("symbol"),
        of("side").to_lowercase(),
        of("order_type"),
        amount(order, "quantity"),
        amount(order, "executed_quantity"),
        amount(order, "price"),
        if average == "0" { String::new() } else { shown::grouped(&average) },
        shown::status(&of("status")).to_owned(),
        reason(order),
    ]
}

/// Returns the row of an order, followed by those of its attached orders.
fn rows_of(order: &Value) -> impl Iterator<Item = Vec<String>> {
    let attached = rows(order, "attached_orders").iter().map(|attached| attached_row(order, attached));
    std::iter::once(row(order)).chain(attached)
}

fn attached_row(order: &Value, attached: &Value) -> Vec<String> {
    let of = |name: &str| text(attached, name);
    let symbol = text(order, "symbol");
    vec![
        of("order_id"),
        zoned(attached, "submitted_at", &symbol),
        symbol,
        if text(order, "side") == "Buy" { "sell" } else { "buy" }.to_owned(),
        shown::leg(&of("attached_type_display")).to_owned(),
        amount(attached, "quantity"),
        amount(attached, "executed_qty"),
        amount(attached, "trigger_price"),
        amount(attached, "executed_price"),
        shown::status(&of("status")).to_owned(),
        String::new(),
    ]
}

/// Returns why an order has its state: the message of the engine, or what an open order waits for.
fn reason(order: &Value) -> String {
    let msg = text(order, "msg");
    if msg.is_empty() { text(order, "waiting") } else { msg }
}

impl Show {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let order = self.whose.trader(context)?.order(order_id(&self.id)?)?;
        if self.format == Format::Json {
            return shown::json(&order);
        }
        let mut out = output::stdout();
        print(&mut out, &order)?;
        Ok(out.flush()?)
    }
}

fn print(out: &mut impl Write, order: &Value) -> Result<(), Failure> {
    let of = |name: &str| text(order, name);
    let (symbol, currency) = (of("symbol"), of("currency"));
    let side = of("side").to_lowercase();
    writeln!(
        out,
        "order        {}: {side} {} {symbol} {}",
        of("order_id"),
        amount(order, "quantity"),
        shown::security_name(&symbol, of("stock_name"))
    )?;
    let state = shown::status(&of("status")).to_owned();
    let msg = reason(order);
    writeln!(out, "state        {state}{}{msg}", if msg.is_empty() { "" } else { ": " })?;
    let mut terms = vec![of("order_type"), of("time_in_force")];
    let named = [
        ("limit", "price"),
        ("trigger", "trigger_price"),
        ("trailing amount", "trailing_amount"),
        ("trailing percent", "trailing_percent"),
        ("limit offset", "limit_offset"),
        ("monitor", "monitor_price"),
        ("until", "expire_date"),
    ];
    let given = named.iter().filter(|(_, name)| !of(name).is_empty());
    terms.extend(given.map(|(word, name)| format!("{word} {}", of(name))));
    if of("outside_rth") != "UnknownOutsideRth" {
        terms.push(of("outside_rth"));
    }
    writeln!(out, "terms        {}", terms.join(", "))?;
    for (word, name) in
        [("submitted", "submitted_at"), ("delayed to", "delayed_until"), ("released", "trigger_at")]
    {
        let time = zoned(order, name, &symbol);
        if !time.is_empty() {
            writeln!(out, "{word:<12} {time}")?;
        }
    }
    let executed = of("executed_quantity");
    match executed.as_str() {
        "0" => writeln!(out, "executed     nothing")?,
        _ => writeln!(
            out,
            "executed     {} at {currency} {} on average",
            shown::grouped(&executed),
            amount(order, "executed_price")
        )?,
    }
    let charges = field(order, "charge_detail");
    for group in rows(charges, "items") {
        for fee in rows(group, "fees") {
            let amount = amount(fee, "amount");
            writeln!(out, "charge       {currency} {amount} {}", shown::charge(&text(fee, "code")))?;
        }
    }
    writeln!(out, "charges      {currency} {}", amount(charges, "total_amount"))?;
    for attached in rows(order, "attached_orders") {
        let of = |name: &str| text(attached, name);
        let limit = of("submit_price");
        let limit = if limit.is_empty() { limit } else { format!(", limit {limit}") };
        writeln!(
            out,
            "{:<12} {}: {} at {}{limit}, {} executed: {}",
            shown::leg(&of("attached_type_display")),
            of("order_id"),
            amount(attached, "quantity"),
            amount(attached, "trigger_price"),
            amount(attached, "executed_qty"),
            shown::status(&of("status"))
        )?;
    }
    let remark = of("remark");
    if !remark.is_empty() {
        writeln!(out, "remark       {remark}")?;
    }
    print_history(out, order, &symbol)
}

fn print_history(out: &mut impl Write, order: &Value, symbol: &str) -> Result<(), Failure> {
    // The API lists the newest events first; the output starts with the oldest event.
    for (index, one) in rows(order, "history").iter().rev().enumerate() {
        let heading = if index == 0 { "history" } else { "" };
        let (quantity, price, msg) = (amount(one, "quantity"), amount(one, "price"), text(one, "msg"));
        let at = if price.is_empty() { String::new() } else { format!(" at {price}") };
        let msg = if msg.is_empty() { msg } else { format!(", {msg}") };
        let (time, status) = (zoned(one, "time", symbol), text(one, "status"));
        writeln!(out, "{heading:<12} {time}  {}: {quantity}{at}{msg}", shown::status(&status))?;
    }
    Ok(())
}

#[derive(Debug, Args)]
pub(super) struct Why {
    /// The id of the order
    id: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Why {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let explanation = self.whose.trader(context)?.explanation(order_id(&self.id)?)?;
        if self.format == Format::Json {
            return shown::json(&explanation);
        }
        let mut out = output::stdout();
        writeln!(out, "order {}", text(&explanation, "order_id"))?;
        for step in rows(&explanation, "steps") {
            writeln!(out, "{}  {}", text(step, "local"), text(step, "words"))?;
            for reason in rows(step, "because") {
                writeln!(out, "    {}", output::printable(reason.as_str().unwrap_or_default()))?;
            }
        }
        Ok(out.flush()?)
    }
}
