//! `chandler order replace` and `cancel`: change or cancel an open order.

use std::io::Write;

use clap::Args;
use serde_json::json;
use trading::{Changes, OrderType, Percent, Quantity, TriggerStatus};

use super::attached::AttachedFlags;
use super::flags;
use super::ticket::{decimal, price};
use crate::client::AccountFlags;
use crate::command::trade::order_id;
use crate::command::trade::shown::text;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Format};

#[derive(Debug, Args)]
pub(super) struct Replace {
    /// The id of the order
    id: String,
    /// New total quantity, including the executed quantity [default: unchanged]
    #[arg(long, value_name = "QUANTITY", allow_negative_numbers = true)]
    quantity: Option<String>,
    /// Limit price
    #[arg(long, alias = "price", value_name = "PRICE", allow_negative_numbers = true)]
    limit: Option<String>,
    /// Trigger price
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    trigger: Option<String>,
    /// The distance of a trailing order from the best price
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true, conflicts_with = "trailing_percent")]
    trailing_amount: Option<String>,
    /// The distance of a trailing order in percent of the best price
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
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
    /// Note stored with the order
    #[arg(long, value_name = "TEXT")]
    remark: Option<String>,
    #[command(flatten)]
    attached: AttachedFlags,
    /// Cancel all attached orders
    #[arg(long)]
    cancel_attached: bool,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Cancel {
    /// The id of the order
    id: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Replace {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let id = order_id(&self.id)?;
        let mut changes = self.changes()?;
        let client = self.whose.trader(context)?;
        let order = client.order(id)?;
        if let Ok(order_type) = text(&order, "order_type").parse::<OrderType>() {
            let status = text(&order, "trigger_status").parse().unwrap_or(TriggerStatus::NotUsed);
            flags::check_open(order_type, status, &self.given())?;
        }
        changes.quantity = match &self.quantity {
            Some(text) => decimal("--quantity", text, Quantity::parse)?,
            // The API requires a quantity in each replacement, so an omitted flag means the current
            // quantity.
            None => decimal("the order's quantity", &text(&order, "quantity"), Quantity::parse)?,
        };
        client.replace(id, &changes)?;
        done(self.format, &format!("order {id} is replaced"), &id)
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

    fn changes(&self) -> Result<Changes, Failure> {
        let price = |flag: &str, text: &Option<String>| price(flag, text.as_deref());
        let percent = self.trailing_percent.as_deref();
        let changes = Changes {
            quantity: Quantity::ZERO,
            price: price("--limit", &self.limit)?,
            trigger_price: price("--trigger", &self.trigger)?,
            limit_offset: price("--limit-offset", &self.limit_offset)?,
            trailing_amount: price("--trailing-amount", &self.trailing_amount)?,
            trailing_percent: percent
                .map(|text| decimal("--trailing-percent", text, Percent::parse))
                .transpose()?,
            depth_level: self.depth_level,
            trigger_count: self.trigger_count,
            monitor_price: price("--monitor", &self.monitor)?,
            remark: self.remark.clone(),
            attached: self.attached.changes(self.cancel_attached)?.map(Box::new),
        };
        if changes == Changes::default() && self.quantity.is_none() {
            return Err(usage(
                "nothing to change: give --quantity, --limit, --trigger or another order flag",
            ));
        }
        Ok(changes)
    }
}

impl Cancel {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let id = order_id(&self.id)?;
        self.whose.trader(context)?.cancel(id)?;
        done(self.format, &format!("order {id} is cancelled"), &id)
    }
}

fn done(format: Format, text: &str, id: &trading::OrderId) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(&json!({"order_id": id}))?);
    }
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
