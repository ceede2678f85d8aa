//! Formats candles as a table for people, or as the API's JSON for programs.

use std::io::Write;

use market::{Period, Zone};

use super::{CollectedCandles, Layout};
use crate::failure::Failure;
use crate::output::{self, Column};

pub(super) fn table(
    out: &mut impl Write,
    collected: &CollectedCandles,
    zone: &Zone,
    layout: Layout,
) -> Result<(), Failure> {
    let sessions = collected.candles.session.iter().any(|session| *session != market::Session::Intraday);
    let mut columns = vec![Column::Left("time")];
    columns.extend(["open", "high", "low", "close", "volume", "turnover"].map(Column::Right));
    if sessions {
        columns.push(Column::Left("session"));
    }
    let rows = collected.candles.iter().map(|candle| {
        let price = |price: market::Price| price.text(collected.decimals).to_string();
        let (date, seconds) = zone.local(candle.time);
        let time = match collected.period {
            Period::Clock(_) => format!("{date} {:02}:{:02}", seconds / 3600, seconds / 60 % 60),
            Period::Calendar(_) => date.to_string(),
        };
        let mut row =
            vec![time, price(candle.open), price(candle.high), price(candle.low), price(candle.close)];
        row.extend([candle.volume.to_string(), candle.turnover.text().to_string()]);
        if sessions {
            row.push(candle.session.to_string());
        }
        row
    });
    let table = output::table(&columns, rows).optional(&["turnover", "session", "volume", "open"]);
    writeln!(out, "{}", layout(table))?;
    Ok(())
}

/// Writes the API's JSON with an additional `time` field in RFC 3339 format. Candles are written
/// individually, so that a million candles need no JSON tree in memory.
pub(super) fn json(out: &mut impl Write, collected: &CollectedCandles, zone: &Zone) -> Result<(), Failure> {
    writeln!(out, "{{")?;
    writeln!(out, "  \"symbol\": \"{}\",", collected.symbol)?;
    writeln!(out, "  \"period\": \"{}\",", collected.period)?;
    writeln!(out, "  \"complete\": {},", collected.complete)?;
    write!(out, "  \"candlesticks\": [")?;
    for (index, candle) in collected.candles.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        let price = |price: market::Price| price.text(collected.decimals);
        write!(
            out,
            "{separator}\n    {{\"close\": \"{}\", \"open\": \"{}\", \"low\": \"{}\", \"high\": \"{}\", \"volume\": {}, \
             \"turnover\": \"{}\", \"timestamp\": {}, \"trade_session\": {}, \"time\": \"{}\"}}",
            price(candle.close),
            price(candle.open),
            price(candle.low),
            price(candle.high),
            candle.volume,
            candle.turnover.text(),
            candle.time.0,
            candle.session.code(),
            zone.rfc3339(candle.time),
        )?;
    }
    let end = if collected.candles.is_empty() { "]" } else { "\n  ]" };
    writeln!(out, "{end}\n}}")?;
    Ok(())
}
