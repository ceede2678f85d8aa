//! Option expiry: at the close of an option's last day, a long position is settled in cash at its
//! intrinsic value.

use market::{Market, OptionRight, Price, Symbol, Timestamp};

use crate::event::Event;
use crate::money::Money;
use crate::timers::option_end;
use crate::words::Kind;
use crate::work::Work;

pub(crate) fn expire_options(work: &mut Work<'_>, at: Timestamp) {
    let feed = work.feed;
    let ended = |symbol: &Symbol| option_end(symbol, feed) == Some(at);
    let symbols: Vec<Symbol> =
        work.account.positions().map(|(symbol, _)| symbol).filter(|symbol| ended(symbol)).cloned().collect();
    for symbol in symbols {
        if let Some(event) = settle(work, &symbol) {
            work.record(Some(at), event);
        }
    }
}

fn settle(work: &Work<'_>, symbol: &Symbol) -> Option<Event> {
    let option = symbol.option()?;
    let position = work.account.position(symbol)?;
    let venue = work.feed.venue(Market::Us);
    let day = venue.calendar().on_or_before(option.expiry)?;
    let close = work.feed.intraday_close(&option.underlying, day);
    let Some(underlying) = close else { return Some(Event::OptionUnsettled { symbol: symbol.clone() }) };
    let gain = match option.right {
        OptionRight::Call => underlying.0 - option.strike.0,
        OptionRight::Put => option.strike.0 - underlying.0,
    };
    let intrinsic = Price(gain.max(0));
    Some(Event::OptionExpired {
        symbol: symbol.clone(),
        quantity: position.quantity,
        underlying,
        intrinsic,
        amount: Money::of(intrinsic, position.quantity, position.multiplier),
        currency: position.currency,
        settles_on: work.tables.settlement.date(venue, Kind::Option, day),
    })
}
