//! Audit rows for imports that operators begin and undo through the service: they change what
//! accounts see.

use market::Timestamp;
use store::AuditNote;

use crate::{Access, AccessError, Actor};

/// What an operator did with an import.
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
    /// Writes an audit row for an import. Candles are in another database, so the row is a separate
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
