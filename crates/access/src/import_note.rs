//! Audit rows for imports that operators start and undo through the service, because imports change
//! what accounts see.

use market::Timestamp;
use store::AuditNote;

use crate::{Access, AccessError, Actor};

/// An operator's action on an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportStep {
    Begun,
    Undone,
}

impl ImportStep {
    fn event(self) -> &'static str {
        match self {
            ImportStep::Begun => "import.begun",
            ImportStep::Undone => "import.undone",
        }
    }
}

impl Access {
    /// Writes an audit row for an import. Candles are in another database, so this is a separate
    /// transaction.
    pub fn note_import(
        &self,
        step: ImportStep,
        what: &str,
        by: &Actor,
        now: Timestamp,
    ) -> Result<(), AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: what };
        Ok(self.accounts.note(None, step.event(), &note)?)
    }
}
