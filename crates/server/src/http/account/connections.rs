//! Lists and closes an account's long connections. Operators may list and close the connections of
//! every account.

use std::sync::Arc;

use access::{Account, AccountId, Actor, ConnectionId, ListedConnection, Role, SharedConnection, SlotEnding};
use market::{Symbol, Timestamp};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::kit::Site;
use crate::kit::doc::refusals::NOT_FOUND;
use crate::kit::doc::{self, AnswerDoc, Doc, Kind, Parameter, Tag, data, one_of};
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call};
use crate::links::{ConnectionInfo, TransportKind};
use crate::live::{Pending, StreamInfo, Subscribed};
use crate::mailbox::ClosedBy;
use crate::written::Instant;

/// Value of the `account` parameter that selects all accounts.
const ALL: &str = "all";

pub(super) const LIST: Doc =
    Doc::new(Tag::Account, "connections", "List the open long connections of an account")
        .parameters(&[Parameter::query(
            "account",
            Kind::Text,
            "Name of another account, or all; requires the operator role",
        )])
        .answers(&[AnswerDoc::ok("The connections, oldest first", &[data::<Connections>()])])
        .refuses(&[NOT_FOUND]);

pub(super) const CLOSE: Doc = Doc::new(
    Tag::Account,
    "closeConnection",
    "Close a long connection; operators may close those of any account",
)
.parameters(&[Parameter::path("id", "Connection id, from the list of connections")])
.answers(&[AnswerDoc::ok("The connection was closed", &[data::<ClosedConnection>()])])
.refuses(&[NOT_FOUND]);

