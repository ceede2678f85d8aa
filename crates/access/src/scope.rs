//! Scopes of credentials. The account's role and rights are checked separately: the scope
//! `operator` has no effect without the operator role, and `quote` gives no access to a market
//! without the right to that market.

use std::fmt;

/// A kind of access that credentials may include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Candles, quotes, securities and calendars.
    Quote,
    /// Orders, positions and assets.
    Trade,
    /// The account itself: rights, usage and connections.
    Account,
    /// Administration of other accounts and the store, for accounts with the operator role.
    Operator,
    /// Permits an operator's program to add candles and trades while the server runs. A feed
    /// program needs no other scope.
    Ingest,
}

/// A set of scopes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scope {
    pub const ALL: [Scope; 5] = [Scope::Quote, Scope::Trade, Scope::Account, Scope::Operator, Scope::Ingest];

    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Quote => "quote",
            Scope::Trade => "trade",
            Scope::Account => "account",
            Scope::Operator => "operator",
            Scope::Ingest => "ingest",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Scope::Quote => 1,
            Scope::Trade => 2,
            Scope::Account => 4,
            Scope::Operator => 8,
            Scope::Ingest => 16,
        }
    }
}

impl Scopes {
    pub const NONE: Scopes = Scopes(0);
    /// Scopes of an account's own credentials, which are its API key and password.
    pub const ALL: Scopes = Scopes::PROGRAM.with(Scope::Operator);
    /// Scopes of an OAuth client that acts for an account. Consent never includes the operator scope.
    pub const PROGRAM: Scopes = Scopes::NONE.with(Scope::Quote).with(Scope::Trade).with(Scope::Account);
    /// All scopes that an OAuth token may have.
    pub const OAUTH: Scopes = Scopes::PROGRAM.with(Scope::Ingest);
    /// Scopes of a token in a URL, which may be seen by others.
    pub const ADDRESS: Scopes = Scopes::NONE.with(Scope::Quote);

    #[must_use]
    pub const fn with(self, scope: Scope) -> Scopes {
        Scopes(self.0 | scope.bit())
    }

    pub const fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn or(self, other: Scopes) -> Scopes {
        Scopes(self.0 | other.0)
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Scopes) -> Scopes {
        Scopes(self.0 & other.0)
    }

    /// Returns the scopes as a bit set.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the scopes of a bit set, or `None` if an unknown bit is set.
    pub(crate) const fn of_bits(bits: u8) -> Option<Scopes> {
        if bits & !Scopes::ALL.with(Scope::Ingest).0 == 0 { Some(Scopes(bits)) } else { None }
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Scope::ALL.into_iter().filter(|scope| self.has(*scope)).map(Scope::as_str);
        f.write_str(&names.collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oauth_and_url_tokens_have_reduced_scopes() {
        assert_eq!(Scopes::ALL.to_string(), "quote trade account operator");
        assert_eq!(Scopes::PROGRAM.to_string(), "quote trade account");
        assert_eq!(Scopes::ADDRESS.to_string(), "quote");
        assert_eq!(Scopes::PROGRAM.and(Scopes::ADDRESS), Scopes::ADDRESS);
        assert!(Scopes::NONE.is_empty() && !Scopes::ADDRESS.has(Scope::Trade));
        assert_eq!(Scopes::of_bits(Scopes::PROGRAM.bits()), Some(Scopes::PROGRAM));
        assert_eq!(Scopes::of_bits(16), Some(Scopes::NONE.with(Scope::Ingest)));
        assert_eq!(Scopes::of_bits(32), None);
    }
}
