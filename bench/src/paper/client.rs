//! A client of the HTTP interface on one keep-alive connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, ensure};

pub(crate) struct HttpClient {
    stream: TcpStream,
    token: String,
    buffer: Vec<u8>,
}

impl HttpClient {
    pub(crate) fn connect(address: SocketAddr, token: &str) -> anyhow::Result<HttpClient> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(HttpClient { stream, token: token.to_owned(), buffer: Vec::new() })
    }

    /// The body of an answer. A status other than 200 ends the bench: a refusal would be fast and
    /// meaningless.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<String> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        self.stream.write_all(request.as_bytes())?;
        self.buffer.clear();
        let end = loop {
            let end = self.buffer.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => self.read_more()?,
            }
        };
        let head = String::from_utf8_lossy(self.buffer.get(..end).unwrap_or_default()).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.context("an answer without a length")?.trim().parse()?;
        while self.buffer.len() < end + length {
            self.read_more()?;
        }
        let body = String::from_utf8_lossy(self.buffer.get(end..).unwrap_or_default()).into_owned();
        ensure!(head.starts_with("http/1.1 200"), "{method} {path}: {head}{body}");
        Ok(body)
    }

    fn read_more(&mut self) -> anyhow::Result<()> {
        let mut part = [0; 16_384];
        let count = self.stream.read(&mut part)?;
        ensure!(count > 0, "the server has closed the connection");
        self.buffer.extend_from_slice(part.get(..count).unwrap_or_default());
        Ok(())
    }
}
