//! Tests of `chandler import --follow` with a growing file and with standard input.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use crate::remote::Server;
use crate::world::{Ran, World, send};

const HEADER: &str = "symbol,time,open,high,low,close,volume\n";

fn row(minute: u32, volume: u32) -> String {
    format!("700.HK,2026-11-13 09:{minute},10,11,9,10,{volume}\n")
}

fn volumes(world: &World) -> Vec<i64> {
    let ran = world.run(&["kline", "700.HK", "--period", "1m", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let rows = answer["candlesticks"].as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| row["volume"].as_i64().unwrap()).collect()
}

fn append(world: &World, text: &str) {
    let mut file = OpenOptions::new().append(true).open(world.path("feed.csv")).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn follow(world: &World, file: &str) -> Child {
    let mut command = world.command(&["import", "--follow", file]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends a process. Returns the last line of its stderr.
fn end(child: Child) -> String {
    send(&child, "TERM");
    last_line(child)
}

fn last_line(child: Child) -> String {
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stderr.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn standard_input_is_stored_until_it_ends() {
    let world = World::new();
    let mut child = follow(&world, "-");
    let text = format!("{HEADER}{}{}bad,row\n{}", row(30, 1), row(31, 2), row(32, 3));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let last = last_line(child);
    assert_eq!(last, "followed: 3 rows accepted, 0 replaced, 0 unchanged, 1 quarantined");
    assert_eq!(volumes(&world), [1, 2, 3]);
}

#[test]
fn a_growing_file_is_followed_and_resumed() {
    let world = World::new();
    world.write("feed.csv", format!("{HEADER}{}700.HK,2026-11-13 09:31,10,11", row(30, 1)));
    let child = follow(&world, "feed.csv");
    while volumes(&world) != [1] {}
    append(&world, ",9,10,2\n");
    while volumes(&world) != [1, 2] {}
    assert_eq!(end(child), "followed: 2 rows accepted, 0 replaced, 0 unchanged, 0 quarantined");

    append(&world, &row(32, 3));
    let child = follow(&world, "feed.csv");
    while volumes(&world) != [1, 2, 3] {}
    assert_eq!(end(child), "followed: 1 rows accepted, 0 replaced, 0 unchanged, 0 quarantined");

    // Another file with this name is read from its beginning.
    world.write("feed.csv", format!("{HEADER}{}{}", row(30, 1), row(33, 4)));
    let child = follow(&world, "feed.csv");
    while volumes(&world) != [1, 2, 3, 4] {}
    assert_eq!(end(child), "followed: 1 rows accepted, 0 replaced, 1 unchanged, 0 quarantined");
}

fn json_row(minute: u32, volume: u32) -> String {
    format!(
        "{{\"symbol\": \"00700.hk\", \"time\": \"2026-11-13T09:{minute}:00+08:00\", \"open\": \"10\", \
         \"high\": 11, \"low\": 9, \"close\": \"10\", \"volume\": {volume}}}\n"
    )
}

#[test]
fn lines_of_json_are_followed() {
    let world = World::new();
    world.write("feed.csv", format!("{}not JSON\n{}", json_row(30, 1), json_row(31, 2)));
    let child = follow(&world, "feed.csv");
    while volumes(&world) != [1, 2] {}
    assert_eq!(end(child), "followed: 2 rows accepted, 0 replaced, 0 unchanged, 1 quarantined");
    // Resumed from the stored position, although the file has no header.
    append(&world, &json_row(32, 3));
    let child = follow(&world, "feed.csv");
    while volumes(&world) != [1, 2, 3] {}
    assert_eq!(end(child), "followed: 1 rows accepted, 0 replaced, 0 unchanged, 0 quarantined");

    let trade = |second: u32, id: u32| {
        format!(
            "{{\"time\": \"2026-11-13T09:40:{second:02}+08:00\", \"price\": \"10\", \"volume\": 5, \"id\": {id}}}\n"
        )
    };
    let mut command = world.command(&["import", "--follow", "-", "--symbol", "700.HK", "--build-candles"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let text = format!("{}{}{}", trade(1, 1), trade(2, 2), trade(2, 2));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert_eq!(last_line(child), "followed: 2 rows accepted, 0 replaced, 1 unchanged, 0 quarantined");
    assert_eq!(volumes(&world), [1, 2, 3, 10]);
}

/// Starts a server on the machine's clock, with an operator's token for ingest.
fn live_server(world: &World) -> Server {
    world.json(&["account", "create", "feeder", "--role", "operator"]);
    let token = world.json(&["account", "ingest-token", "create", "feeder"]);
    Server::of(world, token["access_token"].as_str().unwrap(), &["--clock", "now"])
}

fn follow_to(server: &Server, world: &World, file: &str) -> Child {
    let mut command = server.command(world, &["import", "--follow", file]);
    command.current_dir(world.path(""));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_file_is_followed_to_a_server_and_resumed() {
    let world = World::new();
    let mut server = live_server(&world);
    world.write("feed.csv", format!("{HEADER}{}bad,row\n{}", row(30, 1), row(31, 2)));
    let child = follow_to(&server, &world, "feed.csv");
    while volumes(&world) != [1, 2] {}
    assert_eq!(end(child), "followed: 2 rows accepted, 0 replaced, 0 unchanged, 1 quarantined");

    // Killed with SIGKILL. More rows are added while the server is down.
    append(&world, &row(32, 3));
    let mut child = follow_to(&server, &world, "feed.csv");
    while volumes(&world) != [1, 2, 3] {}
    server.kill();
    append(&world, &row(33, 4));
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("cannot reach") && line.contains("trying again"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();

    server.restart(&world, &["--clock", "now"]);
    let child = follow_to(&server, &world, "feed.csv");
    while volumes(&world) != [1, 2, 3, 4] {}
    assert_eq!(end(child), "followed: 1 rows accepted, 0 replaced, 0 unchanged, 0 quarantined");
}
