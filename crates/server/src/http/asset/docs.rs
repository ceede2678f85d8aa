//! Parameters and refusals shared by the asset endpoints.

use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{Kind, Parameter, RefusalDoc};

pub(super) const REFUSALS: &[RefusalDoc] = &[TRADE_REFUSED, TRADE_TOO_FAST];
pub(super) const SYMBOLS: Parameter =
    Parameter::query("symbol", Kind::Text, "As 700.HK; may be there several times");
