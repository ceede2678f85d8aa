//! Price alerts in memory, and their comparison with quotes. Under a set clock, an alert sees every
//! quote that the publisher sends, so that it fires at the same instant however the clock moves.
//! Under the machine clock, it sees the quote after each merge of new rows; the day's high and low
//! include the prices in between.
//!
//! An alert is loaded when accounts have changed, and its row is written only when its condition
//! becomes true or false. The write is conditional: of several servers that see the same quote, one
//! records that the alert has fired, and the others load the row again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use access::AccountId;
use feed::{AlertRule, AlertState, Condition, Frequency, Observation, Push};
use history::{AsOf, History, HistoryError, Sessions};
use market::{Floors, Price, Session, Symbol, Timestamp};
use store::{Accounts, AlertRow, AlertSeen, Reader, StoreError};
use tokio::sync::Notify;

use crate::live::Stored;
use crate::suspect::Suspect;

/// Seconds of a movement that are read together.
const WINDOW: i64 = 86_400;
/// Longest movement in seconds whose quotes are all compared. Of a longer one, only the quote at its
/// end is.
const MOVEMENT_MAX: i64 = 31 * 86_400;

const CONDITIONS: [(&str, Condition); 4] = [
    ("price_rise", Condition::PriceRise),
    ("price_fall", Condition::PriceFall),
    ("percent_rise", Condition::PercentRise),
    ("percent_fall", Condition::PercentFall),
];
const FREQUENCIES: [(&str, Frequency); 3] =
    [("daily", Frequency::Daily), ("every_time", Frequency::EveryTime), ("once", Frequency::Once)];

/// A quote, and the close before its day.
type Seen = (Observation, Option<Price>);
type Groups = HashMap<Option<AccountId>, Arc<Mutex<Group>>>;

/// The enabled alerts by clock: those of each world, and those of all other accounts (`None`).
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    groups: Mutex<Groups>,
    /// Notifies the job to compare alerts with new quotes.
    pub(crate) sooner: Arc<Notify>,
}

#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The version of the accounts at which the alerts were loaded.
    version: Option<i64>,
    watched: Vec<Watched>,
}

#[derive(Debug)]
struct Watched {
    row: AlertRow,
    rule: AlertRule,
    state: AlertState,
    /// The instant up to which quotes were compared.
    through: Timestamp,
}

impl Alerts {
    pub(crate) fn of(&self, world: Option<AccountId>) -> Arc<Mutex<Group>> {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.entry(world).or_default().clone()
    }

    /// Removes the alerts of a deleted world from memory.
    pub(crate) fn forget(&self, world: AccountId) {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).remove(&Some(world));
    }
}

impl Group {
    /// Loads the alerts again if accounts have changed. Alerts that have not changed keep their
    /// state, which is newer than their row. Returns whether there are any.
    pub(crate) fn load(
        &mut self,
        world: Option<AccountId>,
        version: i64,
        accounts: &Accounts,
    ) -> Result<bool, StoreError> {
        if self.version != Some(version) {
            let rows = match world {
                Some(account) => accounts.alerts(account)?,
                None => accounts.enabled_alerts()?,
            };
            let mut known: HashMap<_, _> =
                self.watched.drain(..).map(|one| ((one.row.id, one.row.revision), one)).collect();
            let enabled = rows.into_iter().filter(|row| row.is_enabled);
            self.watched = enabled
                .filter_map(|row| known.remove(&(row.id, row.revision)).or_else(|| Watched::of(row)))
                .collect();
            self.version = Some(version);
        }
        Ok(!self.watched.is_empty())
    }

    /// Reads the quotes that no alert has seen. A security whose data is damaged is skipped.
    pub(crate) fn read(
        &self,
        history: &History,
        reader: &mut Reader,
        as_of: AsOf,
    ) -> Result<BTreeMap<Symbol, Vec<Seen>>, HistoryError> {
        let mut from: BTreeMap<&Symbol, Timestamp> = BTreeMap::new();
        for one in &self.watched {
            let through = from.entry(&one.row.symbol).or_insert(one.through);
            *through = one.through.min(*through);
        }
        let mut seen = BTreeMap::new();
        for (symbol, from) in from {
            match quotes(history, reader, symbol, from, as_of) {
                Ok(quotes) => seen.insert(symbol.clone(), quotes),
                Err(error) if error.damaged_symbol().is_some() => {
                    tracing::error!(%error, "cannot compare a damaged security with alerts");
                    None
                }
                Err(error) => return Err(error),
            };
        }
        Ok(seen)
    }

    /// Compares the alerts with quotes, and stores those whose condition has become true or false.
    /// Returns the accounts whose alerts have fired.
    pub(crate) fn compare(
        &mut self,
        quotes: &BTreeMap<Symbol, Vec<Seen>>,
        as_of: AsOf,
        accounts: &Accounts,
    ) -> Result<Vec<AccountId>, StoreError> {
        let mut fired = Vec::new();
        for one in &mut self.watched {
            let Some(quotes) = quotes.get(&one.row.symbol) else { continue };
            match one.compare(quotes, as_of, accounts)? {
                Compared::Same => {}
                Compared::Fired => fired.push(one.row.account),
                // Another server or the account has changed the row: it may have fired there.
                Compared::Changed => {
                    fired.push(one.row.account);
                    self.version = None;
                }
            }
        }
        self.watched.retain(|one| one.state.is_enabled);
        fired.sort_unstable();
        fired.dedup();
        Ok(fired)
    }
}

