//! Command 9: a market's trading days.

use access::Permit;
use market::{Date, DateSpan, DayKind, Market, parse_date};
use wire::quote::{TradingDaysRequest, TradingDaysResponse};

use super::definition::{Command, Context, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// Maximum length of the requested range in days. Clients request 30 days, published examples 31.
const DAYS_MAX: i32 = 31;
/// Number of days in the past for which trading days are served.
const PAST_DAYS_MAX: i64 = 366;

/// A request for a market's trading days, both dates inclusive. The market is `None` for Singapore,
/// which the protocol defines and Chandler does not support.
#[derive(Debug)]
pub(crate) struct TradingDays {
    market: Option<Market>,
    from: Date,
    through: Date,
}

impl Command for TradingDays {
    const NUMBER: u8 = wire::command::TRADING_DAYS;
    const LABEL: &'static str = "trading_days";
    type Request = TradingDaysRequest;
    type Response = TradingDaysResponse;

    fn parse(request: TradingDaysRequest, context: &Context<'_>) -> Result<TradingDays, Refusal> {
        let bad = |text: String| Refusal::BadQuery(text);
        let market = match request.market.as_str() {
            "SG" => None,
            text => {
                Some(Market::parse(text).ok_or_else(|| bad(format!("{text:?} is none of US, HK, CN, SG")))?)
            }
        };
        let date = |text: &str| parse_date(text).map_err(|error| bad(error.to_string()));
        let (from, through) = (date(&request.beg_day)?, date(&request.end_day)?);
        if from > through {
            return Err(bad(format!("beg_day {from} is after end_day {through}")));
        }
        let days = from.until(through).map_or(i32::MAX, |span| span.get_days());
        if days > DAYS_MAX {
            return Err(bad(format!("{days} days at once: {DAYS_MAX} are the most")));
        }
        let venue = context.core.history.venues().of(market.unwrap_or(Market::Hk));
        let today = venue.zone().date(context.caller.now());
        let earliest = today.checked_sub(DateSpan::new().days(PAST_DAYS_MAX)).unwrap_or(Date::MIN);
        if from < earliest {
            return Err(bad(format!("beg_day {from} is before {earliest}: the past year is known")));
        }
        Ok(TradingDays { market, from, through })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Open
    }

    fn answer(self, _: &Caller, _: &Permit, core: &Core) -> Result<TradingDaysResponse, Refusal> {
        let mut response = TradingDaysResponse::default();
        let Some(market) = self.market else { return Ok(response) };
        for (date, kind) in core.history.venues().of(market).calendar().days(self.from, self.through) {
            let days = match kind {
                DayKind::Full => &mut response.trade_day,
                DayKind::Half => &mut response.half_trade_day,
            };
            days.push(date.strftime("%Y%m%d").to_string());
        }
        Ok(response)
    }
}
