//! `GET /v1/asset/performance`: profit by security and in total, and the closed trades. No SDK calls
//! this endpoint.

use paper::Performance;

use super::journal::further_requests;
use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, RowPace, Site, envelope};

pub(super) const PERFORMANCE: Doc = Doc::new(
    Tag::Trade,
    "performance",
    "Profit of the day, realised, unrealised and in total, by security, and the closed trades",
)
.about(
    "Costs are average costs. Charges are realised when they are paid, so the realised profit and the result of \
     a trade include them. A dividend is realised when its cash is booked. The profit of the day is measured \
     from the last close before the trading date of the security's market. A trade goes from a position of zero \
     to a position of zero; a fill beyond zero closes one and opens the next. Gains and losses of cash by \
     exchange rates are not included.",
)
.parameters(&[Parameter::query("trades", Kind::Between(0, TRADES_MAX), "Maximum number of closed trades")
    .or(Word::Number(TRADES_DEFAULT))])
.answers(&[AnswerDoc::ok("The current profit", &[data::<Performance>()])])
.refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

const TRADES_DEFAULT: u32 = 100;
/// Maximum number of closed trades, which is the number that is stored in memory.
const TRADES_MAX: u32 = 1_000;

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let trades = Query::parse(call.query)?.number("trades", (0, TRADES_MAX), TRADES_DEFAULT)?;
    let (left, performance) = trader.ask(|account| {
        let left = account.performance_left()?;
        account.catch_up()?;
        Ok((left, account.performance(trades as usize)?))
    })?;
    RowPace::Journal.charge(&admitted, site, further_requests(left));
    Ok(envelope::success(performance))
}
