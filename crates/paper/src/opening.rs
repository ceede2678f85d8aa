//! Opening an account, with balances from an operator or with the defaults.

use market::Timestamp;
use store::AccountId;
use trading::{Account, Command, Currency, Engine, Money, Outcome, Settings, start_cash};

use crate::PaperError;

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

/// Opens an account that has no journal entries.
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
