//! Tests of commands with a closed pipe, a full disk, or a terminal with few capabilities.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::world::{Ran, World, days, executable, send};

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// Returns the write end of a pipe whose read end is closed.
fn closed() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

/// Returns enough daily candles to exceed any pipe buffer.
fn many() -> String {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    let mut day = "2015-01-01".parse::<jiff::civil::Date>().unwrap();
    for number in 1..=2500 {
        text += &format!("700.HK,{day},{number},{number},{number},{number},1\n");
        day = day.tomorrow().unwrap();
    }
    text
}

#[test]
fn a_server_continues_if_its_log_cannot_be_written() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    for stderr in [closed(), full()] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];
        let mut child = world.command(&arguments).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let answers = (0..3).map(|_| {
            let address = ready["http"].as_str().unwrap_or("127.0.0.1:1");
            let mut stream = TcpStream::connect(address).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(b"GET /v1/me HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            Some(answer.lines().next().unwrap_or_default().to_owned())
        });
        let answers: Vec<Option<String>> = answers.collect();
        send(&child, "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{line:?} {answers:?}");
        assert!(
            answers.iter().all(|one| one.as_ref().is_some_and(|one| one.starts_with("HTTP/1.1 401"))),
            "{answers:?}"
        );
    }
}

#[test]
fn a_closed_pipe_does_not_hide_failures() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    let code = |arguments: &[&str]| {
        let output = world.command(arguments).stdout(closed()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let doctor = ["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];
    assert_eq!(code(&["check"]), (Some(0), String::new()));
    assert_eq!(code(&doctor).0, Some(0));
    assert_eq!(code(&["import", "a.csv"]), (Some(0), String::new()));
    world.write("bad.csv", "no stored candles\n");
    let path = world.path("store/candles.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let block = bytes.windows(4).rposition(|four| four == b"CNDL").unwrap();
    bytes[block + 40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    for format in ["table", "json"] {
        let with = |arguments: &[&str]| code(&[arguments, &["--format", format]].concat());
        let (found, said) = with(&["check"]);
        assert!(found == Some(1) && said.contains("damaged"), "{format}: {found:?} {said}");
        assert_eq!(with(&doctor).0, Some(1), "{format}");
        let (found, said) = with(&["import", "bad.csv"]);
        assert_eq!(found, Some(1), "{format}: {said}");
        assert!(format == "json" || said.contains("bad.csv"), "{said}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error_but_a_full_disk_is() {
    let world = World::with(&[("many.csv", &many())]);
    let all = ["--start", "2015-01-01", "--format"];
    let kline = |format| [&["kline", "700.HK"], &all[..], &[format]].concat();
    let mut commands = ["table", "json", "csv", "parquet"].map(kline).to_vec();
    commands.extend(["csv", "parquet", "arrow"].map(|format| vec!["export", "700.HK", "--format", format]));
    commands.push(vec!["coverage", "700.HK", "--format", "json"]);
    commands.push(vec!["man", "serve"]);
    for arguments in commands {
        let run = |stdout: Stdio| Ran::of(world.command(&arguments).stdout(stdout).output().unwrap());
        let ran = run(closed());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        let ran = run(full());
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot write to standard output"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_failed_write_to_stderr_does_not_change_the_exit_code() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    for (arguments, code) in [
        (&["kline", "BAD"][..], 2),
        (&["kline", "9.HK"], 1),
        (&["kline", "700.HK", "-n", "100000"], 0),
        (&["export", "700.HK", "--output", "x.csv"], 0),
        (&["calendar", "--clock", "2031-01-01T00:00:00Z"], 0),
    ] {
        for stderr in [full(), closed()] {
            let output = world.command(arguments).stderr(stderr).output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        }
    }
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let world = World::with(&[("many.csv", &many())]);
    for command in ["kline 700.HK --start 2015-01-01 --format csv", "export 700.HK"] {
        world.write("out.csv", "the old one\n");
        // A file size limit simulates a full disk.
        let line = format!("trap '' XFSZ; ulimit -f 100; exec \"$0\" {command} -o out.csv");
        let store = format!("sqlite:{}", world.path("store").display());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]).arg(executable());
        shell.current_dir(world.path("")).env_clear().env("CHANDLER_STORE", store);
        let ran = Ran::of(shell.output().unwrap());
        assert!(ran.code == Some(1) && ran.stderr.contains("out.csv"), "{:?} {}", ran.code, ran.stderr);
        assert_eq!(std::fs::read_to_string(world.path("out.csv")).unwrap(), "the old one\n", "{command}");
        assert!(!world.path("out.csv.partial").exists(), "{command}");
    }
    world.ok(&["kline", "700.HK", "--format", "csv", "-n", "2", "--output", "out.csv"]);
    assert_eq!(std::fs::read_to_string(world.path("out.csv")).unwrap().lines().count(), 3);
    assert_eq!(world.fails(&["kline", "700.HK", "--output", "store"]).0, 2);
    world.ok(&["kline", "700.HK", "--output", "/dev/null"]);
}

#[test]
fn a_dumb_terminal_gets_plain_output() {
    let names = "symbol,name_en,name_cn\n700.HK,,腾讯控股\n9001.HK,Lamplight,灯\n";
    let world = World::with(&[("a.csv", &days("700.HK")), ("b.csv", &days("9001.HK")), ("names.csv", names)]);
    let shown = |arguments: &str, env: (&str, &str)| {
        let output = world.on_a_terminal(arguments).env(env.0, env.1).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for (symbol, title) in [("700.HK", "700.HK ???? - day"), ("9001.HK", "9001.HK Lamplight - day")] {
        let (code, chart) = shown(&format!("kline {symbol} --format chart"), ("LC_ALL", "C"));
        assert!(code == Some(0) && chart.contains(title) && chart.is_ascii(), "{chart}");
    }
    let (code, said) = shown("kline 700.HK --format chart --watch", ("TERM", "dumb"));
    assert!(code == Some(2) && said.contains("omit --watch") && !said.contains('\u{1b}'), "{said:?}");
    for (term, has_colours) in [("xterm", true), ("dumb", false)] {
        let text = served_on(&world, term);
        assert!(text.contains("SIGINT") && text.contains('\u{1b}') == has_colours, "{term}: {text:?}");
    }
}

/// Runs a server in a terminal, ends it with Ctrl-C, and returns its whole output.
fn served_on(world: &World, term: &str) -> String {
    let mut command = world.on_a_terminal("serve --listen 127.0.0.1:0 --tcp 127.0.0.1:0");
    let mut child = command.env("TERM", term).spawn().unwrap();
    let mut screen = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("\"event\":\"listening\"") {
        assert_ne!(screen.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let mut keys = child.stdin.take().unwrap();
    keys.write_all(b"\x03").unwrap();
    screen.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    text
}
