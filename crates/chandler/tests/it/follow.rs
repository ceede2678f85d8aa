//! `chandler import --follow`: a file that grows, and standard input.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Child, Stdio};

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

/// Ends a process. Returns the last line that it wrote to stderr.
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
fn a_file_that_grows_is_followed_and_continued() {
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

    // Another file under this name is read from its beginning.
    world.write("feed.csv", format!("{HEADER}{}{}", row(30, 1), row(33, 4)));
    let child = follow(&world, "feed.csv");
    while volumes(&world) != [1, 2, 3, 4] {}
    assert_eq!(end(child), "followed: 1 rows accepted, 0 replaced, 1 unchanged, 0 quarantined");
}