/// Result of comparing an alert with quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Same,
    Fired,
    /// The row was changed by another process.
    Changed,
}

impl Watched {
    /// Returns an alert with the state of its row, or `None` if a later release has written it.
    fn of(row: AlertRow) -> Option<Watched> {
        let rule = AlertRule {
            condition: condition(&row.condition)?,
            value: row.value,
            frequency: frequency(&row.frequency)?,
        };
        let AlertRow { is_enabled, is_met, fired_on, created_at, .. } = row;
        let seen =
            row.seen.map(|AlertSeen { at, day, high, low, last }| Observation { at, day, high, low, last });
        let through = seen.map_or(created_at, |seen| seen.at);
        Some(Watched { row, rule, state: AlertState { is_enabled, seen, is_met, fired_on }, through })
    }

    fn compare(&mut self, quotes: &[Seen], as_of: AsOf, accounts: &Accounts) -> Result<Compared, StoreError> {
        let now = as_of.now();
        if now < self.through {
            // The clock was set back: the alert begins again.
            let last = quotes.last().copied();
            self.state =
                AlertState::new(&self.rule, last.map(|(seen, _)| seen), last.and_then(|(_, close)| close));
            self.through = now;
            return Ok(Compared::Same);
        }
        let mut compared = Compared::Same;
        for (quote, close) in quotes {
            if quote.at <= self.through && matches!(as_of, AsOf::Replay(_)) {
                continue;
            }
            let mut state = self.state;
            let price = state.observe(&self.rule, *quote, *close);
            if price.is_some() || state.is_met != self.state.is_met {
                let after = AlertRow {
                    is_enabled: state.is_enabled,
                    is_met: state.is_met,
                    seen: state.seen.map(stored),
                    fired_on: state.fired_on,
                    ..self.row.clone()
                };
                if !accounts.follow_alert(&after, price.map(|price| (quote.at, price)))? {
                    return Ok(Compared::Changed);
                }
                self.row = AlertRow { revision: after.revision.saturating_add(1), ..after };
                if price.is_some() {
                    compared = Compared::Fired;
                }
            }
            (self.state, self.through) = (state, quote.at);
        }
        self.through = now;
        Ok(compared)
    }
}

/// Returns the quote of a security in regular hours and the close before its day, or `None` if the
/// security has no visible candle.
pub(crate) fn quote(
    history: &History,
    reader: &mut Reader,
    symbol: &Symbol,
    as_of: AsOf,
) -> Result<Option<Seen>, HistoryError> {
    let quote = history.quote(reader, symbol, Sessions::Intraday, Floors::NONE, as_of)?;
    Ok(quote.map(|quote| {
        let (state, close) = (quote.regular.state, quote.regular.prev_close);
        let feed::Figures { high, low, last, .. } = state.figures;
        (Observation { at: as_of.now(), day: state.day, high, low, last }, Some(close))
    }))
}

/// Returns the quotes after an instant: each one under a set clock, and the current one under the
/// machine clock.
fn quotes(
    history: &History,
    reader: &mut Reader,
    symbol: &Symbol,
    from: Timestamp,
    as_of: AsOf,
) -> Result<Vec<Seen>, HistoryError> {
    let now = as_of.now();
    let is_read = matches!(as_of, AsOf::Replay(_)) && from <= now && now.0 - from.0 <= MOVEMENT_MAX;
    if !is_read {
        return Ok(quote(history, reader, symbol, as_of)?.into_iter().collect());
    }
    let (mut after, mut quotes, mut close) = (from, Vec::new(), None);
    while after < now {
        let until = Timestamp(after.0.saturating_add(WINDOW)).min(now);
        let dues = Stored::read_window(history, reader, symbol, after, until)?.replay().between(after, until);
        for (at, push) in
            dues.into_iter().flat_map(|due| due.pushes.into_iter().map(move |push| (due.at, push)))
        {
            let Push::Quote(quote) = push else { continue };
            if quote.session != Session::Intraday {
                continue;
            }
            let close = match close {
                Some((day, close)) if day == quote.day => close,
                _ => {
                    let found = history.close_before(reader.view(), symbol, quote.day)?;
                    close.insert((quote.day, found)).1
                }
            };
            let feed::Figures { high, low, last, .. } = quote.figures;
            quotes.push((Observation { at, day: quote.day, high, low, last }, close));
        }
        after = until;
    }
    Ok(quotes)
}

pub(crate) fn stored(seen: Observation) -> AlertSeen {
    let Observation { at, day, high, low, last } = seen;
    AlertSeen { at, day, high, low, last }
}

/// Parses the name of a condition.
pub(crate) fn condition(name: &str) -> Option<Condition> {
    CONDITIONS.into_iter().find(|(known, _)| *known == name).map(|(_, condition)| condition)
}

/// Parses the name of a frequency.
pub(crate) fn frequency(name: &str) -> Option<Frequency> {
    FREQUENCIES.into_iter().find(|(known, _)| *known == name).map(|(_, frequency)| frequency)
}

/// Returns the name of a condition in the store and in responses.
pub(crate) fn condition_name(condition: Condition) -> &'static str {
    CONDITIONS.into_iter().find(|(_, known)| *known == condition).map_or("", |(name, _)| name)
}

/// Returns the name of a frequency in the store and in responses.
pub(crate) fn frequency_name(frequency: Frequency) -> &'static str {
    FREQUENCIES.into_iter().find(|(_, known)| *known == frequency).map_or("", |(name, _)| name)
}
