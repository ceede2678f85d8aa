//! Atomic execution of client and operator commands.

use market::Timestamp;
use store::AccountId;
use trading::{Account, Command, Engine, Event, GridId, OrderId, Outcome, Refusal};

use crate::PaperError;
use crate::opening::ensure_open;
use crate::operator_words::Exchanged;

/// Maximum length of an idempotency key, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// Maximum length of an adjustment's note, in characters.
const NOTE_CHARS_MAX: usize = 256;

/// Refuses texts that are too long to store or that cannot be displayed in a list.
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

/// Executes commands in order. If one is refused, none takes effect: market events up to now
/// remain, but an account that was not open, or had no request yet, stays unchanged.
pub(crate) fn carry_out(
    engine: &Engine<'_>,
    account: &mut Account,
    (id, commands): (AccountId, &[Command]),
    now: Timestamp,
) -> Result<(Outcome, Made), PaperError> {
    let has_begun = account.began().is_some();
    let mut outcome = Outcome::default();
    // A single refused command changes nothing, so only the other cases need a copy for the
    // rollback.
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
        let last = handled.entries.last().filter(|_| refusal.is_none()).map(|entry| &entry.event);
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
