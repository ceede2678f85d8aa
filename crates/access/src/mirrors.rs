//! Mirrors: their secrets, which are encrypted like app secrets, and their audit rows.

use market::Timestamp;
use store::{AccountId, AuditNote};

use crate::{Access, AccessError, Actor, Secret};

/// Account id for the encryption of mirror secrets, which belong to no account.
const NO_ACCOUNT: AccountId = AccountId(0);

/// An operator's action on a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirrorStep {
    Added,
    TermsAccepted,
    Removed,
}

impl MirrorStep {
    fn event(self) -> &'static str {
        match self {
            MirrorStep::Added => "mirror.added",
            MirrorStep::TermsAccepted => "mirror.terms_accepted",
            MirrorStep::Removed => "mirror.removed",
        }
    }
}

impl Access {
    /// Encrypts the secrets of a mirror. They can be decrypted only with the name of this mirror.
    pub fn seal_mirror(&self, name: &str, secrets: &Secret) -> Result<Vec<u8>, AccessError> {
        self.identity.keys.seal(secrets, NO_ACCOUNT, &bound(name))
    }

    pub fn unseal_mirror(&self, name: &str, sealed: &[u8]) -> Result<Secret, AccessError> {
        self.identity.keys.unseal(sealed, NO_ACCOUNT, &bound(name))
    }

    /// Writes an audit row. The row is not part of the action's transaction, because mirrors are
    /// stored in the candle database.
    pub fn note_mirror(
        &self,
        step: MirrorStep,
        what: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: what };
        Ok(self.accounts.note(None, step.event(), &note)?)
    }
}

/// App keys contain no spaces, so this text cannot equal an app key.
fn bound(name: &str) -> String {
    format!("mirror {name}")
}
