//! Security names in the caller's language.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use market::Symbol;
use store::{Reader, Security, Store, StoreError};

use crate::caller::Language;

/// Returns a security's name in `language`, or else in any other language. Returns `None` if the
/// security has no name.
pub(crate) fn name_in(security: &Security, language: Language) -> Option<&str> {
    let Security { name_en, name_cn, name_hk, .. } = security;
    let order = match language {
        Language::En => [name_en, name_cn, name_hk],
        Language::ZhCn => [name_cn, name_hk, name_en],
        Language::ZhHk => [name_hk, name_cn, name_en],
    };
    order.into_iter().flatten().find(|name| !name.is_empty()).map(String::as_str)
}

/// Like [`name_in`], but falls back to the ticker if the security has no name.
pub(crate) fn stock_name(security: Option<&Security>, symbol: &Symbol, language: Language) -> String {
    let name = security.and_then(|security| name_in(security, language));
    name.unwrap_or_else(|| symbol.ticker()).to_owned()
}

/// Looks up securities for pushes, with a dedicated store reader.
#[derive(Debug)]
pub(crate) struct SecurityLookup {
    store: Store,
    reader: Mutex<Option<Reader>>,
}

/// Names of several securities, each looked up once.
#[derive(Debug)]
pub(crate) struct Names {
    known: HashMap<Symbol, Option<String>>,
    /// Whether the ticker replaces a missing name.
    has_tickers: bool,
}

impl Names {
    /// Looks up the names of all `symbols`.
    pub(crate) fn of<'a>(
        symbols: impl IntoIterator<Item = &'a Symbol>,
        language: Language,
        reader: &mut Reader,
    ) -> Result<Names, StoreError> {
        let mut known = HashMap::new();
        for symbol in symbols {
            if !known.contains_key(symbol) {
                let security = reader.view().security(symbol)?;
                let name = security.as_ref().and_then(|security| name_in(security, language));
                known.insert(symbol.clone(), name.map(str::to_owned));
            }
        }
        Ok(Names { known, has_tickers: true })
    }

    /// Disables the ticker fallback, for the command line, which shows a description or nothing
    /// instead of a missing name.
    pub(crate) fn without_tickers(self) -> Names {
        Names { has_tickers: false, ..self }
    }

    pub(crate) fn get(&self, symbol: &Symbol) -> String {
        let ticker = || if self.has_tickers { symbol.ticker().to_owned() } else { String::new() };
        self.known.get(symbol).cloned().flatten().unwrap_or_else(ticker)
    }
}

impl SecurityLookup {
    pub(crate) fn new(store: Store) -> SecurityLookup {
        SecurityLookup { store, reader: Mutex::default() }
    }

    /// Returns the stored security. Returns `None` if the security is unknown or the lookup fails,
    /// so that the push is sent without a name.
    pub(crate) fn security(&self, symbol: &Symbol) -> Option<Security> {
        let mut state = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let look = |state: &mut Option<Reader>| {
            let mut reader = match state.take() {
                Some(reader) => reader,
                None => self.store.reader()?,
            };
            let security = reader.view().security(symbol)?;
            *state = Some(reader);
            Ok::<_, StoreError>(security)
        };
        look(&mut state).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot look up the name of a security");
            None
        })
    }
}
