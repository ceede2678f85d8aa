//! Metric labels. All labels are closed sets, because a label for accounts or symbols would be
//! unbounded and would reveal user activity.

/// Defines an enum whose variants have a text each and are numbered from 0.
macro_rules! label {
    ($(#[$about:meta])* $name:ident { $($variant:ident => $text:expr),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),+ }

        impl $name {
            pub(crate) const ALL: &'static [$name] = &[$($name::$variant),+];
            pub(crate) const COUNT: usize = $name::ALL.len();

            pub(crate) fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            pub(crate) fn index(self) -> usize {
                self as usize
            }
        }
    };
}

// Texts shared by several labels.
const WEBSOCKET: &str = "websocket";
const TCP: &str = "tcp";
const HTTP: &str = "http";

label! {
    /// The transport of a request.
    TransportLabel { WebSocket => WEBSOCKET, Tcp => TCP, Http => HTTP }
}

label! {
    /// The transport on which credentials are presented. On a page, the credentials are a password.
    Entry { WebSocket => WEBSOCKET, Tcp => TCP, Http => HTTP, Page => "page" }
}

/// Like `label!`, with an additional variant for quote gateway commands, whose labels are in the
/// command table (`dispatch/mod.rs`).
macro_rules! label_with_commands {
    ($(#[$about:meta])* $name:ident { $($variant:ident => $text:expr),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { Command(CommandLabel), $($variant),+ }

        impl $name {
            pub(crate) const WITHOUT_COMMANDS: &'static [$name] = &[$($name::$variant),+];
            pub(crate) const COUNT: usize = COMMANDS_MAX + $name::WITHOUT_COMMANDS.len();

            pub(crate) fn as_str(self) -> &'static str {
                match self { $name::Command(command) => command.text, $($name::$variant => $text),+ }
            }

            pub(crate) fn index(self) -> usize {
                enum Index { $($variant),+ }
                match self {
                    $name::Command(command) => command.row,
                    $($name::$variant => COMMANDS_MAX + Index::$variant as usize),+
                }
            }
        }
    };
}

/// Maximum number of commands that can be counted. A fixed number with spare room, because the
/// command table depends on this module.
pub(crate) const COMMANDS_MAX: usize = 12;

/// A command's index in the command table, and its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandLabel {
    row: usize,
    text: &'static str,
}

impl CommandLabel {
    /// Creates a label. `row` must be below [`COMMANDS_MAX`].
    pub(crate) const fn new(row: usize, text: &'static str) -> CommandLabel {
        CommandLabel { row, text }
    }
}

label_with_commands! {
    /// The requested operation: a quote gateway command on any transport, an operation specific to
    /// long connections, or an operation specific to HTTP.
    Task {
        Heartbeat => "heartbeat",
        SignIn => "sign_in",
        Resume => "resume",
        Subscriptions => "subscriptions",
        Trade => "trade_topics",
        Orders => "orders",
        Community => "community",
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
    /// Outcome of a request: answered, or refused for one of these reasons.
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
        Away => "away",
        Internal => "internal",
    }
}

label! {
    /// The kind of program that sent an HTTP request, by its `User-Agent`.
    Agent { Cli => "cli", Sdk => "sdk", Browser => "browser", Other => "other" }
}

label! {
    /// The command run by a command-line client, by the first word of its `x-cli-cmd`. Covers only
    /// our own commands that use a server.
    CliCommand {
        Account => "account",
        Assets => "assets",
        Audit => "audit",
        Auth => "auth",
        Cashflow => "cashflow",
        Clock => "clock",
        Connections => "connections",
        Doctor => "doctor",
        Executions => "executions",
        Grid => "grid",
        Imports => "imports",
        Kline => "kline",
        Login => "login",
        Logout => "logout",
        Order => "order",
        Positions => "positions",
        Quarantine => "quarantine",
        Quota => "quota",
        Statement => "statement",
        Watchlist => "watchlist",
        Other => "other",
    }
}

label! {
    /// The current kind of a connection.
    Connection {
        Http => HTTP,
        WebSocket => WEBSOCKET,
        Tcp => TCP,
        Internal => "internal",
        Handshake => "handshake",
    }
}

label! {
    /// Whether credentials were accepted.
    Authenticated { Accepted => "accepted", Refused => "refused" }
}

label! {
    /// The grant type of an OAuth token request.
    Grant { Code => "authorization_code", Device => "device_code", Refresh => "refresh_token" }
}

label! {
    /// Result of an OAuth token request. A pending device authorization is not counted as a
    /// refusal.
    Granted { Issued => "issued", Pending => "pending", Refused => "refused" }
}

label! {
    Handshake { Ok => "ok", Failed => "failed", Late => "late", Plain => "plain_http" }
}

label! {
    Reload { Ok => "ok", Failed => "failed" }
}

label! {
    /// A background job (`jobs/`).
    JobName {
        StoreChanges => "store_changes",
        ExpiredGrants => "expired_grants",
        AuditRetention => "audit_retention",
        Certificate => "certificate",
        PaperAccounts => "paper_accounts",
        PaperListeners => "paper_listeners",
        PaperLevels => "paper_levels",
        Statements => "statements",
        Uploads => "uploads",
        Pushes => "pushes",
        Alerts => "alerts",
        Ingest => "ingest",
        Nodes => "nodes",
        SharedState => "shared_state",
        Worlds => "worlds",
        WorldLogs => "world_logs",
        EndedWorlds => "ended_worlds",
    }
}

label! {
    /// Outcome of a job run: `elsewhere` if another server of the store runs the job.
    JobOutcome { Ok => "ok", Failed => "failed", Elsewhere => "elsewhere" }
}

impl Outcome {
    /// Returns the outcome of an HTTP response that has only a status.
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
