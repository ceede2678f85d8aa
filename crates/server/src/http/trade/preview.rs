//! `POST /v1/trade/order/preview`: what would become of an order, and what it would cost. Nothing is done. Not one of the SDKs'
//! requests.

use super::fields::body;
use super::submit::{Body, terms};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    Ok(envelope::success(trader.preview(&terms(&body)?)?))
}
