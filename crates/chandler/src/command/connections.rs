//! `chandler connections`: lists or closes long connections to a server, and lists its streams of
//! `GET /v1/live`. An account can list only its own connections; an operator can list those of all
//! accounts.

use std::io::Write;

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::remote::session::Session;
use crate::remote::{self, field};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: remote::Flags,
    /// Another account, or all; only for operators
    #[arg(long, value_name = "NAME|all")]
    account: Option<String>,
    /// Close this connection instead of listing them
    #[arg(long, value_name = "ID", conflicts_with = "account")]
    close: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let session = Session::open(&arguments.remote)?;
    match &arguments.close {
        Some(id) => close(&session, id, arguments.format),
        None => list(&session, arguments.account.as_deref(), arguments.format),
    }
}

fn list(session: &Session, account: Option<&str>, format: Format) -> Result<(), Failure> {
    let mut path = "/v1/connections".to_owned();
    if let Some(name) = account {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("account", name).finish();
        path = format!("{path}?{query}");
    }
    let data = session.get(&path).map_err(|error| session.to_failure(error))?;
    if format == Format::Json {
        return Ok(output::json(&data)?);
    }
    let columns = [
        Column::Right("id"),
        Column::Left("account"),
        Column::Left("door"),
        Column::Left("address"),
        Column::Left("since"),
        Column::Right("subscribed"),
    ];
    let rows = |name: &str| field(&data, name).as_array().map(Vec::as_slice).unwrap_or_default();
    let (connections, streams) = (rows("connections"), rows("streams"));
    let text = |one: &Value, name: &str| field(one, name).as_str().unwrap_or_default().to_owned();
    let row = |one: &Value| {
        let mut row = ["id", "account", "door", "address", "since"].map(|name| text(one, name)).to_vec();
        // A row without a transport is a stream, which is the response to an HTTP request.
        if let Some(door) = row.get_mut(2).filter(|door| door.is_empty()) {
            *door = "http".to_owned();
        }
        let count = field(field(one, "subscriptions"), "count").as_u64();
        row.push(count.map(|count| count.to_string()).unwrap_or_default());
        row
    };
    let mut out = output::stdout();
    let all = || connections.iter().chain(streams);
    if all().next().is_some() {
        writeln!(
            out,
            "{}",
            output::text(output::table(&columns, all().map(row)).optional(&["since", "door", "address"]))
        )?;
    }
    for one in all() {
        let id = text(one, "id");
        let name = if id.starts_with("stream") { id } else { format!("connection {id}") };
        let subscriptions = field(one, "subscriptions");
        let of = |name: &str| field(subscriptions, name).as_array().map(Vec::as_slice).unwrap_or_default();
        for symbol in of("waiting").iter().filter_map(Value::as_str) {
            writeln!(out, "{name}: {symbol} is not stored yet")?;
        }
        for left_out in of("left_out") {
            let (symbol, reason) = (text(left_out, "symbol"), text(left_out, "reason"));
            writeln!(out, "{name}: {symbol} is not subscribed: {reason}")?;
        }
    }
    match field(&data, "limit").as_u64() {
        Some(limit) => writeln!(out, "{} of {limit} connections", field(&data, "online"))?,
        None => writeln!(out, "{} connections", field(&data, "online"))?,
    }
    Ok(out.flush()?)
}

fn close(session: &Session, id: &str, format: Format) -> Result<(), Failure> {
    // IDs from the list need no encoding; the server rejects other IDs.
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let data = session.delete(&format!("/v1/connections/{id}")).map_err(|error| session.to_failure(error))?;
    if format == Format::Json {
        return Ok(output::json(&data)?);
    }
    let mut out = output::stdout();
    writeln!(out, "connection {id} is closed; its client may reconnect")?;
    Ok(out.flush()?)
}
