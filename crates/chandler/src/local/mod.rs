//! Accounts in the local store, with or without a running server. Operator commands use [`Books`];
//! account commands send requests to the server's endpoints in this process through
//! [`LocalAccount`].

mod account_clock;
mod books;
mod endpoints;

use access::{Access, Account};
use anyhow::anyhow;
use history::AsOf;
use market::Market;

use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};

use account_clock::AccountClock;
pub(crate) use books::Books;
pub(crate) use endpoints::{Effect, LocalAccount, Purpose};

/// Returns the market time at which local data is read: that of the clock that the user has set, of a
/// running server of the store, or of the machine.
pub(crate) fn market_time(context: &CommandContext) -> AsOf {
    AccountClock::of(context).moment.as_of
}

/// Opens the account database of the store. The time of opening is read from the machine's clock,
/// even if `--clock` is set.
pub(crate) fn open_accounts(context: &CommandContext) -> Result<Access, Failure> {
    let calendar = context.history.venues().of(Market::Hk).calendar().clone();
    let (place, key) = (context.url()?, context.key_file());
    Ok(Access::open_with_key(place, key.as_deref(), Clock::Machine.now())?.with_calendar(calendar))
}

pub(crate) fn named(access: &Access, name: &str) -> Result<Account, Failure> {
    let found = access.account_called(name)?;
    found.ok_or_else(|| anyhow!("there is no account {name:?}: `chandler account list` shows them").into())
}

/// Returns the account with this name. Without a name, returns the only account that is not
/// revoked; the local user's account, which is created for the web pages, is considered only if
/// there is no other account.
fn selected(access: &Access, name: Option<&str>) -> Result<Account, Failure> {
    if let Some(name) = name {
        return named(access, name);
    }
    let mut accounts: Vec<Account> = access
        .list()?
        .into_iter()
        .filter(|account| account.revoked_at.is_none() && !account.is_world)
        .collect();
    if !accounts.iter().all(Account::is_local) {
        accounts.retain(|account| !account.is_local());
    }
    match (accounts.pop(), accounts.as_slice()) {
        (Some(account), []) => Ok(account),
        (Some(_), _) => {
            Err(usage("there are several accounts: add --account NAME; `chandler account list` shows them"))
        }
        (None, _) => Err(anyhow!("there is no account: `chandler account create NAME` creates one").into()),
    }
}
