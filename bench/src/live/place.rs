//! A store with securities, a server on it, and accounts that sign in.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use wire::quote::{SubscribeRequest, SubscriptionsResponse};

use super::market;
use crate::load;
use crate::paper::client::HttpClient;
use crate::server::{self, Launch, Server, request};

/// Connections of one account.
pub(super) const PER_ACCOUNT: usize = 10;
/// Connections that are opened at one time.
const TOGETHER: usize = 16;
/// The quotes of a security, without its trades: one push for each update.
const QUOTES: i32 = 1;
const SUBSCRIBE: u8 = 6;
/// Where the status of an answer is, and where its body begins.
const STATUS: usize = 6;
const BODY: usize = 10;

/// A server on a new store, and an operator.
pub(super) struct Place {
    chandler: String,
    folder: PathBuf,
    store: String,
    operator: String,
    created: usize,
}

impl Place {
    /// A store that holds the rows of a CSV file; in a folder, unless a URL is given.
    pub(super) fn new(
        chandler: &str,
        work: &Path,
        name: &str,
        url: Option<&str>,
        rows: &str,
    ) -> anyhow::Result<Place> {
        let folder = work.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let store = match url {
            Some(url) => url.to_owned(),
            None => format!("sqlite:{}", folder.to_str().context("a path that is no text")?),
        };
        let path = folder.join("minutes.csv");
        std::fs::write(&path, rows)?;
        let output = Command::new(chandler)
            .args(["--store", &store, "import", "--period", "1m"])
            .arg(&path)
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let operator = server::operator(chandler, &store)?;
        Ok(Place { chandler: chandler.to_owned(), folder, store, operator, created: 0 })
    }

    pub(super) fn store(&self) -> &Path {
        &self.folder
    }

    pub(super) fn operator(&self) -> &str {
        &self.operator
    }

    /// Starts a server; with the machine's clock, unless an instant is given.
    pub(super) fn start(&self, clock: Option<&str>) -> anyhow::Result<Server> {
        self.launch(clock, &[])
    }

    /// Starts one of several nodes on a database.
    pub(super) fn start_node(&self, number: usize) -> anyhow::Result<Server> {
        let copy = self.folder.join(format!("copy-{number}"));
        let copy = copy.to_str().context("a path that is no text")?;
        self.launch(None, &["--cache".to_owned(), copy.to_owned()])
    }

    fn launch(&self, clock: Option<&str>, arguments: &[String]) -> anyhow::Result<Server> {
        let launch = Launch {
            executable: &self.chandler,
            store: &self.store,
            folder: &self.folder,
            cache_mb: 256,
            arguments,
            clock,
        };
        Server::launch(&launch, &self.operator)
    }

    /// Signs in as many connections, each of which subscribes to the symbols that `symbols` names.
    pub(super) async fn subscribers(
        &mut self,
        server: &Server,
        count: usize,
        symbols: impl Fn(usize) -> Vec<String>,
    ) -> anyhow::Result<Vec<tokio::net::TcpStream>> {
        let accounts = count.div_ceil(PER_ACCOUNT);
        let tokens = self.accounts(server, accounts)?;
        let mut streams = Vec::with_capacity(count);
        let all: Vec<usize> = (0..count).collect();
        for some in all.chunks(TOGETHER) {
            let opened = some.iter().map(|place| {
                let token = tokens.get(place % accounts).cloned().unwrap_or_default();
                subscriber(server, token, symbols(*place))
            });
            for stream in together(opened).await {
                streams.push(stream?);
            }
        }
        Ok(streams)
    }

    fn accounts(&mut self, server: &Server, count: usize) -> anyhow::Result<Vec<String>> {
        let mut client = HttpClient::connect(server.http(), &self.operator)?;
        let first = self.created;
        self.created += count;
        let create = |number: usize| {
            let body = json!({
                "name": format!("live-{number}"),
                "packages": ["HK", "US", "US_OVERNIGHT", "CN"],
                "terms": {"rate": "unlimited", "connections": 1_000, "subscriptions": 100_000},
            });
            let created: Value =
                serde_json::from_str(&client.ask("POST", "/v1/admin/accounts", &body.to_string())?)?;
            let token = created.pointer("/data/access_token").and_then(Value::as_str);
            Ok(token.with_context(|| created.to_string())?.to_owned())
        };
        (first..first + count).map(create).collect()
    }
}

async fn subscriber(
    server: &Server,
    token: String,
    symbols: Vec<String>,
) -> anyhow::Result<tokio::net::TcpStream> {
    let mut socket = server.signed_in(&token).await?;
    let wanted = symbols.len();
    let message = SubscribeRequest { symbol: symbols, sub_type: vec![QUOTES], is_first_push: false };
    let answer = socket.ask(&load::frame(&request(SUBSCRIBE, &message)?)).await?;
    ensure!(answer.get(STATUS) == Some(&0), "refused: {}", String::from_utf8_lossy(answer));
    let answer: SubscriptionsResponse = prost::Message::decode(answer.get(BODY..).unwrap_or_default())?;
    ensure!(answer.sub_list.len() == wanted, "{} of {wanted} subscribed", answer.sub_list.len());
    socket.into_stream()
}

/// Runs futures concurrently, on this task.
async fn together<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        let mut is_ready = true;
        for (future, done) in &mut running {
            if done.is_none() {
                match future.as_mut().poll(cx) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => is_ready = false,
                }
            }
        }
        if is_ready { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}

/// Ten different symbols for each connection, the same in every run.
pub(super) fn ten_of(securities: usize, connection: usize) -> Vec<String> {
    let mut random = crate::sample::Random::new(connection as u64 + 1);
    let mut numbers = std::collections::BTreeSet::new();
    while numbers.len() < securities.min(10) {
        numbers.insert(random.below(securities));
    }
    numbers.into_iter().map(market::symbol).collect()
}
