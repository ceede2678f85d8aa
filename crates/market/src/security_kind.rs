use std::fmt;

use crate::{Region, Symbol};

/// The kind of a listed security, as far as it decides ticks and stamp duty. Options and indices
/// are recognized by their symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecurityKind {
    Equity,
    Etf,
    Reit,
    /// Includes callable bull/bear contracts and inline warrants.
    Warrant,
}

/// The board of Hong Kong's derivative warrants.
const WARRANT_BOARD: &str = "HKWarrant";

impl SecurityKind {
    pub const ALL: [SecurityKind; 4] =
        [SecurityKind::Equity, SecurityKind::Etf, SecurityKind::Reit, SecurityKind::Warrant];

    pub fn as_str(self) -> &'static str {
        match self {
            SecurityKind::Equity => "equity",
            SecurityKind::Etf => "etf",
            SecurityKind::Reit => "reit",
            SecurityKind::Warrant => "warrant",
        }
    }

    /// Case-insensitive: `ETF` is `etf`.
    pub fn parse(text: &str) -> Option<SecurityKind> {
        SecurityKind::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text))
    }

    /// The kind of a security for which none was imported: a warrant by its board, or by its code
    /// where the exchange reserves a range for them; an equity otherwise.
    pub fn presumed(symbol: &Symbol, board: Option<&str>) -> SecurityKind {
        let is_warrant = board == Some(WARRANT_BOARD) || is_warrant_code(symbol);
        if is_warrant { SecurityKind::Warrant } else { SecurityKind::Equity }
    }
}

/// Warrants, inline warrants, and callable bull/bear contracts: the five-digit ranges of the Hong Kong exchange.
fn is_warrant_code(symbol: &Symbol) -> bool {
    let code = || symbol.ticker().parse::<u32>().ok();
    symbol.region() == Region::Hk
        && code().is_some_and(|code| matches!(code, 10_000..=29_999 | 43_000..=49_999 | 50_000..=69_999))
}

impl fmt::Display for SecurityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
