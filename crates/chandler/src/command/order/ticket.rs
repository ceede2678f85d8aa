//! `chandler order buy` and `sell`: submit or preview an order.

use std::io::Write;

use access::parse_instant;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use market::{Price, Symbol};
use serde_json::Value;
use trading::{
    DecimalError, OrderType, OutsideRth, Percent, Quantity, Side, Terms, TimeInForce, parse_price,
};

use super::attached::AttachedFlags;
use super::flags::{self, OFFERED};
use crate::client::{AccountFlags, Client};
use crate::command::time;
use crate::command::trade::shown::{self, amount, text};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::field_flags::in_flags;
use crate::output::{self, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The security: 700.HK, AAPL.US, or an option such as AAPL260417C190000.US
    symbol: String,
    /// Number of shares, or of option contracts
    #[arg(allow_negative_numbers = true)]
    quantity: String,
    /// Limit price
    #[arg(long, alias = "price", value_name = "PRICE", allow_negative_numbers = true)]
    limit: Option<String>,
    /// LO, MO, LIT, MIT, TSLPAMT, TSLPPCT; in Hong Kong ELO, AO, ALO, ODD, SLO too [default:
    /// derived from the other flags]
    #[arg(long = "type", value_name = "TYPE")]
    order_type: Option<String>,
    /// Trigger price: a LIT order with --limit, otherwise an MIT order
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    trigger: Option<String>,
    /// Trail the best price at this distance: a TSLPAMT order
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true, conflicts_with_all = ["trailing_percent", "trigger"])]
    trailing_amount: Option<String>,
    /// Trail the best price at this distance in percent: a TSLPPCT order
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, conflicts_with = "trigger")]
    trailing_percent: Option<String>,
    /// The distance of a trailing order's limit beyond its stop
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    limit_offset: Option<String>,
    /// Take the limit of a trailing order from this depth level instead: -5 to 5
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    depth_level: Option<i32>,
    /// Start trailing at this price
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    monitor: Option<String>,
    /// Number of times that the trigger must be touched within a minute: 0 to 3
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    trigger_count: Option<i32>,
    /// Time in force
    #[arg(long, value_enum, default_value_t)]
    tif: Tif,
    /// The last day of a gtd order
    #[arg(long, value_name = "DATE")]
    expire: Option<String>,
    /// Trading sessions; US only [default: regular]
    #[arg(long, value_enum, value_name = "SESSIONS")]
    outside_rth: Option<Lanes>,
    /// Hold the order until this instant, at most 90 days ahead
    #[arg(long, value_name = "INSTANT")]
    delay_until: Option<String>,
    /// Note stored with the order
    #[arg(long, value_name = "TEXT")]
    remark: Option<String>,
    /// An idempotency key: a repeated request with the same key within ten minutes returns the same
    /// order
    #[arg(long, value_name = "TEXT")]
    request_id: Option<String>,
    #[command(flatten)]
    attached: AttachedFlags,
    /// Report the expected result and cost without submitting the order
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Tif {
    #[default]
    Day,
    /// Until cancelled
    Gtc,
    /// Until --expire
    Gtd,
}

