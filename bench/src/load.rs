//! A client that asks over WebSockets as fast as it is answered, and what its times come to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A frame's mask. Any will do; the server has to undo it all the same.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// One connection: a stream on which the upgrade has been answered.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Socket {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Socket> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let request = "GET /v2?version=1&codec=1&platform=9 HTTP/1.1\r\nhost: bench\r\nconnection: Upgrade\r\n\
                       upgrade: websocket\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        ensure!(head.starts_with(b"HTTP/1.1 101"), "no upgrade: {}", String::from_utf8_lossy(&head));
        Ok(Socket { stream, buffer: Vec::new() })
    }

    /// Sends one message and reads one; pings on the way are passed over. The answer is in the buffer afterwards.
    pub(crate) async fn ask(&mut self, frame: &[u8]) -> anyhow::Result<&[u8]> {
        self.stream.write_all(frame).await?;
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head).await?;
            let [first, length] = head;
            let length = match length {
                126 => u64::from(self.stream.read_u16().await?),
                127 => self.stream.read_u64().await?,
                length => u64::from(length),
            };
            self.buffer.resize(usize::try_from(length)?, 0);
            self.stream.read_exact(&mut self.buffer).await?;
            match first {
                0x82 => return Ok(&self.buffer),
                0x89 => {}
                other => anyhow::bail!("a frame that begins with {other:#04x}"),
            }
        }
    }
}

/// A client's frame around a packet.
pub(crate) fn frame(packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x82];
    match u8::try_from(packet.len()) {
        Ok(length) if length < 126 => frame.push(0x80 | length),
        _ => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    frame.extend(packet.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// What a run of questions came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) bytes: usize,
}

/// Asks on all sockets at once for a while, each the frames in turn from a place of its own.
pub(crate) async fn run(
    sockets: &mut Vec<Socket>,
    frames: &Arc<Vec<Vec<u8>>>,
    length: Duration,
) -> anyhow::Result<Run> {
    let began = Instant::now();
    let mut tasks = Vec::new();
    for (number, mut socket) in sockets.drain(..).enumerate() {
        let frames = frames.clone();
        tasks.push(tokio::spawn(async move {
            let (mut times, mut bytes) = (Vec::new(), 0);
            let mut turn = number * 7919;
            while began.elapsed() < length {
                let frame = frames.get(turn % frames.len()).context("no question")?;
                turn += 1;
                let asked = Instant::now();
                let answer = socket.ask(frame).await?;
                // Status of the response packet: a refusal would make a quick and meaningless run.
                ensure!(answer.get(6) == Some(&0), "refused: {}", String::from_utf8_lossy(answer));
                bytes += answer.len();
                times.push(asked.elapsed());
            }
            anyhow::Ok((socket, times, bytes))
        }));
    }
    let (mut times, mut bytes) = (Vec::new(), 0);
    for task in tasks {
        let (socket, of_one, bytes_of_one) = task.await??;
        sockets.push(socket);
        times.extend(of_one);
        bytes += bytes_of_one;
    }
    let seconds = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    Ok(Run { per_second: times.len() as f64 / seconds, p50_us: middle, bytes: bytes / times.len().max(1) })
}
