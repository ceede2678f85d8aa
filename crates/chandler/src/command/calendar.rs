//! `chandler calendar`: shows the trading calendars in use and their last dates, or writes the
//! built-in ones to files for editing.

use std::path::PathBuf;

use clap::Args;
use market::{CALENDAR_WARNING_DAYS, Floors, Market, Venue};
use serde_json::json;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Write the built-in calendars and session tables into this folder, for editing and --calendars
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    if let Some(directory) = &arguments.write {
        std::fs::create_dir_all(directory)?;
        for market in Market::ALL {
            let name = format!("{}.csv", market.as_str().to_ascii_lowercase());
            std::fs::write(directory.join(name), Venue::built_in_calendar(market))?;
        }
        std::fs::write(directory.join("sessions.csv"), Venue::built_in_sessions())?;
    }
    let now = context.now();
    let mut rows = Vec::new();
    let mut documents = Vec::new();
    for market in Market::ALL {
        let venue = context.history.venues().of(market);
        let (first, through) = (venue.calendar().first(), venue.calendar().valid_through());
        let latest = venue.latest_trading_day(now);
        // These are the default floors, which a server or an account may override.
        let floors = Floors::published(market);
        let [day, minute] = [floors.day, floors.minute].map(|floor| floor.map(|date| date.to_string()));
        let left = venue.zone().date(now).until(through).map_or(0, |span| span.get_days());
        let latest_text = latest.map(|day| day.to_string()).unwrap_or_default();
        documents.push(json!({
            "market": market.as_str(), "zone": venue.zone().name(), "first": first.to_string(),
            "valid_through": through.to_string(), "days_left": left, "latest_trading_day": latest.map(|day| day.to_string()),
            "served_from": {"day": day, "minute": minute},
        }));
        rows.push(vec![
            market.to_string(),
            venue.zone().name().to_owned(),
            first.to_string(),
            through.to_string(),
            latest_text,
            day.unwrap_or_default(),
            minute.unwrap_or_default(),
        ]);
        if left <= CALENDAR_WARNING_DAYS {
            output::note(format_args!(
                "chandler: the {market} calendar is known through {through}; later dates count weekdays as trading days \
                 (chandler calendar --write DIR, edit, then --calendars DIR)"
            ));
        }
    }
    match arguments.format {
        Format::Json => output::json(&documents)?,
        Format::Table => {
            let columns = [
                "market",
                "zone",
                "first day",
                "valid through",
                "latest trading day",
                "days from",
                "minutes from",
            ];
            println_table(&columns.map(Column::Left), rows)?;
        }
    }
    Ok(())
}

fn println_table(columns: &[Column], rows: Vec<Vec<String>>) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(columns, rows)))?;
    out.flush()?;
    Ok(())
}
