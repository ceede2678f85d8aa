//! `GET /v1/asset/equity`: what the account was worth at the end of each day. Not one of the SDKs' requests.

use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const DAYS_DEFAULT: u32 = 366;
/// About eight years.
pub(super) const DAYS_MAX: u32 = 3_000;

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted)?;
    let days = Query::parse(call.query)?.number("days", (1, DAYS_MAX), DAYS_DEFAULT)?;
    Ok(envelope::success(trader.equity(days)?))
}
