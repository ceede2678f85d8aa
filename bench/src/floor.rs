//! The floor: a server that answers every message with a prebuilt one. It parses no more of a
//! request than its length, and writes its answer in one piece: no server that decides, looks up or
//! assembles can be faster, so everything is compared with it.
//!
//! With one answer, those bytes never leave the processor's cache. With several it sends them in
//! turn, as a server for different candles must: the difference is memory, not code.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wire::{Opcode, Packet, append_frame};

/// Two bytes and the mask: requests are short enough to need no longer length.
const HEAD: usize = 6;
const LENGTH_MAX: u8 = 125;
/// The distance between the starting points of two connections in the list of answers.
const APART: usize = 7919;

/// Serves forever on a free port, and prints it as the real server does.
pub(crate) fn run(answer_bytes: &str, answers: &str) -> anyhow::Result<()> {
    let (answer_bytes, answers) = (answer_bytes.parse()?, answers.parse()?);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(serve(answer_bytes, answers))
}

async fn serve(answer_bytes: usize, answers: usize) -> anyhow::Result<()> {
    let mut answer = Vec::new();
    let head = wire::response_header(27, 1, wire::Status::Success, wire::Packing::Plain, 0)?.len();
    let body = vec![7; answer_bytes.saturating_sub(head)].into();
    Packet::Response { command: 27, id: 1, status: wire::Status::Success, body }.encode(&mut answer)?;
    let mut framed = Vec::new();
    append_frame(Opcode::Binary, &answer, &mut framed);
    let framed: Arc<[Vec<u8>]> = vec![framed; answers].into();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "{{\"http\":\"{}\"}}", listener.local_addr()?)?;
    out.flush()?;
    for number in 0_usize.. {
        let (stream, _) = listener.accept().await?;
        let framed = framed.clone();
        let turn = number.wrapping_mul(APART);
        // A client that disconnects ends its connection; there is no error to report.
        tokio::spawn(async move { answer_all(stream, &framed, turn).await.ok() });
    }
    Ok(())
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

async fn answer_all(mut stream: TcpStream, framed: &[Vec<u8>], mut turn: usize) -> anyhow::Result<()> {
    upgrade(&mut stream).await?;
    let mut buffer = vec![0; 4096];
    let mut have = 0;
    loop {
        let read = stream.read(buffer.get_mut(have..).unwrap_or_default()).await?;
        if read == 0 {
            return Ok(());
        }
        have += read;
        let mut at = 0;
        while let Some(length) = buffer.get(at + 1).filter(|_| at + HEAD <= have) {
            let length = length & 0x7f;
            ensure!(length <= LENGTH_MAX, "a request of more than {LENGTH_MAX} bytes");
            let end = at + HEAD + usize::from(length);
            if end > have {
                break;
            }
            at = end;
            let answer = framed.get(turn % framed.len()).context("no answer")?;
            turn = turn.wrapping_add(1);
            stream.write_all(answer).await?;
        }
        buffer.copy_within(at..have, 0);
        have -= at;
    }
}
