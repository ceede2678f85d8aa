//! The labels of metrics. All are closed sets: a label by account or symbol would grow without end, and reveal what people do.

/// An enum whose variants have a text each and are numbered from 0.
macro_rules! label {
    ($(#[$about:meta])* $name:ident { $($variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),+ }

        impl $name {
            pub(crate) const ALL: &'static [$name] = &[$($name::$variant),+];
            pub(crate) const COUNT: usize = $name::ALL.len();

            pub(crate) fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            pub(super) fn index(self) -> usize {
                self as usize
            }
        }
    };
}

label! {
    /// The door that a request came through.
    Door { WebSocket => "websocket", Tcp => "tcp", Http => "http" }
}

label! {
    /// Where a proof of identity is given; on a page it is a password.
    Entry { WebSocket => "websocket", Tcp => "tcp", Http => "http", Page => "page" }
}

label! {
    /// What was asked for. The first ones are commands of the protocol, through any door; the rest is HTTP's alone.
    Task {
        Heartbeat => "heartbeat",
        SignIn => "sign_in",
        Resume => "resume",
        Profile => "profile",
        TradingSessions => "trading_sessions",
        TradingDays => "trading_days",
        StaticInfo => "static_info",
        Quotes => "quotes",
        Intraday => "intraday",
        Candlesticks => "candlesticks",
        History => "history_candlesticks",
        Trade => "trade_topics",
        Orders => "orders",
        SocketToken => "socket_token",
        Upgrade => "upgrade",
        Account => "account",
        Admin => "admin",
        OAuth => "oauth",
        Page => "page",
        Data => "data",
        Watch => "watch",
        Other => "other",
    }
}

label! {
    /// How it ended: answered, or refused for one of a list of reasons.
    Outcome {
        Ok => "ok",
        Malformed => "malformed",
        UnknownCommand => "unknown_command",
        Unauthenticated => "unauthenticated",
        Revoked => "revoked",
        TooFast => "too_fast",
        Busy => "busy",
        BadQuery => "bad_query",
        NoQuotes => "no_quotes",
        NoAccess => "no_access",
        QuotaSpent => "quota_spent",
        TooMany => "too_many",
        NotOffered => "not_offered",
        NotFound => "not_found",
        TimedOut => "timed_out",
        Internal => "internal",
    }
}

label! {
    /// The current kind of a connection.
    Connection {
        Http => "http",
        WebSocket => "websocket",
        Tcp => "tcp",
        Internal => "internal",
        Handshake => "handshake",
    }
}

label! {
    /// Whether a proof of identity was good.
    Proven { Accepted => "accepted", Refused => "refused" }
}

label! {
    /// What an OAuth token is issued for.
    Grant { Code => "authorization_code", Device => "device_code", Refresh => "refresh_token" }
}

label! {
    /// The result. A device on which nobody has decided yet is not a refusal.
    Granted { Issued => "issued", Pending => "pending", Refused => "refused" }
}

label! {
    Handshake { Ok => "ok", Failed => "failed", Late => "late", Plain => "plain_http" }
}

label! {
    Reload { Ok => "ok", Failed => "failed" }
}

label! {
    /// Background work (`jobs/`).
    JobName {
        StoreChanges => "store_changes",
        ExpiredGrants => "expired_grants",
        AuditRetention => "audit_retention",
        Certificate => "certificate",
        PaperAccounts => "paper_accounts",
        PaperListeners => "paper_listeners",
        PaperLevels => "paper_levels",
    }
}

label! {
    /// How a run ended; `elsewhere` if another server of the store does it.
    JobOutcome { Ok => "ok", Failed => "failed", Elsewhere => "elsewhere" }
}

impl Outcome {
    /// The outcome of an answer over HTTP that has only its status.
    pub(crate) fn of_status(status: u16) -> Outcome {
        match status {
            ..400 => Outcome::Ok,
            401 => Outcome::Unauthenticated,
            403 => Outcome::NoAccess,
            404 | 405 | 410 => Outcome::NotFound,
            408 | 504 => Outcome::TimedOut,
            413 => Outcome::TooMany,
            429 => Outcome::TooFast,
            503 => Outcome::Busy,
            501 => Outcome::NotOffered,
            500.. => Outcome::Internal,
            400.. => Outcome::Malformed,
        }
    }
}
