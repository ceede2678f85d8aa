//! Flags of attached orders: take profit and stop loss.

use access::parse_instant;
use clap::Args;
use trading::{Attached, AttachedChanges, AttachedType, TimeInForce};

use super::ticket::{Lanes, Tif, price};
use crate::command::time;
use crate::failure::{Failure, usage};

#[derive(Debug, Args)]
pub(super) struct AttachedFlags {
    /// Attach a take profit: close the position when this price is touched
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    take_profit: Option<String>,
    /// Attach a stop loss: close the position when this price is touched
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    stop_loss: Option<String>,
    /// Limit price of the take profit [default: at the market]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    take_profit_limit: Option<String>,
    /// Limit price of the stop loss [default: at the market]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    stop_loss_limit: Option<String>,
    /// Time in force of the attached orders, from the first fill on [default: that of the order]
    #[arg(long, value_enum, value_name = "TIF")]
    attached_tif: Option<Tif>,
    /// The last day of gtd attached orders
    #[arg(long, value_name = "DATE")]
    attached_expire: Option<String>,
    /// Trading sessions of the attached orders; US only [default: those of the order]
    #[arg(long, value_enum, value_name = "SESSIONS")]
    attached_outside_rth: Option<Lanes>,
}

impl AttachedFlags {
    /// Parses the flags. Returns `None` if none is given.
    pub(super) fn parse(&self) -> Result<Option<Attached>, Failure> {
        let has_profit = self.take_profit.is_some() || self.take_profit_limit.is_some();
        let has_stop = self.stop_loss.is_some() || self.stop_loss_limit.is_some();
        let kind = match (has_profit, has_stop) {
            (true, true) => AttachedType::Bracket,
            (true, false) => AttachedType::ProfitTaker,
            (false, true) => AttachedType::StopLoss,
            (false, false) => return self.check_unused().map(|()| None),
        };
        let time_in_force = self.attached_tif.map(Tif::word);
        if self.attached_expire.is_some() != (time_in_force == Some(TimeInForce::GoodTilDate)) {
            return Err(usage("--attached-tif gtd and --attached-expire DATE must be given together"));
        }
        let price = |flag: &str, text: &Option<String>| price(flag, text.as_deref());
        let expire_time = self.attached_expire.as_deref().map(|text| {
            // At noon UTC, it is the same day in every market.
            time::date(text).and_then(|date| parse_instant(&format!("{date}T12:00:00Z")).map_err(usage))
        });
        Ok(Some(Attached {
            profit_taker_price: price("--take-profit", &self.take_profit)?,
            stop_loss_price: price("--stop-loss", &self.stop_loss)?,
            profit_taker_submit_price: price("--take-profit-limit", &self.take_profit_limit)?,
            stop_loss_submit_price: price("--stop-loss-limit", &self.stop_loss_limit)?,
            time_in_force,
            expire_time: expire_time.transpose()?,
            outside_rth: self.attached_outside_rth.map(Lanes::word),
            ..Attached::new(kind)
        }))
    }

    fn check_unused(&self) -> Result<(), Failure> {
        let given = [
            ("--attached-tif", self.attached_tif.is_some()),
            ("--attached-expire", self.attached_expire.is_some()),
            ("--attached-outside-rth", self.attached_outside_rth.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(usage(format!("{flag} needs --take-profit or --stop-loss"))),
            None => Ok(()),
        }
    }

    /// Parses the flags as changes of attached orders.
    pub(super) fn changes(&self, cancel_all: bool) -> Result<Option<AttachedChanges>, Failure> {
        let attached = self.parse()?;
        if cancel_all && attached.is_some() {
            return Err(usage("--cancel-attached cannot be combined with new prices of attached orders"));
        }
        let all = cancel_all.then(|| Attached::new(AttachedType::Bracket));
        Ok(attached.or(all).map(|attached| AttachedChanges {
            attached,
            profit_taker_id: None,
            stop_loss_id: None,
            main_id: None,
            cancel_all,
            quantity: None,
        }))
    }
}
