//! Executes commands on an account in memory. Opens accounts with an operator's balances or with
//! the defaults, and executes several commands atomically.

use market::Timestamp;
use store::AccountId;
use trading::{
    Account, Command, Currency, Engine, Event, GridId, Money, OrderId, Outcome, Refusal, Settings, start_cash,
};

use crate::PaperError;
use crate::operator_words::Exchanged;

/// Balances and settings that an operator assigns to an account before its first request.
#[derive(Clone, Debug)]
pub struct Opening {
    pub settings: Settings,
    pub cash: Vec<(Currency, Money)>,
    /// Credit line, in HKD.
    pub credit: Money,
}

impl Default for Opening {
    fn default() -> Opening {
        Opening { settings: Settings::default(), cash: start_cash().to_vec(), credit: Money::ZERO }
    }
}

/// Opens an account that has no journal entries yet.
pub(crate) fn open(
    engine: &Engine<'_>,
    account: &mut Account,
    id: AccountId,
    opening: &Opening,
    now: Timestamp,
) -> Result<Outcome, PaperError> {
    let Opening { settings, cash, credit } = opening;
    let open = Command::Open { account: id.0.unsigned_abs(), settings: settings.clone() };
    let given = cash.iter().filter(|(_, amount)| !amount.is_zero());
    let deposits = given.map(|(currency, amount)| Command::Deposit { currency: *currency, amount: *amount });
    let credit = (!credit.is_zero()).then_some(Command::SetCredit(*credit));
    let mut outcome = Outcome::default();
    for command in std::iter::once(open).chain(deposits).chain(credit) {
        let handled = engine.handle(account, &command, now);
        if let Some(refusal) = handled.refusal {
            return Err(refusal.into());
        }
        outcome.entries.extend(handled.entries);
    }
    Ok(outcome)
}

/// Opens an account with the defaults unless it is already open.
pub(crate) fn ensure_open(
    engine: &Engine<'_>,
    account: &mut Account,
    id: AccountId,
    now: Timestamp,
) -> Result<Outcome, PaperError> {
    if account.entries() > 0 {
        Ok(Outcome::default())
    } else {
        open(engine, account, id, &Opening::default(), now)
    }
}

/// Maximum length of an idempotency key, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// Maximum length of an adjustment's note, in characters.
const NOTE_CHARS_MAX: usize = 256;

/// Refuses idempotency keys and notes that are too long to store or cannot be displayed in a list.
pub(crate) fn check_texts(commands: &[Command], name: Option<&str>) -> Result<(), Refusal> {
    if name.is_some_and(|name| name.len() > NAME_BYTES_MAX) {
        return Err(Refusal::plain(format!("client_request_id has more than {NAME_BYTES_MAX} bytes")));
    }
    if name.is_some_and(has_controls) {
        return Err(Refusal::plain("client_request_id has control characters"));
    }
    if commands.iter().filter_map(remark).any(has_controls) {
        return Err(Refusal::plain("remark has control characters"));
    }
    let is_long = |command: &Command| matches!(command, Command::Adjust { note, .. } if note.chars().count() > NOTE_CHARS_MAX);
    if commands.iter().any(is_long) {
        return Err(Refusal::plain(format!("note must have at most {NOTE_CHARS_MAX} characters")));
    }
    Ok(())
}

fn has_controls(text: &str) -> bool {
    text.chars().any(char::is_control)
}

fn remark(command: &Command) -> Option<&str> {
    match command {
        Command::Submit(request) => Some(request.terms.remark.as_str()),
        Command::Replace { changes, .. } => changes.remark.as_deref(),
        _ => None,
    }
}

/// The order or grid that the last command created or changed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Made {
    pub(crate) order: Option<OrderId>,
    pub(crate) grid: Option<GridId>,
    pub(crate) exchanged: Option<Exchanged>,
}

/// Executes commands in order. If a command is refused, none of the commands takes effect. Market
/// events up to now remain applied, but an account that was not open, or had no request yet, stays
/// unchanged.
pub(crate) fn carry_out(
    engine: &Engine<'_>,
    account: &mut Account,
    (id, commands): (AccountId, &[Command]),
    now: Timestamp,
) -> Result<(Outcome, Made), PaperError> {
    let has_begun = account.began().is_some();
    let mut outcome = Outcome::default();
    // A single refused command changes nothing, so only the other cases need a copy for a rollback.
    let before = if has_begun && commands.len() == 1 {
        None
    } else {
        if has_begun {
            outcome = engine.advance(account, now);
        }
        Some((account.clone(), outcome.clone()))
    };
    add(&mut outcome, ensure_open(engine, account, id, now)?);
    let mut made = Made::default();
    for command in commands {
        let mut handled = engine.handle(account, command, now);
        let refusal = handled.refusal.take();
        let last = handled.last_entry().filter(|_| refusal.is_none()).map(|entry| &entry.event);
        made = Made {
            order: last.and_then(Event::order),
            grid: last.and_then(Event::grid),
            exchanged: Exchanged::of(&handled.entries),
        };
        add(&mut outcome, handled);
        if refusal.is_some() {
            if let Some((unchanged, advanced)) = before {
                (*account, outcome) = (unchanged, advanced);
            }
            return Ok((Outcome { refusal, ..outcome }, Made::default()));
        }
    }
    Ok((outcome, made))
}

fn add(outcome: &mut Outcome, more: Outcome) {
    outcome.entries.extend(more.entries);
    outcome.pushes.extend(more.pushes);
}