impl Tif {
    pub(super) fn word(self) -> TimeInForce {
        match self {
            Tif::Day => TimeInForce::Day,
            Tif::Gtc => TimeInForce::GoodTilCanceled,
            Tif::Gtd => TimeInForce::GoodTilDate,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Lanes {
    /// Regular hours
    #[value(alias = "RTH_ONLY")]
    Regular,
    /// Pre-market and post-market as well
    #[value(alias = "ANY_TIME")]
    Any,
    /// Only overnight
    #[value(alias = "OVERNIGHT")]
    Overnight,
}

impl Lanes {
    pub(super) fn word(self) -> OutsideRth {
        match self {
            Lanes::Regular => OutsideRth::RegularOnly,
            Lanes::Any => OutsideRth::AnyTime,
            Lanes::Overnight => OutsideRth::Overnight,
        }
    }
}

/// Prefix of the error message for a security that is not stored or cannot be traded.
const NOT_TRADABLE: &str = "symbol not tradable";

impl Arguments {
    pub(super) fn run(&self, side: Side, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.trader(context)?;
        let terms = self.terms(side, client.symbol(&self.symbol, context)?)?;
        if self.dry_run {
            let preview = client.preview(&terms)?;
            let is_unknown = text(field(&preview, "reason"), "text") == NOT_TRADABLE;
            let hint = if is_unknown { client.symbol_hint(&terms.symbol, context) } else { String::new() };
            return print_preview(&preview, &hint, self.format);
        }
        let answer = client.submit(&terms).map_err(|failure| {
            let said = failure.to_string();
            if !said.contains(NOT_TRADABLE) {
                return failure;
            }
            match client.symbol_hint(&terms.symbol, context).as_str() {
                "" => failure,
                hint => anyhow!("{said}{hint}").into(),
            }
        })?;
        let notes = notes(&client, &answer);
        print_answer(&answer, &notes, self.format)
    }

    fn terms(&self, side: Side, symbol: Symbol) -> Result<Terms, Failure> {
        let quantity = decimal("the quantity", &self.quantity, Quantity::parse)?;
        let order_type = self.order_type()?;
        flags::check_new(order_type, &self.given())?;
        let mut terms = Terms::new(symbol, side, order_type, quantity);
        let price = |flag: &str, text: &Option<String>| price(flag, text.as_deref());
        terms.price = price("--limit", &self.limit)?;
        terms.trigger_price = price("--trigger", &self.trigger)?;
        terms.trailing_amount = price("--trailing-amount", &self.trailing_amount)?;
        terms.limit_offset = price("--limit-offset", &self.limit_offset)?;
        terms.monitor_price = price("--monitor", &self.monitor)?;
        let percent = self.trailing_percent.as_deref();
        terms.trailing_percent =
            percent.map(|text| decimal("--trailing-percent", text, Percent::parse)).transpose()?;
        terms.depth_level = self.depth_level.unwrap_or_default();
        terms.trigger_count = self.trigger_count.unwrap_or_default();
        terms.time_in_force = self.tif.word();
        terms.expire_date = self.expire.as_deref().map(time::date).transpose()?;
        if terms.expire_date.is_some() != matches!(self.tif, Tif::Gtd) {
            return Err(usage("--tif gtd and --expire DATE must be given together"));
        }
        terms.outside_rth = self.outside_rth.map(Lanes::word);
        terms.attached = self.attached.parse()?.map(Box::new);
        terms.delayed_until = self.delay_until.as_deref().map(parse_instant).transpose().map_err(usage)?;
        terms.remark = self.remark.clone().unwrap_or_default();
        terms.client_request_id = self.request_id.clone();
        Ok(terms)
    }

    fn given(&self) -> Vec<&'static str> {
        flags::given(&[
            ("--limit", self.limit.is_some()),
            ("--trigger", self.trigger.is_some()),
            ("--trailing-amount", self.trailing_amount.is_some()),
            ("--trailing-percent", self.trailing_percent.is_some()),
            ("--limit-offset", self.limit_offset.is_some()),
            ("--depth-level", self.depth_level.is_some()),
            ("--monitor", self.monitor.is_some()),
            ("--trigger-count", self.trigger_count.is_some()),
        ])
    }

    /// Returns the order type from its flag, or derives the type from the other flags.
    fn order_type(&self) -> Result<OrderType, Failure> {
        if let Some(name) = &self.order_type {
            return name.to_ascii_uppercase().parse().map_err(|_| {
                let known: Vec<&str> = OFFERED.iter().map(|one| one.as_str()).collect();
                usage(format!("{name:?} is not an order type: write one of {}", known.join(", ")))
            });
        }
        Ok(match () {
            () if self.trailing_amount.is_some() => OrderType::TrailingAmount,
            () if self.trailing_percent.is_some() => OrderType::TrailingPercent,
            () if self.trigger.is_some() && self.limit.is_some() => OrderType::LimitIfTouched,
            () if self.trigger.is_some() => OrderType::MarketIfTouched,
            () if self.limit.is_some() => OrderType::Limit,
            () => OrderType::Market,
        })
    }
}

/// Parses the price given by a flag. `None` if the flag was not given.
pub(super) fn price(flag: &str, text: Option<&str>) -> Result<Option<Price>, Failure> {
    text.map(|text| decimal(flag, text, parse_price)).transpose()
}

pub(super) fn decimal<T>(
    what: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, DecimalError>,
) -> Result<T, Failure> {
    parse(text).map_err(|error| usage(format!("{what}: {text:?} {error}")))
}

/// Returns notes about missing candles for an accepted order. Empty if the explanation cannot be
/// read, which is not an error because the order was accepted.
fn notes(client: &Client, answer: &Value) -> Vec<String> {
    let Ok(id) = text(answer, "order_id").parse() else { return Vec::new() };
    let explanation = client.explanation(id).unwrap_or_default();
    let waiting = shown::rows(&explanation, "steps").iter().find(|step| text(step, "event") == "waiting");
    let because = waiting.map(|step| shown::rows(step, "because")).unwrap_or_default();
    because.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn print_answer(answer: &Value, notes: &[String], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        let mut answer = answer.clone();
        if let Some(fields) = answer.as_object_mut().filter(|_| !notes.is_empty()) {
            fields.insert("notes".to_owned(), notes.into());
        }
        return shown::json(&answer);
    }
    let (id, state, msg) = (text(answer, "order_id"), text(answer, "status"), text(answer, "msg"));
    let mut out = output::stdout();
    let earlier = match field(answer, "repeated").as_bool() {
        Some(true) => " already exists for this --request-id",
        _ => "",
    };
    match (state.as_str(), msg.as_str()) {
        ("", _) => writeln!(out, "order {id}{earlier}")?,
        (state, "") => writeln!(out, "order {id}{earlier}: {}", shown::status(state))?,
        (state, msg) => {
            let state = shown::status(state);
            writeln!(out, "order {id}{earlier}: {state}: {msg}; `chandler order why {id}` explains it")?;
        }
    }
    for note in notes {
        writeln!(out, "note: {}", output::printable(note))?;
    }
    Ok(out.flush()?)
}

/// Prints the expected result and cost of an order.
fn print_preview(preview: &Value, hint: &str, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return shown::json(preview);
    }
    let of = |name: &str| text(preview, name);
    let mut out = output::stdout();
    let what =
        format!("{} {} {} {}", of("side").to_lowercase(), of("quantity"), of("symbol"), of("order_type"));
    let (reason, symbol) = (field(preview, "reason"), of("symbol"));
    match of("verdict").as_str() {
        "accepted" => writeln!(out, "{what} would be accepted: {}", shown::status(&of("status")))?,
        verdict => {
            let words = in_flags(&text(reason, "words"));
            writeln!(out, "{what} would be {verdict}: {words}{hint}")?;
        }
    }
    if of("verdict") == "accepted" {
        writeln!(out, "trading day  {}", of("trading_day"))?;
        if matches!(of("status").as_str(), "NotReported" | "DelayedNotReported") {
            writeln!(out, "sent         to the market at {}", shown::zoned(preview, "reports_at", &symbol))?;
        }
        let end = shown::zoned(preview, "expires_at", &symbol);
        writeln!(
            out,
            "ends         {}",
            if end.is_empty() { "when it is filled or cancelled" } else { end.as_str() }
        )?;
    }
    for attached in shown::rows(preview, "attached_orders") {
        let of = |name: &str| text(attached, name);
        let limit = match of("submit_price").as_str() {
            "" => "at the market".to_owned(),
            limit => format!("limit {limit}"),
        };
        writeln!(
            out,
            "{:<12} {} once {} is touched, {}",
            shown::leg(&of("attached_type")),
            limit,
            of("trigger_price"),
            of("time_in_force")
        )?;
    }
    for note in shown::rows(preview, "notes") {
        writeln!(out, "note         {}", output::printable(note.as_str().unwrap_or_default()))?;
    }
    print_cost(&mut out, field(preview, "cost"), &of("verdict"))?;
    let (cash, margin) = (amount(preview, "cash_max_qty"), amount(preview, "margin_max_qty"));
    let is_sale = of("side") == "Sell";
    match (is_sale, cash.is_empty()) {
        (_, true) => {}
        (false, _) => writeln!(out, "at most      {cash} with cash, {margin} with credit")?,
        (true, _) if cash == margin => writeln!(out, "at most      {cash} held")?,
        (true, _) => writeln!(out, "at most      {cash} held, {margin} as a short sale")?,
    }
    writeln!(out, "nothing was submitted")?;
    Ok(out.flush()?)
}

/// Prints the cost of an order. The fill time is omitted for an order that would be rejected.
fn print_cost(out: &mut impl Write, cost: &Value, verdict: &str) -> Result<(), Failure> {
    if cost.is_null() {
        return Ok(());
    }
    let currency = text(cost, "currency");
    writeln!(out, "amount       {currency} {}, at {}", amount(cost, "amount"), amount(cost, "price"))?;
    for fee in shown::rows(cost, "fees") {
        writeln!(
            out,
            "charge       {currency} {} {}",
            amount(fee, "amount"),
            shown::charge(&text(fee, "code"))
        )?;
    }
    writeln!(out, "charges      {currency} {}", amount(cost, "fee_total"))?;
    writeln!(out, "total        {currency} {}", amount(cost, "total"))?;
    let change = |name: &str| {
        let change = field(cost, name);
        let after = amount(change, "after");
        let after = match verdict {
            "accepted" => format!(", {after} once it is filled"),
            _ => String::new(),
        };
        (amount(change, "before"), after)
    };
    let (before, after) = change("available_cash");
    writeln!(out, "cash         {currency} {before} available now{after}")?;
    if !field(cost, "buy_power").is_null() {
        let (before, after) = change("buy_power");
        writeln!(out, "buying power HKD {before} now{after}")?;
    }
    Ok(())
}
