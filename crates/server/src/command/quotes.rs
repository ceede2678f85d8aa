//! Command 11: quotes, from the newest candles.

use access::Permit;
use history::{Adjust, Anchor, AsOf, Direction, HistoryError, Query, Select, Sessions};
use market::{Candle, Floors, Market, Period, Price, Session, Symbol, Timestamp};
use store::Reader;
use wire::quote::{PrePost, Quote, QuoteResponse, SymbolsRequest};

use super::definition::symbols;
use super::definition::{Command, Context, Subject};
use super::intraday::{Sum, day_minutes, last_day, minutes, sum};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

#[derive(Debug)]
pub(crate) struct Quotes {
    symbols: Vec<Symbol>,
}

impl Command for Quotes {
    const NUMBER: u8 = wire::command::QUOTE;
    const LABEL: &'static str = "quotes";
    type Request = SymbolsRequest;
    type Response = QuoteResponse;

    fn parse(request: SymbolsRequest, _: &Context<'_>) -> Result<Quotes, Refusal> {
        Ok(Quotes { symbols: symbols(&request.symbol)? })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Prices
    }

    /// Leaves out securities that are unknown, have no candles, or that the account may not see.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<QuoteResponse, Refusal> {
        let as_of = core.as_of();
        let found = core.with_reader(|reader| {
            let mut quotes = Vec::with_capacity(self.symbols.len());
            for symbol in self.symbols.iter().filter(|symbol| permit.holds(symbol.market().into())) {
                let floors = core.floors_of(permit.account()).of(symbol.market());
                match quote(symbol, floors, caller, core, reader, as_of) {
                    Ok(quote) => quotes.extend(quote),
                    Err(
                        HistoryError::UnknownSecurity(_)
                        | HistoryError::NoCandles(_)
                        | HistoryError::Option(_),
                    ) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(quotes)
        });
        Ok(QuoteResponse { secu_quote: found.map_err(Refusal::from)? })
    }
}

/// `None` if nothing was traded yet.
pub(super) fn quote(
    symbol: &Symbol,
    floors: Floors,
    caller: &Caller,
    core: &Core,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<Option<Quote>, HistoryError> {
    let venue = core.history.venue(symbol);
    let days = last_days(symbol, floors, core, reader, as_of)?;
    let sessions = if caller.overnight { Sessions::All } else { Sessions::Extended };
    let all = minutes(symbol, sessions, floors);
    let mut minutes_of = |last| match last_day(&Query { sessions: last, ..all.clone() }, core, reader, as_of)?
    {
        Some(day) => Ok(Some((day, day_minutes(&all, day, core, reader, as_of)?))),
        None => Ok::<_, HistoryError>(None),
    };
    let minutes = minutes_of(Sessions::Intraday)?;
    let newest = if symbol.market() == Market::Us { minutes_of(sessions)? } else { None };
    let dated = |candle: &Candle| venue.zone().date(candle.time);
    let traded = minutes.as_ref().and_then(|(day, answer)| Some((*day, sum(answer, Session::Intraday)?)));
    let before_last = days.candles.get(0).filter(|_| days.candles.len() > 1).map(|day| day.close);
    // Imported daily candles win. Minutes replace a missing day, and a day that is not over: its
    // last price is the open of the current minute.
    let (today, previous) = match (days.candles.last(), traded) {
        (Some(day), Some((date, sum))) if dated(&day) < date => (sum, Some(day.close)),
        (Some(day), Some((date, sum))) if dated(&day) == date && !as_of.is_over(venue, date) => {
            (sum, before_last)
        }
        (Some(day), traded) => {
            let last = traded.filter(|(date, _)| *date == dated(&day)).map_or(day.time, |(_, sum)| sum.last);
            (of_day(&day, last), before_last)
        }
        (None, Some((_, sum))) => (sum, None),
        (None, None) => return Ok(None),
    };
    let price = |price: Price| price.text(days.decimals).to_string();
    let previous = previous.unwrap_or(today.open);
    let beside = |sum: Sum, reference: Price| PrePost {
        last_done: price(sum.close),
        timestamp: sum.last.0,
        volume: sum.volume,
        turnover: sum.turnover.text().to_string(),
        high: price(sum.high),
        low: price(sum.low),
        prev_close: price(reference),
    };
    // Overnight and pre-market hours of a day whose regular hours have not begun are compared with
    // the previous close.
    let day = days.candles.last().map(|day| dated(&day)).max(minutes.as_ref().map(|(day, _)| *day));
    let ahead = newest.as_ref().filter(|(newest, _)| day.is_none_or(|day| *newest > day));
    let of_day = minutes.as_ref().filter(|_| symbol.market() == Market::Us);
    let before = |session: Session| {
        let ahead = ahead.and_then(|(_, answer)| Some(beside(sum(answer, session)?, today.close)));
        ahead.or_else(|| of_day.and_then(|(_, answer)| Some(beside(sum(answer, session)?, previous))))
    };
    let after = of_day.and_then(|(_, answer)| Some(beside(sum(answer, Session::Post)?, today.close)));
    Ok(Some(Quote {
        symbol: symbol.as_str().to_owned(),
        last_done: price(today.close),
        prev_close: price(previous),
        open: price(today.open),
        high: price(today.high),
        low: price(today.low),
        timestamp: today.last.0,
        volume: today.volume,
        turnover: today.turnover.text().to_string(),
        trade_status: 0,
        pre_market_quote: before(Session::Pre),
        post_market_quote: after,
        over_night_quote: before(Session::Overnight),
    }))
}

fn last_days(
    symbol: &Symbol,
    floors: Floors,
    core: &Core,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<history::Answer, HistoryError> {
    let select = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: 2 };
    let query = Query {
        symbol: symbol.clone(),
        period: Period::DAY,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors,
        select,
    };
    core.history.candles(reader, &query, as_of)
}

fn of_day(day: &Candle, last: Timestamp) -> Sum {
    Sum {
        open: day.open,
        high: day.high,
        low: day.low,
        close: day.close,
        volume: day.volume,
        turnover: day.turnover,
        last,
    }
}
