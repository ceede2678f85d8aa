//! Parameters and refusals shared by the order endpoints.

use crate::kit::doc::refusals::{NOT_OFFERED, TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{Kind, Parameter, RefusalDoc, Word};

pub(super) const REFUSALS: &[RefusalDoc] = &[TRADE_REFUSED, TRADE_TOO_FAST];
/// Refusals of endpoints that take order terms.
pub(super) const TERMS_REFUSALS: &[RefusalDoc] = &[TRADE_REFUSED, TRADE_TOO_FAST, NOT_OFFERED];

/// Feature name in the refusal of attached orders, which SDKs support and Chandler does not.
pub(super) const ATTACHED_ORDERS: &str = "attached orders";

pub(super) const SYMBOL: Parameter = Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK");
pub(super) const ORDER_ID: Parameter = Parameter::query("order_id", Kind::Text, "Order id");
pub(super) const ATTACHED: Parameter = Parameter::query(
    "is_attached",
    Kind::OneOf(&["true", "false"]),
    "Whether the order is an attached order; there are none",
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
