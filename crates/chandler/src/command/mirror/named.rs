//! Shared by the commands of a mirror: finding it by name, accepting the terms of its source, and
//! listing the stored days of its securities.

use std::collections::BTreeMap;

use access::{Access, Actor, MirrorStep};
use collect::{Progress, Settings, Watch};
use history::mirror::MirrorStore;
use market::{Period, Symbol};
use mirror::DateRange;
use store::{MirrorRow, Store};

use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::count;

/// Returns the mirror with this name. Without a name, returns the only mirror.
pub(super) fn find(store: &Store, name: Option<&str>) -> Result<MirrorRow, Failure> {
    let mut reader = store.reader()?;
    let mut all = reader.view().mirrors()?;
    match name {
        Some(name) => all.into_iter().find(|mirror| mirror.name == name).ok_or_else(|| {
            usage(format!("there is no mirror {name:?}: `chandler mirror status` lists them"))
        }),
        None => match (all.pop(), all.is_empty()) {
            (Some(only), true) => Ok(only),
            (None, _) => Err(usage("there is no mirror: `chandler mirror add NAME --http-url URL` adds one")),
            (Some(_), false) => {
                Err(usage("there are several mirrors: name one; `chandler mirror status` lists them"))
            }
        },
    }
}

/// Returns the mirror with this name, for a server. Fails if the terms of its source have not been
/// accepted.
pub(super) fn permitted(store: &Store, name: &str) -> Result<MirrorRow, Failure> {
    let row = find(store, Some(name))?;
    let settings: Settings = serde_json::from_str(&row.settings)?;
    if settings.terms_accepted_at.is_none() {
        return Err(usage(format!(
            "the terms of {} apply to its data, and may forbid storing it: read them, and run `chandler mirror plan \
             {} --accept-terms` once",
            settings.http_url, row.name
        )));
    }
    Ok(row)
}

/// Records that the user accepts responsibility for the terms of the other service, before the
/// first request.
pub(super) fn accept_terms(
    store: &Store,
    row: MirrorRow,
    is_accepted: bool,
    access: &Access,
    context: &CommandContext,
) -> Result<MirrorRow, Failure> {
    let mut settings: Settings = serde_json::from_str(&row.settings)?;
    if settings.terms_accepted_at.is_some() {
        return Ok(row);
    }
    if !is_accepted {
        return Err(usage(format!(
            "the terms of {} apply to its data, and may forbid storing it: read them, and add --accept-terms once",
            settings.http_url
        )));
    }
    let now = Clock::Machine.now();
    settings.terms_accepted_at = Some(now.0);
    let text = serde_json::to_string(&settings)?;
    let mut data = MirrorStore::open(store, context.history.venues())?;
    data.write(|batch| batch.put_mirror_settings(row.id, &text))?;
    let what = format!("{}: {}", row.name, settings.http_url);
    access.note_mirror(MirrorStep::TermsAccepted, &what, &Actor::Operator, now)?;
    Ok(MirrorRow { settings: text, ..row })
}

/// Returns the ranges of complete days in the store for each listed security, by period. These days
/// need not be requested.
pub(super) fn present(
    store: &Store,
    row: &MirrorRow,
    context: &CommandContext,
) -> Result<BTreeMap<Symbol, Vec<(Period, DateRange)>>, Failure> {
    let mut reader = store.reader()?;
    let list = reader.view().mirror_securities(row.id)?;
    let mut all = BTreeMap::new();
    for security in list {
        let symbol = security.symbol;
        let days =
            match history::coverage(&context.history, &mut reader, &symbol, (None, None), context.as_of()) {
                Ok(coverage) => coverage.days,
                Err(_) => continue,
            };
        let day_gap = |day: &history::DayCoverage| !day.daily;
        let minute_gap = |day: &history::DayCoverage| day.expected == 0 || !day.gaps.is_empty();
        let mut ranges = Vec::new();
        for (period, has_gap) in
            [(Period::DAY, &day_gap as &dyn Fn(&history::DayCoverage) -> bool), (Period::MINUTE, &minute_gap)]
        {
            for run in days.chunk_by(|a, b| has_gap(a) == has_gap(b)) {
                if let (Some(first), Some(last)) = (run.first(), run.last())
                    && !has_gap(first)
                {
                    ranges.push((period, DateRange { from: first.date, through: last.date }));
                }
            }
        }
        all.insert(symbol, ranges);
    }
    Ok(all)
}

/// Formats a duration, given in minutes, in minutes, hours or days.
pub(super) fn until(minutes: u64) -> String {
    match minutes {
        0..120 => count(minutes, "minute"),
        120..2_880 => count(minutes / 60, "hour"),
        _ => count(minutes / 1_440, "day"),
    }
}

/// Writes the notes of a server's thread to the log.
pub(super) struct Logged(pub(super) String);

impl Watch for Logged {
    fn progress(&self, _: &Progress) {}

    fn note(&self, text: &str) {
        tracing::warn!(mirror = self.0, "{text}");
    }
}

/// Ignores progress.
pub(super) struct Silent;

impl Watch for Silent {
    fn progress(&self, _: &Progress) {}
    fn note(&self, _: &str) {}
}
