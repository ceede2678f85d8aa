//! Parameters and refusals shared by the order endpoints.

use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{Kind, Parameter, RefusalDoc, Word};

pub(super) const REFUSALS: &[RefusalDoc] = &[TRADE_REFUSED, TRADE_TOO_FAST];

pub(super) const SYMBOL: Parameter = Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK");
pub(super) const ORDER_ID: Parameter = Parameter::query("order_id", Kind::Text, "Order id");
pub(super) const ATTACHED: Parameter = Parameter::query(
    "is_attached",
    Kind::OneOf(&["true", "false"]),
    "Whether order_id is that of an attached order",
);
pub(super) const STATUS: Parameter = Parameter::query("status", Kind::Text, "Order status; may be repeated");
pub(super) const SIDE: Parameter = Parameter::query("side", Kind::OneOf(&["Buy", "Sell"]), "");
pub(super) const MARKET: Parameter =
    Parameter::query("market", Kind::OneOf(&["HK", "US", "CN", "SG", "Crypto"]), "");
pub(super) const START_AT: Parameter =
    Parameter::query("start_at", Kind::Stamp, "Unix seconds; default, or if 0: 90 days before the end");
pub(super) const END_AT: Parameter = Parameter::query(
    "end_at",
    Kind::Stamp,
    "Unix seconds; default, or if 0: 90 days after the start, or now",
);
pub(super) const PAGE: Parameter =
    Parameter::query("page", Kind::AtLeast(1), "Page number; a page has 1,000 rows").or(Word::Number(1));
