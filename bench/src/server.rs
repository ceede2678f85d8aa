//! The measured servers, each a separate process on loopback, and accounts to query them with.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use prost::Message;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wire::{Packet, control};

use crate::load::{self, Socket};

/// The bench's clock is fixed on a Sunday.
pub(crate) const CLOCK: &str = "2026-11-15T02:00:00Z";
/// Connections that one account of the bench may have.
pub(crate) const PER_ACCOUNT: usize = 1_000;

/// How a server is started.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub(crate) executable: &'a str,
    /// A folder, or as `--store` takes it.
    pub(crate) store: &'a str,
    /// Where its configuration is written.
    pub(crate) folder: &'a Path,
    pub(crate) cache_mb: usize,
    pub(crate) arguments: &'a [String],
    /// The market clock; `None` for the machine's.
    pub(crate) clock: Option<&'a str>,
}

/// A server process; dropping it ends it.
pub(crate) struct Server {
    child: Child,
    http: SocketAddr,
    /// The token to sign in with, if the server needs one.
    token: Option<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Server {
    /// A server on a folder.
    pub(crate) fn start(
        executable: &str,
        store: &str,
        cache_mb: usize,
        token: &str,
    ) -> anyhow::Result<Server> {
        Server::launch(
            &Launch {
                executable,
                store,
                folder: Path::new(store),
                cache_mb,
                arguments: &[],
                clock: Some(CLOCK),
            },
            token,
        )
    }

    pub(crate) fn launch(launch: &Launch<'_>, token: &str) -> anyhow::Result<Server> {
        let config = launch.folder.join(format!("bench-{}.toml", launch.cache_mb));
        std::fs::write(&config, format!("[server]\ncache_mb = {}\n", launch.cache_mb))?;
        let mut command = Command::new(launch.executable);
        command.args(["--store", &place(launch.store)]);
        if let Some(clock) = launch.clock {
            command.args(["--clock", clock]);
        }
        command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--config"])
            .arg(&config)
            .args(launch.arguments);
        let mut server = Server::spawn(&mut command)?;
        server.token = Some(token.to_owned());
        Ok(server)
    }

    /// The floor, as a process like the others, with `answers` answers of `answer_bytes` bytes.
    pub(crate) fn floor(answer_bytes: usize, answers: usize) -> anyhow::Result<Server> {
        let arguments = ["floor", &answer_bytes.to_string(), &answers.to_string()];
        Server::spawn(Command::new(std::env::current_exe()?).args(arguments))
    }

    fn spawn(command: &mut Command) -> anyhow::Result<Server> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("no output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let ready: Value = serde_json::from_str(&line).with_context(|| format!("not ready: {line:?}"))?;
        let http = ready.get("http").and_then(Value::as_str).context("no address")?.parse()?;
        Ok(Server { child, http, token: None })
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.http
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> anyhow::Result<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: usize = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024)
    }

    /// Processor time so far in microseconds, all threads, user and system.
    pub(crate) fn processor_us(&self) -> anyhow::Result<f64> {
        processor_us(self.child.id())
    }

    /// A signed-in connection.
    pub(crate) async fn connect(&self) -> anyhow::Result<Socket> {
        match &self.token {
            Some(token) => self.signed_in(token).await,
            None => Socket::open(self.http).await,
        }
    }

    pub(crate) async fn signed_in(&self, token: &str) -> anyhow::Result<Socket> {
        let otp = one_time_password(self.http, token).await?;
        let mut socket = Socket::open(self.http).await?;
        let metadata = [("accept-language", "en"), ("need_over_night_quote", "true")];
        let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let auth = control::AuthRequest { token: otp, metadata };
        let answer = socket.ask(&load::frame(&request(2, &auth)?)).await?;
        ensure!(answer.get(6) == Some(&0), "sign-in: {}", String::from_utf8_lossy(answer));
        socket.rest();
        Ok(socket)
    }
}

/// As `--store` takes it: a plain folder is one of SQLite.
fn place(store: &str) -> String {
    if store.contains(':') { store.to_owned() } else { format!("sqlite:{store}") }
}

/// Processor time of a process so far in microseconds, all threads, user and system.
pub(crate) fn processor_us(process: u32) -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program is in brackets and may contain anything.
    let fields = stat.rsplit_once(')').context("no name")?.1.split_whitespace();
    let ticks = fields.skip(11).take(2).map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    // A tick is a hundredth of a second on Linux on x86 and ARM.
    Ok(ticks * 10_000.0)
}

pub(crate) fn account_name(number: usize) -> String {
    format!("bench-{}-{number}", std::process::id())
}

/// Creates an account, and returns its token. A store that was measured before already has it under
/// another number.
pub(crate) fn account(chandler: &str, store: &str, number: usize) -> anyhow::Result<String> {
    create(chandler, store, &account_name(number), "user")
}

/// Creates an operator, and returns its token.
pub(crate) fn operator(chandler: &str, store: &str) -> anyhow::Result<String> {
    create(chandler, store, &format!("operator-{}", std::process::id()), "operator")
}

fn create(chandler: &str, store: &str, name: &str, role: &str) -> anyhow::Result<String> {
    let output = Command::new(chandler)
        .args(["--store", &place(store), "account", "create", name, "--role", role])
        .args(["--rate", "unlimited", "--quota", "100000", "--format", "json"])
        .args(["--connections", &PER_ACCOUNT.to_string()])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let created: Value = serde_json::from_slice(&output.stdout)?;
    Ok(created.get("access_token").and_then(Value::as_str).context("no token")?.to_owned())
}

async fn one_time_password(http: SocketAddr, token: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(http).await?;
    let request = format!(
        "GET /v1/socket/token HTTP/1.1\r\nhost: bench\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let body = answer.split_once("\r\n\r\n").context("no body")?.1;
    let answer: Value = serde_json::from_str(body).with_context(|| answer.clone())?;
    let otp = answer.pointer("/data/otp").and_then(Value::as_str);
    Ok(otp.with_context(|| answer.to_string())?.to_owned())
}

/// A request packet.
pub(crate) fn request(command: u8, body: &impl Message) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let body = body.encode_to_vec().into();
    Packet::Request { command, id: 1, timeout_ms: 30_000, body }.encode(&mut bytes)?;
    Ok(bytes)
}
