//! Securities, and rows of them: stored minutes of past days, and batches of the minute in progress.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use market::{Day, Market, Session, Timestamp, Venue};

/// The price of batch 0, in thousandths. Each batch is a thousandth higher.
const PRICE: usize = 100_000;
/// Shares that each batch adds to the volume of the minute.
const SHARES: usize = 100;

pub(super) fn symbol(number: usize) -> String {
    format!("T{number}.US")
}

/// The number in a symbol.
pub(super) fn number(symbol: &str) -> Option<usize> {
    symbol.strip_prefix('T')?.strip_suffix(".US")?.parse().ok()
}

/// The batch of a price such as `100.123`.
pub(super) fn batch_of(price: &str) -> Option<usize> {
    let (whole, fraction) = price.split_once('.')?;
    (whole.parse::<usize>().ok()? * 1_000 + fraction.get(..3)?.parse::<usize>().ok()?).checked_sub(PRICE)
}

pub(super) fn price(batch: usize) -> String {
    let price = PRICE + batch;
    format!("{}.{:03}", price / 1_000, price % 1_000)
}

pub(super) fn now() -> anyhow::Result<Timestamp> {
    #[expect(clippy::disallowed_methods, reason = "rows are of the present minute")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Timestamp(i64::try_from(since.as_secs())?))
}

/// Refuses to run while no session is open: a row of a minute that is long over would be a
/// correction.
pub(super) fn ensure_open(venue: &Venue) -> anyhow::Result<()> {
    let is_open = venue.slot(now()?).is_some();
    ensure!(is_open, "this part needs an open session of the US market, 20:00 on Sunday to 20:00 on Friday");
    Ok(())
}

/// The last trading days before now, the newest first.
pub(super) fn days(venue: &Venue, count: usize) -> anyhow::Result<Vec<Day<'_>>> {
    let mut date = venue.zone().date(now()?);
    let mut days = Vec::new();
    while days.len() < count {
        date = date.yesterday()?;
        days.extend(venue.day(date));
    }
    Ok(days)
}

/// The stamps of a day's regular hours.
pub(super) fn regular(day: &Day<'_>) -> Vec<Timestamp> {
    let regular = day.minutes().filter(|(_, slot)| slot.segment.session == Session::Intraday);
    regular.map(|(at, _)| at).collect()
}

pub(super) fn venue() -> anyhow::Result<Venue> {
    Ok(Venue::built_in(Market::Us)?)
}

/// One-minute candles of these securities and stamps, to be imported.
pub(super) fn csv(symbols: impl Iterator<Item = usize>, stamps: &[Timestamp]) -> anyhow::Result<String> {
    let mut rows = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    for number in symbols {
        for (place, at) in stamps.iter().enumerate() {
            let (step, volume) = ((place * 7 + number) % 50, 1_000 + place);
            writeln!(
                rows,
                "T{number}.US,{},100,101,99,100.{step:02},{volume},{volume}00.{:03}",
                at.0,
                number % 1_000
            )?;
        }
    }
    Ok(rows)
}

/// The minute in progress of one group of securities.
#[derive(Clone, Debug, Default)]
pub(super) struct Forming {
    minute: i64,
    open: usize,
    rows: usize,
    /// Sum of the prices of its batches.
    prices: usize,
}

impl Forming {
    /// The body of a batch: a partial row for each of the securities.
    pub(super) fn body(
        &mut self,
        source: &str,
        batch: usize,
        symbols: &[usize],
        now: Timestamp,
    ) -> anyhow::Result<String> {
        let minute = now.0.div_euclid(60) * 60;
        if minute != self.minute {
            *self = Forming { minute, open: batch, rows: 0, prices: 0 };
        }
        self.rows += 1;
        self.prices += PRICE + batch;
        let (open, close, volume) = (price(self.open), price(batch), self.rows * SHARES);
        let turnover = self.prices * SHARES;
        let (turnover, part) = (turnover / 1_000, turnover % 1_000);
        let mut body = format!("{{\"source\":\"{source}\",\"seq\":{batch},\"gap\":true,\"rows\":[");
        for (place, number) in symbols.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(
                body,
                "{comma}{{\"symbol\":\"T{number}.US\",\"time\":{minute},\"open\":\"{open}\",\"high\":\"{close}\",\
                 \"low\":\"{open}\",\"close\":\"{close}\",\"volume\":{volume},\"turnover\":\"{turnover}.{part:03}\"}}"
            )
            .context("a row")?;
        }
        body.push_str("]}");
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_names_its_batch() {
        for batch in [0, 1, 999, 1_000, 123_456] {
            assert_eq!(batch_of(&price(batch)), Some(batch));
        }
        assert_eq!(batch_of("99.999"), None);
        assert_eq!(number(&symbol(42)), Some(42));
    }

    #[test]
    fn a_minute_opens_with_the_price_of_its_first_batch() {
        let mut forming = Forming::default();
        forming.body("one", 3, &[1], Timestamp(120)).unwrap();
        let body = forming.body("one", 5, &[1], Timestamp(179)).unwrap();
        assert_eq!(
            body,
            "{\"source\":\"one\",\"seq\":5,\"gap\":true,\"rows\":[{\"symbol\":\"T1.US\",\"time\":120,\"open\":\"100.003\",\
             \"high\":\"100.005\",\"low\":\"100.003\",\"close\":\"100.005\",\"volume\":200,\"turnover\":\"20000.800\"}]}"
        );
        assert!(forming.body("one", 6, &[1], Timestamp(180)).unwrap().contains("\"open\":\"100.006\""));
    }
}
