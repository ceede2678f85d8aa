//! A WebSocket client that sends each request as soon as the last is answered, and its statistics.
//! It shares the processors with the server, so it does as little as possible: a write for each
//! request, and as few reads as possible for the answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A frame's mask. Its value does not matter; the server has to unmask anyway.
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
/// Buffer size for answers; an idle connection of the bench has no buffer before its first request.
const ROOM: usize = 256 << 10;

/// One connection: a stream after the upgrade.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Received bytes in the buffer.
    have: usize,
    /// Bytes at its start that were already returned.
    used: usize,
}

/// The head of a server's frame: its opcode, and where its payload begins and ends.
#[derive(Clone, Copy, Debug)]
struct Head {
    first: u8,
    start: usize,
    end: usize,
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
        Ok(Socket { stream, buffer: Vec::new(), have: 0, used: 0 })
    }

    /// Sends one message and reads one; pings are skipped.
    pub(crate) async fn ask(&mut self, frame: &[u8]) -> anyhow::Result<&[u8]> {
        self.stream.write_all(frame).await?;
        loop {
            let Head { first, start, end } = self.frame().await?;
            self.used = end;
            match first {
                0x82 => return Ok(self.buffer.get(start..end).unwrap_or_default()),
                0x89 => {}
                other => bail!("a frame that begins with {other:#04x}"),
            }
        }
    }

    /// The stream. Nothing may have come after the last answer.
    pub(crate) fn into_stream(self) -> anyhow::Result<TcpStream> {
        ensure!(self.used == self.have, "{} bytes are unread", self.have - self.used);
        Ok(self.stream)
    }

    /// Releases the buffer: those of thousands of idle connections would fill the memory.
    pub(crate) fn rest(&mut self) {
        self.buffer.truncate(self.have);
        self.buffer.drain(..self.used);
        self.buffer.shrink_to_fit();
        (self.have, self.used) = (self.buffer.len(), 0);
    }

    /// Waits for a complete frame, which is then at the start of the buffer.
    async fn frame(&mut self) -> anyhow::Result<Head> {
        self.buffer.copy_within(self.used..self.have, 0);
        self.have -= self.used;
        self.used = 0;
        loop {
            let head = self.head()?;
            if let Some(head) = head
                && head.end <= self.have
            {
                return Ok(head);
            }
            let room = head.map_or(ROOM, |head| head.end.max(ROOM));
            if self.buffer.len() < room {
                self.buffer.resize(room, 0);
            }
            let read = self.stream.read(self.buffer.get_mut(self.have..).unwrap_or_default()).await?;
            ensure!(read > 0, "the server has closed the connection");
            self.have += read;
        }
    }

    /// The head of the first frame in the buffer, once it is complete.
    fn head(&self) -> anyhow::Result<Option<Head>> {
        let come = self.buffer.get(..self.have).unwrap_or_default();
        Ok(match *come {
            [first, 126, a, b, ..] => Some(Head::new(first, 4, u64::from(u16::from_be_bytes([a, b])))?),
            [first, 127, a, b, c, d, e, f, g, h, ..] => {
                Some(Head::new(first, 10, u64::from_be_bytes([a, b, c, d, e, f, g, h]))?)
            }
            [first, length, ..] if length < 126 => Some(Head::new(first, 2, length.into())?),
            _ => None,
        })
    }
}

impl Head {
    fn new(first: u8, start: usize, length: u64) -> anyhow::Result<Head> {
        let length = usize::try_from(length)?;
        ensure!(length <= 16 << 20, "a frame of {length} bytes");
        Ok(Head { first, start, end: start + length })
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

/// The result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub(crate) answers: usize,
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) bytes: usize,
}

/// Queries on all sockets concurrently for a while, each cycling through the frames from a
/// different start.
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
            let (mut times, mut bytes) = (Vec::with_capacity(4096), 0);
            let mut turn = number * 7919;
            let mut since = Instant::now();
            while since.duration_since(began) < length {
                let frame = frames.get(turn % frames.len()).context("no question")?;
                turn += 1;
                let answer = socket.ask(frame).await?;
                // Status of the response packet: a refusal would make the run fast and meaningless.
                ensure!(answer.get(6) == Some(&0), "refused: {}", String::from_utf8_lossy(answer));
                bytes += answer.len();
                let answered = Instant::now();
                times.push(answered - since);
                since = answered;
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
    let percentile =
        |percent: usize| times.get(times.len() * percent / 100).map_or(0.0, |time| time.as_secs_f64() * 1e6);
    Ok(Run {
        answers: times.len(),
        per_second: times.len() as f64 / seconds,
        p50_us: percentile(50),
        p99_us: percentile(99),
        bytes: bytes / times.len().max(1),
    })
}