#[derive(Debug, Serialize, JsonSchema)]
struct Connections {
    connections: Vec<Connection>,
    /// Open streams of `GET /v1/live`, oldest first.
    streams: Vec<Stream>,
    /// Number of open connections.
    online: usize,
    /// Maximum number of connections of the account; null if connections of all accounts are
    /// listed.
    limit: Option<u32>,
    /// Owner of the connections; absent if connections of all accounts are listed.
    #[serde(flatten)]
    whose: Option<Owner>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Owner {
    /// Account number.
    account_id: i64,
    account: String,
    #[schemars(schema_with = "doc::region")]
    region: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Connection {
    id: String,
    account_id: i64,
    /// Account name.
    account: String,
    #[schemars(schema_with = "transports")]
    #[serde(rename = "door")]
    transport: String,
    /// Remote address, with the port if known. Behind an untrusted proxy, the proxy's address.
    address: String,
    /// Time of the sign-in.
    since: Instant,
    /// Quote subscriptions.
    subscriptions: Subscriptions,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QuoteStream")]
struct Stream {
    id: String,
    account_id: i64,
    /// Account name.
    account: String,
    /// Remote address, with the port if known. Behind an untrusted proxy, the proxy's address.
    address: String,
    /// Time at which the stream was opened.
    since: Instant,
    subscriptions: Subscriptions,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QuoteSubscriptions")]
struct Subscriptions {
    /// Number of securities that the connection is subscribed to.
    count: usize,
    /// Securities whose subscription is pending because they are not stored yet.
    waiting: Vec<String>,
    /// Requested symbols that are not subscribed, with the reasons.
    left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct LeftOut {
    symbol: String,
    reason: String,
}

impl From<Subscribed> for Subscriptions {
    fn from(Subscribed { list, waiting, left_out }: Subscribed) -> Subscriptions {
        let left_out = left_out.into_iter();
        Subscriptions {
            count: list.len(),
            waiting: waiting.iter().map(|symbol| symbol.as_str().to_owned()).collect(),
            left_out: left_out
                .map(|of| LeftOut { symbol: of.symbol, reason: of.reason.to_owned() })
                .collect(),
        }
    }
}

impl Subscriptions {
    /// Reads what another node has recorded of a connection. Securities that were recorded as
    /// pending may have been stored since.
    fn recorded(count: u32, pending: &str, site: &Site) -> Result<Subscriptions, Problem> {
        let Pending { mut waiting, left_out } = Pending::read(pending);
        let mut problem = None;
        waiting.retain(|symbol| match symbol.parse::<Symbol>().map(|symbol| site.core.is_stored(&symbol)) {
            Ok(Ok(is_stored)) => !is_stored,
            Ok(Err(refusal)) => {
                problem = Some(refusal);
                true
            }
            Err(_) => false,
        });
        if let Some(refusal) = problem {
            return Err(refusal.into());
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(waiting.len());
        let left_out = left_out.into_iter().map(|(symbol, reason)| LeftOut { symbol, reason });
        Ok(Subscriptions { count, waiting, left_out: left_out.collect() })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct ClosedConnection {
    id: String,
}

fn transports(_: &mut SchemaGenerator) -> Schema {
    one_of(&[TransportKind::WebSocket, TransportKind::Tcp].map(TransportKind::as_str))
}

pub(super) fn list(call: &Call<'_>, site: &Site, me: Admitted) -> Result<Answer, Problem> {
    let whose = whose(call, &me, site)?;
    let (connections, streams) = all(whose.as_ref().map(|account| account.id), site)?;
    Ok(envelope::success(Connections {
        online: connections.len(),
        connections,
        streams,
        limit: whose.as_ref().map(|account| account.terms.connections),
        whose: whose.map(|account| Owner {
            account_id: account.id.0,
            account: account.name.clone(),
            region: account.region.as_str(),
        }),
    }))
}

pub(super) fn close(call: &Call<'_>, site: &Site, me: Admitted) -> Result<Answer, Problem> {
    let id: ConnectionId = call.path_value("id").parse().map_err(|_| Problem::not_found())?;
    let here = site.links.get(id).map(OpenConnection::from);
    let connection = match here {
        Some(connection) => Some(connection),
        None => site.core.access.connection(id).map_err(Problem::from_access)?.map(OpenConnection::from),
    };
    let connection = connection.ok_or_else(Problem::not_found)?;
    let by = if connection.account == me.account().id {
        ClosedBy::Owner
    } else {
        // Only operators may learn whether a connection of another account exists.
        if me.account().role != Role::Operator {
            return Err(Problem::not_found());
        }
        me.as_operator(site)?;
        ClosedBy::Operator
    };
    // The audit entry is written first, so that no connection is closed without a record.
    site.core
        .access
        .note_closed(id, connection.account, &Actor::Account(me.account().id), site.core.machine_now())
        .map_err(Problem::from_access)?;
    // The connection may have closed since it was listed.
    if connection.is_here {
        site.links.close(id, by);
    } else {
        let why = match by {
            ClosedBy::Owner => SlotEnding::ByOwner,
            ClosedBy::Operator => SlotEnding::ByOperator,
        };
        site.core.access.end_connection(id, why).map_err(Problem::from_access)?;
    }
    Ok(envelope::success(ClosedConnection { id: id.to_string() }))
}

/// Returns the account whose connections are requested, or `None` if the connections of all
/// accounts are requested.
fn whose(call: &Call<'_>, me: &Admitted, site: &Site) -> Result<Option<Arc<Account>>, Problem> {
    let Some(name) = call.parameter_of("account") else { return Ok(Some(me.permit.account().clone())) };
    // An account may be named `all`. For operators, `all` always means every account.
    let is_all = name == ALL && me.account().role == Role::Operator;
    if name == me.account().name && !is_all {
        return Ok(Some(me.permit.account().clone()));
    }
    // Only operators may learn whether an account exists.
    me.as_operator(site)?;
    if name == ALL {
        return Ok(None);
    }
    let account = site.core.access.account_named(&name).map_err(Problem::from_access)?;
    account.map(|account| Some(Arc::new(account))).ok_or_else(Problem::not_found)
}

/// An open connection to this server or to another node.
#[derive(Debug)]
struct OpenConnection {
    id: ConnectionId,
    account: AccountId,
    transport: String,
    address: String,
    since: Timestamp,
    is_here: bool,
}

impl From<ConnectionInfo> for OpenConnection {
    fn from(ConnectionInfo { id, account, transport, address, since }: ConnectionInfo) -> OpenConnection {
        let (transport, address) = (transport.as_str().to_owned(), crate::proxies::shown(address));
        OpenConnection { id, account, transport, address, since, is_here: true }
    }
}

impl From<SharedConnection> for OpenConnection {
    fn from(
        SharedConnection { id, account, transport, address, since, is_here }: SharedConnection,
    ) -> OpenConnection {
        let shown = address.parse().map(crate::proxies::shown);
        OpenConnection { id, account, transport, address: shown.unwrap_or(address), since, is_here }
    }
}

/// Returns the connections and streams of an account, or of all accounts if `of` is `None`, on every
/// node.
fn all(of: Option<AccountId>, site: &Site) -> Result<(Vec<Connection>, Vec<Stream>), Problem> {
    let Some(all) = site.core.access.connections(of).map_err(Problem::from_access)? else {
        let connections = site.links.list(of).into_iter().map(OpenConnection::from);
        let connections = connections.map(|one| {
            let subscribed = site.core.subscribed(one.account, one.id);
            described(one, subscribed.into(), site)
        });
        let streams = site.core.list_streams(of).into_iter();
        let streams = streams.map(|(info, subscribed)| stream(&info, subscribed, site));
        return Ok((connections.collect::<Result<_, _>>()?, streams.collect::<Result<_, _>>()?));
    };
    let (mut connections, mut streams) = (Vec::with_capacity(all.len()), Vec::new());
    for ListedConnection { connection, is_stream, subscriptions, pending } in all {
        let one = OpenConnection::from(connection);
        let subscriptions = match one.is_here && !is_stream {
            true => site.core.subscribed(one.account, one.id).into(),
            false => Subscriptions::recorded(subscriptions, &pending, site)?,
        };
        match is_stream {
            true => streams.push(Stream {
                id: format!("stream-{}", one.id),
                account_id: one.account.0,
                account: name(one.account, site)?,
                address: one.address,
                since: Instant::utc(one.since),
                subscriptions,
            }),
            false => connections.push(described(one, subscriptions, site)?),
        }
    }
    Ok((connections, streams))
}

/// Describes a stream of a server that shares its database with no other one.
fn stream(info: &StreamInfo, subscribed: Subscribed, site: &Site) -> Result<Stream, Problem> {
    Ok(Stream {
        id: format!("stream-{}", info.number),
        account_id: info.account.0,
        account: name(info.account, site)?,
        address: crate::proxies::shown(info.address),
        since: Instant::utc(info.since),
        subscriptions: subscribed.into(),
    })
}

fn name(account: AccountId, site: &Site) -> Result<String, Problem> {
    let account = site.core.access.account(account).map_err(Problem::from_access)?;
    Ok(account.map(|account| account.name.clone()).unwrap_or_default())
}

fn described(one: OpenConnection, subscriptions: Subscriptions, site: &Site) -> Result<Connection, Problem> {
    Ok(Connection {
        id: one.id.to_string(),
        account_id: one.account.0,
        account: name(one.account, site)?,
        transport: one.transport,
        address: one.address,
        since: Instant::utc(one.since),
        subscriptions,
    })
}
