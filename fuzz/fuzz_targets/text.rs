//! Arbitrary text: symbols, periods, dates, times, numbers, amounts, queries, calendars. An error
//! is fine; a panic is not, nor is a value that does not survive a round trip through its text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use market::adjust::Amount;
use market::{Calendar, Market, Period, Price, SessionTable, Symbol, Turnover, parse_date, parse_time_of_day};

fuzz_target!(|text: &str| {
    if let Ok(symbol) = text.parse::<Symbol>() {
        assert_eq!(symbol.as_str().parse::<Symbol>().as_ref(), Ok(&symbol));
        let _ = symbol.is_us_option();
    }
    if let Ok(period) = text.parse::<Period>() {
        assert_eq!(period.to_string().parse::<Period>(), Ok(period));
    }
    if let Ok(price) = Price::parse(text) {
        assert_eq!(Price::parse(&price.text(6).to_string()), Ok(price));
    }
    if let Ok(turnover) = Turnover::parse(text) {
        assert_eq!(Turnover::parse(&turnover.text().to_string()).is_ok(), true);
    }
    if let Ok(amount) = Amount::parse(text) {
        assert_eq!(Amount::parse(&amount.to_string()).as_ref(), Ok(&amount));
    }
    let _ = parse_date(text);
    let _ = parse_time_of_day(text);
    let _ = Calendar::parse(text);
    let _ = SessionTable::parse(text, Market::Us);
});
