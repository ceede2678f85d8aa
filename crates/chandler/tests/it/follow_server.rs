//! Tests of `chandler import --follow --server` with a stub server: which batches are sent again.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::world::{Ran, World, send};

fn row(minute: u32) -> String {
    format!("700.HK,2026-11-13 09:{minute},10,11,9,10.5,{minute}\n")
}

fn append(world: &World, minute: u32) {
    let mut file = OpenOptions::new().append(true).open(world.path("feed.csv")).unwrap();
    file.write_all(row(minute).as_bytes()).unwrap();
}

struct Stub(TcpListener);

impl Stub {
    fn follow(&self, world: &World) -> Child {
        let url = format!("http://{}", self.0.local_addr().unwrap());
        let mut command = world.command(&["import", "--follow", "feed.csv", "--server", &url]);
        command.env_remove("CHANDLER_STORE").env("CHANDLER_TOKEN", "ap_x").env("HOME", world.path("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Receives a batch. Returns its body and the connection that waits for the response.
    fn receive(&self) -> (Value, TcpStream) {
        let (stream, _) = self.0.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (Vec::new(), 0);
        for line in reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                length = text.parse().unwrap();
            }
            head.push(line);
        }
        assert_eq!(head[0], "POST /v1/ingest/candles HTTP/1.1");
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        (serde_json::from_slice(&body).unwrap(), stream)
    }

    /// Receives a batch and responds to it.
    fn answer(&self, status: &str, body: &Value) -> Value {
        let (batch, mut stream) = self.receive();
        let (text, head) = (body.to_string(), "retry-after: 0\r\nconnection: close");
        let length = text.len();
        write!(stream, "HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{text}").unwrap();
        batch
    }

    fn accept(&self, repeated: bool) -> Value {
        let data = json!({"accepted": 1, "unchanged": 0, "replaced": 0, "refused": [], "repeated": repeated});
        self.answer("200 OK", &json!({"code": 0, "message": "", "data": data}))
    }

    fn refuse(&self, status: &str, message: &str) -> Value {
        self.answer(status, &json!({"code": 1, "message": message, "data": null}))
    }
}

/// Returns the number of a batch, whether it announces a gap, and the volumes of its rows.
fn seen(batch: &Value) -> (i64, bool, Vec<i64>) {
    let rows = batch["rows"].as_array().unwrap();
    let volumes = rows.iter().map(|row| row["volume"].as_i64().unwrap()).collect();
    (batch["seq"].as_i64().unwrap(), batch["gap"].as_bool().unwrap(), volumes)
}

#[test]
fn a_batch_is_sent_until_acknowledged_and_again_after_a_kill() {
    let (world, stub) = (World::new(), Stub(TcpListener::bind("127.0.0.1:0").unwrap()));
    world.write("feed.csv", format!("symbol,time,open,high,low,close,volume\n{}", row(30)));
    let mut child = stub.follow(&world);
    let first = stub.refuse("429 Too Many Requests", "more than 64 batches are waiting: try again");
    let (seq, gap, volumes) = seen(&first);
    assert!(gap && volumes == [30], "{first}");
    let source = first["source"].as_str().unwrap();
    assert!(source.starts_with("follow-feed.csv-"), "{source}");
    let minute = json!({"symbol": "700.HK", "period": "1m", "time": 1_794_533_400, "open": "10.000000",
        "high": "11.000000", "low": "9.000000", "close": "10.500000", "volume": 30, "turnover": "0.000000"});
    assert_eq!(first["rows"], json!([minute]));
    // The response to the batch is lost.
    assert_eq!(stub.receive().0, first);
    assert_eq!(stub.refuse("503 Service Unavailable", "busy"), first);
    assert_eq!(stub.accept(true), first);

    // The server was restored from a backup.
    append(&world, 31);
    assert_eq!(seen(&stub.refuse("409 Conflict", "expected seq 7")), (seq + 1, false, vec![31]));
    assert_eq!(seen(&stub.accept(false)), (seq + 1, true, vec![31]));

    // The command is killed while it waits for the response.
    append(&world, 32);
    let (unanswered, _stream) = stub.receive();
    assert_eq!(seen(&unanswered), (seq + 2, false, vec![32]));
    child.kill().unwrap();
    child.wait().unwrap();
    append(&world, 33);
    let child = stub.follow(&world);
    assert_eq!(stub.accept(true), unanswered);
    assert_eq!(seen(&stub.accept(false)), (seq + 3, false, vec![33]));

    // Another process has used the number, so the rows are sent with another number.
    append(&world, 34);
    assert_eq!(seen(&stub.accept(true)), (seq + 4, false, vec![34]));
    let (other, gap, volumes) = seen(&stub.accept(false));
    assert!(other > seq + 4 && gap && volumes == [34]);

    // A client error ends the command.
    append(&world, 35);
    stub.refuse("403 Forbidden", "the credentials do not include the scope ingest");
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(ran.code == Some(1) && ran.stderr.contains("the scope ingest"), "{}", ran.stderr);
    // The next run sends the batch again.
    let child = stub.follow(&world);
    assert_eq!(seen(&stub.accept(false)).2, [35]);
    send(&child, "TERM");
    let ran = Ran::of(child.wait_with_output().unwrap());
    let last = ran.stderr.lines().last().unwrap_or_default();
    assert_eq!(last, "followed: 1 rows accepted, 0 replaced, 0 unchanged, 0 quarantined");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn options_that_do_not_apply_are_refused() {
    let world = World::new();
    world.write("feed.csv", "symbol,time,open,high,low,close,volume\n");
    let server = ["--server", "http://127.0.0.1:9"];
    let (code, said) = world.fails(&[&["import", "feed.csv"], &server[..]].concat());
    assert!(code == 2 && said.contains("--server needs --follow"), "{said}");
}
