//! Rate limit of device codes typed by users.

use std::net::IpAddr;
use std::time::Duration;

use store::{AccountId, PaceLimit, PaceTake, StoreError};

use super::rows::Guesses;
use crate::RateLimit;
use crate::net::network_of;

/// Limit of wrong codes per address and per account.
const OF_ONE: RateLimit = RateLimit { requests: 5, within: Duration::from_secs(600) };
/// Limit of wrong codes of all clients together.
const OF_ALL: RateLimit = RateLimit { requests: 100, within: Duration::from_secs(60) };

/// A code counted as wrong, with what is needed to uncount it.
#[derive(Debug)]
pub(crate) enum CountedCode {
    Here([String; 3]),
    Shared(PaceTake),
}

impl Guesses {
    /// Admits a code to be checked, or returns how long to wait. The code is counted as wrong until
    /// [`Guesses::code_was_right`] uncounts it.
    pub(crate) fn begin_code(
        &self,
        address: IpAddr,
        account: AccountId,
        uptime: Duration,
    ) -> Result<Result<CountedCode, Duration>, StoreError> {
        let keys = [
            "everybody".to_owned(),
            format!("address {}", network_of(address)),
            format!("account {}", account.0),
        ];
        let [everybody, address, account] = &keys;
        let limits = [(everybody, OF_ALL), (address, OF_ONE), (account, OF_ONE)];
        let Some(shared) = &self.shared else {
            let passed = self.codes.pass_all(limits.map(|(key, limit)| (key.clone(), limit)), uptime);
            return Ok(passed.map(|()| CountedCode::Here(keys)));
        };
        let limits = limits.map(|(key, RateLimit { requests, within })| PaceLimit {
            kind: "code",
            key,
            requests,
            within,
        });
        Ok(shared.take_paces(&limits)?.map(CountedCode::Shared))
    }

    /// Uncounts a code that was right or could not be checked.
    pub(crate) fn code_was_right(&self, counted: CountedCode) -> Result<(), StoreError> {
        match (counted, &self.shared) {
            (CountedCode::Shared(taken), Some(shared)) => shared.give_back_paces(&taken),
            (CountedCode::Shared(_), None) => Ok(()),
            (CountedCode::Here(keys), _) => {
                self.codes.take_back(keys, 1);
                Ok(())
            }
        }
    }
}
