//! A Redis server on loopback, and the same pushes through its pub/sub.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use prost::Message;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use wire::quote::PushQuote;

use super::market;
use crate::server::processor_us;

/// The server; dropping it ends it.
pub(super) struct Redis {
    child: Child,
    address: SocketAddr,
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Redis {
    /// `None` if Redis is not installed.
    pub(super) fn start() -> anyhow::Result<Option<Redis>> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let port = address.port().to_string();
        let child = Command::new("redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--maxclients", "20000", "--client-output-buffer-limit", "pubsub 0 0 0"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else { return Ok(None) };
        let redis = Redis { child, address };
        let began = Instant::now();
        while std::net::TcpStream::connect(address).is_err() {
            ensure!(began.elapsed() < Duration::from_secs(10), "Redis does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Some(redis))
    }

    pub(super) fn processor_us(&self) -> anyhow::Result<f64> {
        processor_us(self.child.id())
    }

    /// A connection that subscribes to these channels. The answers are unread.
    pub(super) async fn subscriber(&self, channels: &[String]) -> anyhow::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let mut command = format!("*{}\r\n$9\r\nSUBSCRIBE\r\n", channels.len() + 1);
        for channel in channels {
            write!(command, "${}\r\n{channel}\r\n", channel.len())?;
        }
        stream.write_all(command.as_bytes()).await?;
        Ok(stream)
    }

    pub(super) fn publisher(&self, example: PushQuote) -> anyhow::Result<Publisher> {
        let stream = std::net::TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        Ok(Publisher { stream, example })
    }
}

/// A connection that publishes.
pub(super) struct Publisher {
    stream: std::net::TcpStream,
    /// A push of the server, whose bytes are published with another symbol and price.
    example: PushQuote,
}

impl Publisher {
    /// Publishes a push for each of the securities in one write, and reads the answers.
    pub(super) fn publish(&mut self, batch: usize, symbols: &[usize]) -> anyhow::Result<()> {
        let mut commands = Vec::new();
        for number in symbols {
            let symbol = market::symbol(*number);
            let push =
                PushQuote { symbol: symbol.clone(), last_done: market::price(batch), ..self.example.clone() };
            let body = push.encode_to_vec();
            write!(commands, "*3\r\n$7\r\nPUBLISH\r\n${}\r\n{symbol}\r\n${}\r\n", symbol.len(), body.len())?;
            commands.extend_from_slice(&body);
            commands.extend_from_slice(b"\r\n");
        }
        // Redis answers while it reads, and the answers of a batch fit the socket's buffer.
        self.stream.write_all(&commands)?;
        let (mut answers, mut buffer) = (0, [0; 8192]);
        while answers < symbols.len() {
            let read = self.stream.read(&mut buffer)?;
            ensure!(read > 0, "Redis has closed the connection");
            let read = buffer.get(..read).context("a buffer")?;
            answers += read.iter().filter(|byte| **byte == b'\n').count();
        }
        Ok(())
    }
}
