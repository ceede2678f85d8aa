//! The floor: servers that answer every message with the same prebuilt one. Nothing that decides, reads or encodes can be
//! quicker, so everything is compared with them.

use std::io::Write;
use std::sync::Arc;

use anyhow::Context;
use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wire::{FrameDecoder, Message, Opcode, Packet, append_frame};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The framing that the server has.
    Own,
    Fastwebsockets,
}

/// The size of the prebuilt answer: about that of a thousand candles.
const ANSWER_BYTES: usize = 60_000;

/// Serves for ever on a port of the system's choice, and says which as the real server does.
pub(crate) fn run(kind: Kind) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(serve(kind))
}

async fn serve(kind: Kind) -> anyhow::Result<()> {
    let body = vec![7; ANSWER_BYTES].into();
    let mut answer = Vec::new();
    Packet::Response { command: 27, id: 1, status: wire::Status::Success, body }.encode(&mut answer)?;
    let answer = Arc::new(answer);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "{{\"http\":\"{}\"}}", listener.local_addr()?)?;
    out.flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        let answer = answer.clone();
        tokio::spawn(async move {
            // A client that leaves ends its connection; there is nobody to tell.
            match kind {
                Kind::Own => own(stream, &answer).await.ok(),
                Kind::Fastwebsockets => fast(stream, &answer).await.ok(),
            };
        });
    }
}

async fn upgrade(stream: &mut TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?.to_ascii_lowercase();
    let key = head.lines().find_map(|line| line.strip_prefix("sec-websocket-key: ")).context("no key")?;
    let accept = wire::accept_key(key);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    );
    Ok(stream.write_all(answer.as_bytes()).await?)
}

async fn own(mut stream: TcpStream, answer: &[u8]) -> anyhow::Result<()> {
    upgrade(&mut stream).await?;
    let mut framed = Vec::new();
    append_frame(Opcode::Binary, answer, &mut framed);
    let mut decoder = FrameDecoder::new(65_536);
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let mut input = buffer.get(..read).unwrap_or_default();
        while let Some(message) = decoder.decode(&mut input)? {
            if let Message::Binary(_) = message {
                stream.write_all(&framed).await?;
            }
        }
    }
}

async fn fast(mut stream: TcpStream, answer: &[u8]) -> anyhow::Result<()> {
    upgrade(&mut stream).await?;
    let mut socket = WebSocket::after_handshake(stream, Role::Server);
    socket.set_writev(true);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Binary => socket.write_frame(Frame::binary(Payload::Borrowed(answer))).await?,
            OpCode::Close => return Ok(()),
            _ => {}
        }
    }
}
