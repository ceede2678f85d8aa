//! Tables without a header: guesses the columns from the first rows.

use market::parse_scaled;

use crate::Problem;
use crate::cells::Cells;
use crate::source::Lines;
use crate::time::{DayCount, RawTime, parse_time};
use crate::written::{DecimalMark, plain};

/// Rows that are checked before a guess is trusted.
const ROWS_MAX: usize = 200;

/// Names for the columns of a table that begins with a data row; `None` if it does not. `lines` is
/// positioned before that row.
pub(crate) fn guess(first: &[String], lines: &Lines, delimiter: u8) -> Option<Result<Vec<String>, Problem>> {
    let time = first.iter().position(|cell| is_time(cell))?;
    let has_clock = first.get(time + 1).is_some_and(|cell| is_clock(cell));
    let prices = time + 1 + usize::from(has_clock);
    let numbers = first.iter().skip(prices).take_while(|cell| value(cell).is_some()).count();
    if numbers < 4 || time > 1 {
        return None;
    }
    let mut names: Vec<String> = (1..=first.len()).map(|place| format!("column {place}")).collect();
    let mut set = |place: usize, name: &str| {
        if let Some(slot) = names.get_mut(place) {
            name.clone_into(slot);
        }
    };
    if time == 1 {
        set(0, "symbol");
    }
    set(time, "date");
    if has_clock {
        set(time + 1, "time");
    }
    for (place, name) in (prices..).zip(["open", "high", "low", "close"]) {
        set(place, name);
    }
    if numbers > 4 {
        let number = |place: usize| first.get(place).and_then(|cell| value(cell));
        let is_whole = |place: usize| number(place).is_some_and(|value| value % 1_000_000 == 0);
        // Of two numbers after the close, the first may be an adjusted close.
        let adjusted = numbers > 5 && !is_whole(prices + 4) && is_whole(prices + 5);
        set(prices + 4 + usize::from(adjusted), "volume");
    }
    Some(check_order(lines, delimiter, prices).map(|()| names))
}

/// Whether the numbers are in the order open, high, low, close. A tenth of the rows may be wrong.
fn check_order(lines: &Lines, delimiter: u8, prices: usize) -> Result<(), Problem> {
    let mut cells = Cells::default();
    let (mut rows, mut wrong, mut first_wrong) = (0, 0, 0);
    for (number, line) in lines.upcoming().take(ROWS_MAX) {
        if cells.split(line, delimiter).is_err() {
            continue;
        }
        let price = |place: usize| value(&String::from_utf8_lossy(cells.get(line, prices + place)));
        let (Some(open), Some(high), Some(low), Some(close)) = (price(0), price(1), price(2), price(3))
        else {
            continue;
        };
        rows += 1;
        if open.max(close) > high || open.min(close) < low {
            wrong += 1;
            first_wrong = if first_wrong == 0 { number } else { first_wrong };
        }
    }
    if wrong * 10 > rows { Err(Problem::NoHeader(first_wrong)) } else { Ok(()) }
}

/// Dates and times, not any number: only numbers as long as a date in digits or a Unix time.
fn is_time(cell: &str) -> bool {
    match parse_time(cell.trim().as_bytes(), &mut DayCount::new()) {
        Ok(RawTime::Number(number)) => number >= 19_000_101,
        Ok(_) => true,
        Err(_) => false,
    }
}

fn is_clock(cell: &str) -> bool {
    let cell = cell.trim();
    cell.contains(':') && cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
}

/// A number in millionths, with either decimal mark.
fn value(cell: &str) -> Option<i128> {
    [DecimalMark::Point, DecimalMark::Comma].into_iter().find_map(|mark| {
        let number = plain(cell.trim().as_bytes(), mark)?;
        parse_scaled(number.text.as_bytes(), 6).ok().map(|(value, _)| value)
    })
}
