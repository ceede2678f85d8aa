//! Checks whether the clock is plausible and how long the calendars are valid.

use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::civil::date;
use market::{CALENDAR_WARNING_DAYS, Market, Timestamp, Zone};

use super::check::Check;
use crate::clock::Clock;
use crate::context::CommandContext;

/// Tolerance in seconds for files written by machines with a different clock.
const SLACK_S: i64 = 300;

/// Compares the machine's clock with the modification times of existing files.
pub(super) fn clock(context: &CommandContext) -> Check {
    let store = context.directory();
    let program = std::env::current_exe().ok();
    let files = ["candles.db", "accounts.db"].map(|name| store.map(|store| store.join(name)));
    let files = files.iter().flatten().map(|path| path.as_path()).chain(program.as_deref());
    let written = files.filter_map(|path| Some((written_at(path)?, path.display().to_string())));
    judge(Clock::Machine.now(), written.max())
}

fn judge(now: Timestamp, newest: Option<(Timestamp, String)>) -> Check {
    const NAME: &str = "clock";
    const ADVICE: &str = "set the machine's clock: signatures, tokens and levels depend on it";
    // This program did not exist before that date, so the clock was never set.
    let floor = Zone::of(Market::Hk).midnight(date(2026, 11, 1));
    if now < floor {
        return Check::fail(
            NAME,
            format!("the machine's clock is at {now}, when this program did not exist"),
            ADVICE,
        );
    }
    match newest {
        Some((at, path)) if at.0.saturating_sub(now.0) > SLACK_S => Check::fail(
            NAME,
            format!("the machine's clock is at {now}, but {path} was written at {at}"),
            ADVICE,
        ),
        _ => Check::ok(NAME, format!("{now}, later than all file times")),
    }
}

fn written_at(path: &Path) -> Option<Timestamp> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok().map(Timestamp)
}

pub(super) fn calendars(context: &CommandContext) -> Vec<Check> {
    const NAME: &str = "calendar";
    const ADVICE: &str = "`chandler calendar --write DIR`, add the announced days, then --calendars DIR";
    let each = Market::ALL.into_iter().map(|market| {
        let venue = context.history.venues().of(market);
        let through = venue.calendar().valid_through();
        let left = venue.zone().date(context.now()).until(through).map_or(0, |span| span.get_days());
        let says = format!("{market} is known through {through}, {left} days from now");
        match left {
            left if left < 0 => Check::fail(
                NAME,
                format!("{market} was known through {through}: weekdays count as trading days since then"),
                ADVICE,
            ),
            left if left <= CALENDAR_WARNING_DAYS => Check::warn(NAME, says, ADVICE),
            _ => Check::ok(NAME, says),
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::super::check::Verdict;
    use super::*;

    #[test]
    fn a_clock_behind_the_newest_file_is_wrong() {
        let now = Timestamp(1_794_708_000);
        let verdict = |at: Option<i64>| judge(now, at.map(|at| (Timestamp(at), "x".to_owned()))).verdict;
        assert_eq!(verdict(None), Verdict::Ok);
        assert_eq!(verdict(Some(now.0 + SLACK_S)), Verdict::Ok);
        assert_eq!(verdict(Some(now.0 + SLACK_S + 1)), Verdict::Fail);
        assert_eq!(judge(Timestamp(0), None).verdict, Verdict::Fail);
    }
}
