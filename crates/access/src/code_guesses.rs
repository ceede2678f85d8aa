//! Rate limit for guessing device codes.

use std::net::IpAddr;
use std::time::Duration;

use store::AccountId;

use crate::net::network_of;
use crate::{RateLimit, RateLimiter};

/// Wrong codes from one address or account.
const OF_ONE: RateLimit = RateLimit { requests: 5, within: Duration::from_secs(600) };
/// Wrong codes of all clients together.
const OF_ALL: RateLimit = RateLimit { requests: 100, within: Duration::from_secs(60) };

/// Wrong device codes.
#[derive(Debug)]
pub(crate) struct CodeGuesses {
    /// At most a hundred a minute for ten minutes, two keys each, so the table is bounded.
    wrong: RateLimiter<Guesser>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Guesser {
    Everybody,
    Address(IpAddr),
    Account(AccountId),
}

impl Default for CodeGuesses {
    fn default() -> CodeGuesses {
        CodeGuesses { wrong: RateLimiter::of_accounts() }
    }
}

impl CodeGuesses {
    /// Admits a code to be checked, or returns how long to wait. It counts as wrong until
    /// [`CodeGuesses::right`] takes that back.
    pub(crate) fn begin(
        &self,
        address: IpAddr,
        account: AccountId,
        uptime: Duration,
    ) -> Result<(), Duration> {
        let [everybody, address, account] = guessers(address, account);
        self.wrong.pass_all([(everybody, OF_ALL), (address, OF_ONE), (account, OF_ONE)], uptime)
    }

    pub(crate) fn right(&self, address: IpAddr, account: AccountId) {
        self.wrong.take_back(guessers(address, account), 1);
    }
}

/// A device code that was typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess {
    pub(crate) address: IpAddr,
    pub(crate) account: AccountId,
}

/// The limits that a guess counts against, with their keys in the shared database.
pub(crate) fn limits(guess: Guess) -> [(String, RateLimit); 3] {
    let word = |guesser| match guesser {
        Guesser::Everybody => ("everybody".to_owned(), OF_ALL),
        Guesser::Address(address) => (format!("address {address}"), OF_ONE),
        Guesser::Account(account) => (format!("account {}", account.0), OF_ONE),
    };
    guessers(guess.address, guess.account).map(word)
}

fn guessers(address: IpAddr, account: AccountId) -> [Guesser; 3] {
    [Guesser::Everybody, Guesser::Address(network_of(address)), Guesser::Account(account)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100_000);
    const ALICE: AccountId = AccountId(1);

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn one_address_has_five_wrong_codes_in_ten_minutes() {
        let codes = CodeGuesses::default();
        for second in 0..5 {
            codes.begin(address(1), ALICE, START + seconds(second)).unwrap();
        }
        assert_eq!(codes.begin(address(1), AccountId(2), START + seconds(5)), Err(seconds(595)));
        assert_eq!(
            codes.begin(address(2), ALICE, START + seconds(5)),
            Err(seconds(595)),
            "nor by moving house"
        );
        codes.begin(address(2), AccountId(2), START + seconds(5)).unwrap();
        codes.begin(address(1), ALICE, START + seconds(600)).unwrap();
        assert_eq!(codes.begin(address(1), ALICE, START + seconds(600)), Err(seconds(1)));
    }

    #[test]
    fn right_codes_do_not_count() {
        let codes = CodeGuesses::default();
        for _ in 0..200 {
            codes.begin(address(1), ALICE, START).unwrap();
            codes.right(address(1), ALICE);
        }
    }

    #[test]
    fn all_clients_together_have_a_hundred_wrong_codes_a_minute() {
        let codes = CodeGuesses::default();
        for number in 0..100_u8 {
            codes.begin(address(number), AccountId(i64::from(number)), START).unwrap();
        }
        assert_eq!(codes.begin(address(200), AccountId(200), START + seconds(9)), Err(seconds(51)));
        codes.begin(address(200), AccountId(200), START + seconds(60)).unwrap();
    }
}
