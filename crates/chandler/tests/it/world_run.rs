//! Tests of `chandler world run` with programs that are shell scripts. `e2e/python` runs programs
//! that use the SDKs.

#[cfg(target_os = "linux")]
use std::io::{Read, Write};
#[cfg(target_os = "linux")]
use std::process::Command;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// Sends a request with the world's token, using the sockets of bash.
const LIBRARY: &str = r#"
address=${LONGBRIDGE_HTTP_URL#http://}
request() {
    exec 3<>"/dev/tcp/${address%:*}/${address##*:}"
    printf '%s %s HTTP/1.1\r\nhost: world\r\nauthorization: Bearer %s\r\n' "$1" "$2" "$LONGBRIDGE_ACCESS_TOKEN" >&3
    printf 'content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s' "${#3}" "$3" >&3
    IFS= read -r status <&3
    case $status in *" 200 "*) ;; *) while read -r rest <&3; do status=$rest; done; echo "$1 $2: $status $rest"; exit 99 ;; esac
    exec 3>&-
}
order() {
    request POST /v1/trade/order \
        "{\"symbol\":\"700.HK\",\"side\":\"$1\",\"order_type\":\"MO\",\"submitted_quantity\":\"$2\",\"time_in_force\":\"Day\"}"
}
step() { request POST /v1/world/step "{\"to\":\"2026-11-13T$1+08:00\"}"; }
"#;
const MORNING: [&str; 6] = ["world", "run", "--from", "2026-11-13T09:29:00+08:00", "--to", "2026-11-13"];
/// Buys at 09:31 and sells at 09:41. The first price is 10.
const ROUND_TRIP: &str =
    "step 09:30:30; order Buy 1000; step 09:40:30; order Sell 1000; step 16:10:00; echo done";

/// Imports 30 one-minute candles from 09:30. The price rises by a cent every minute, and the volume
/// is more than sufficient.
fn world() -> World {
    let minute = |minute: u32| format!("700.HK,2026-11-13 09:{minute},10,11,9,10.{minute},1000000\n");
    let rows: String = (30..60).map(minute).collect();
    World::with(&[("minutes.csv", &format!("symbol,time,open,high,low,close,volume\n{rows}"))])
}

fn command<'a>(flags: &[&'a str], program: &'a str) -> Vec<&'a str> {
    [&MORNING[..], flags, &["--", "/bin/bash", "-c", program]].concat()
}

fn run(world: &World, flags: &[&str], program: &str) -> Ran {
    let script = format!("{LIBRARY}\n{program}");
    Ran::of(world.command(&command(flags, &script)).stdin(Stdio::null()).output().unwrap())
}

fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr))
}

#[test]
fn a_program_that_steps_and_trades_is_reported() {
    let world = world();
    let ran = run(&world, &["--cash", "HKD=100000", "--format", "json"], ROUND_TRIP);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("done"), "with JSON, the program's output goes to stderr: {}", ran.stderr);
    let document = document(&ran);
    let figures = &document["figures"];
    for (name, value) in [("orders", 2), ("refused", 0), ("trades", 1), ("days", 1)] {
        assert_eq!(figures[name], json!(value), "{name} in {figures}");
    }
    assert_eq!(document["world"]["state"], "paused");
    assert_eq!(document["program"]["outcome"], "exited");
    let trip = &document["trades"][0];
    assert_eq!((&trip["symbol"], &trip["quantity"]), (&json!("700.HK"), &json!("1000")));
    // The loss of the account equals the loss of the trades, which is the price difference and the
    // charges.
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    assert_eq!(number(&figures["profit"]), number(&trip["profit"]));
    assert_eq!(number(&figures["fees"]), number(&trip["charges"]));
    assert_eq!(number(&figures["net_assets"]), 100_000.0 + number(&figures["profit"]));
    let notes = document["notes"].to_string();
    assert!(notes.contains("before the end of its world at 2026-11-14T01:00:00Z"), "{notes}");
    assert!(world.ok(&["world", "list"]).contains("paused"), "the world is left as it is");
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_while_the_program_runs() {
    // The program ends when it gets a line, which is sent when the progress was shown.
    fn shown(command: &mut Command, is_stdout: bool) -> String {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(|out| Box::new(out) as Box<dyn Read>);
        let mut screen = if is_stdout { out.unwrap() } else { Box::new(child.stderr.take().unwrap()) };
        let (mut bytes, mut part) = (Vec::new(), [0; 4_096]);
        while !String::from_utf8_lossy(&bytes).contains(" %  2026-11-13  0 orders") {
            let count = screen.read(&mut part).unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&part[..count]);
        }
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        screen.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
        text
    }
    let world = world();
    world.write("program.sh", "read -r go; echo done");
    let arguments = [&MORNING[..], &["--", "/bin/bash", "program.sh"]].concat();
    shown(world.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()), false);
    let on_screen = shown(&mut world.on_a_terminal(&arguments.join(" ")), true);
    assert!(on_screen.contains("done") && on_screen.contains("net assets"), "{on_screen}");
}

#[test]
fn a_failed_check_sets_the_exit_code() {
    let world = world();
    let passing = ["--check", "trades == 1", "--check", "max_drawdown < 5%"];
    let ran = run(&world, &passing, ROUND_TRIP);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("passed: trades == 1 (trades is 1)"), "{}", ran.stdout);
    let ran = run(&world, &["--check", "trades > 10", "--check", "win_rate >= 0"], "exit 0");
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("check failed: trades > 10 (trades is 0)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("check failed: win_rate >= 0 (win_rate is no value)"), "{}", ran.stderr);
}

#[test]
fn the_exit_code_is_that_of_the_program_and_the_report_is_printed() {
    let world = world();
    let ran = run(&world, &["--check", "trades > 10"], "exit 7");
    assert_eq!(ran.code, Some(7));
    assert!(ran.stderr.contains("chandler: the program exited with code 7"), "{}", ran.stderr);
    assert!(ran.stdout.contains("net assets"), "{}", ran.stdout);
    let ran = run(&world, &[], "kill -KILL $$");
    assert_eq!(ran.code, Some(128 + 9));
    assert!(ran.stderr.contains("ended by signal 9"), "{}", ran.stderr);
}

#[test]
fn a_program_that_hangs_is_stopped_after_the_timeout() {
    let ran = run(&world(), &["--timeout", "1"], "step 09:35:00; read -r < <(/bin/sleep 60)");
    assert_eq!(ran.code, Some(124), "{}", ran.stderr);
    assert!(ran.stderr.contains("--timeout has passed"), "{}", ran.stderr);
    assert!(ran.stdout.contains("to 2026-11-13T01:35:00Z"), "{}", ran.stdout);
}

#[test]
fn signals_are_forwarded_to_the_program() {
    for signal in ["TERM", "INT"] {
        // bash runs a trap as soon as `read` is interrupted.
        let program = format!("trap 'exit 9' {signal}; kill -{signal} $PPID; read -r < <(/bin/sleep 60)");
        let ran = run(&world(), &[], &program);
        assert_eq!(ran.code, Some(9), "{signal}: {}", ran.stderr);
        assert!(ran.stdout.contains("net assets"), "{signal}: {}", ran.stdout);
    }
}

#[test]
fn a_refused_order_is_reported_with_its_reason() {
    let program = "step 09:30:30; order Buy 500; step 09:31:00";
    let ran = run(&world(), &["--cash", "HKD=1000"], program);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Refused orders:"), "{}", ran.stdout);
    assert!(ran.stdout.contains("buy 500 700.HK: "), "{}", ran.stdout);
}

#[test]
fn an_html_report_loads_no_other_files() {
    let world = world();
    let ran = run(&world, &["--html", "report.html", "--check", "fees < 0"], ROUND_TRIP);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let page = std::fs::read_to_string(world.path("report.html")).unwrap();
    for part in [
        "<!doctype html>",
        "<svg",
        "fees &lt; 0",
        "not affiliated",
        "prefers-color-scheme: dark",
        "width=device-width",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for absent in ["<script", "src=", "href=", "url(", "@import", "<link"] {
        assert!(!page.contains(absent), "{absent}");
    }
}

#[test]
fn a_sweep_runs_each_combination_in_its_own_world() {
    let world = world();
    let flags = [
        "--sweep",
        "lots=1,2",
        "--sweep",
        "side=Buy,Sell",
        "--jobs",
        "2",
        "--sort",
        "fees",
        "--name",
        "grid",
        "--format",
        "json",
    ];
    let program = "[ {lots} = \"$CHANDLER_SWEEP_LOTS\" ] && step 09:30:30 && order Buy $((1000 * {lots})) && step 09:40:30 \
        && order $CHANDLER_SWEEP_SIDE $((1000 * {lots})) && step 16:10:00";
    let ran = run(&world, &flags, program);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let document = document(&ran);
    let runs = document["runs"].as_array().unwrap();
    let text = |run: &Value, name: &str| run["parameters"][name].as_str().unwrap().to_owned();
    let order: Vec<_> = runs.iter().map(|run| (text(run, "lots"), text(run, "side"))).collect();
    let expected = [("1", "Buy"), ("1", "Sell"), ("2", "Buy"), ("2", "Sell")];
    // Lower fees are better.
    let mut fees: Vec<f64> =
        runs.iter().map(|run| run["figures"]["fees"].as_str().unwrap().parse().unwrap()).collect();
    assert!(fees.is_sorted() && fees.pop() > Some(0.0), "{ran}", ran = ran.stdout);
    assert_eq!(order.len(), 4);
    assert!(expected.iter().all(|(lots, side)| order.contains(&((*lots).to_owned(), (*side).to_owned()))));
    let list = world.ok(&["world", "list"]);
    assert!((1..=4).all(|number| list.contains(&format!("grid-{number}"))), "{list}");
    let trades: Vec<_> = runs.iter().map(|run| run["figures"]["trades"].as_u64().unwrap()).collect();
    assert_eq!(trades.iter().sum::<u64>(), 2, "only the two that sell have closed a trade");
}

#[test]
fn a_sweep_prints_a_table() {
    let ran = run(&world(), &["--sweep", "code=0,5", "--delete"], "exit {code}");
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("parameters"), "{}", ran.stdout);
    assert!(ran.stdout.contains("code=0") && ran.stdout.contains("done"), "{}", ran.stdout);
    assert!(ran.stdout.contains("code=5") && ran.stdout.contains("exited"), "{}", ran.stdout);
    assert!(ran.stderr.contains("chandler: code=5: the program exited with code 5"), "{}", ran.stderr);
}

#[test]
fn a_world_is_deleted_only_on_request() {
    let world = world();
    assert_eq!(run(&world, &["--delete"], "step 09:35:00").code, Some(0));
    assert_eq!(world.ok(&["world", "list"]).trim(), "no worlds");
    assert_eq!(run(&world, &["--delete"], "exit 0").code, Some(0));
    assert_eq!(world.ok(&["world", "list"]).trim(), "no worlds");
    assert_eq!(run(&world, &["--name", "mine"], "exit 0").code, Some(0));
    assert!(world.ok(&["world", "list"]).contains("mine"));
    let ran = run(&world, &["--name", "mine"], "exit 0");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("with this name"), "{}", ran.stderr);
}

#[test]
fn an_existing_world_is_entered_with_its_key() {
    let world = world();
    world.ok(&["account", "create", "ann"]);
    let created = world.json(&["world", "create", "march", "--start", "2026-11-13T09:29:00+08:00"]);
    let script = format!("{LIBRARY}\nstep 09:35:00");
    let arguments = ["world", "run", "march", "--format", "json", "--", "/bin/bash", "-c", &script];
    let (code, said) = world.fails(&arguments);
    assert_eq!(code, 2);
    assert!(said.contains("shown only when it is created: set LONGBRIDGE_APP_KEY"), "{said}");
    let entered = |name: &str, arguments: &[&str]| {
        let mut command = world.command(arguments);
        for (variable, value) in created["environment"].as_object().unwrap() {
            command.env(variable, value.as_str().unwrap());
        }
        let ran = Ran::of(command.output().unwrap());
        assert!(ran.code.is_some(), "{name}");
        ran
    };
    let ran = entered("march", &arguments);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let first = document(&ran);
    assert_eq!(
        (&first["begin"], &first["end"]),
        (&json!("2026-11-13T01:29:00Z"), &json!("2026-11-13T01:35:00Z"))
    );
    // A second run resumes where the first run stopped.
    let on = format!("{LIBRARY}\nstep 09:45:00");
    let second = document(&entered(
        "march",
        &["world", "run", "march", "--format", "json", "--", "/bin/bash", "-c", &on],
    ));
    assert_eq!(second["begin"], json!("2026-11-13T01:35:00Z"));
    let other = entered("april", &["world", "run", "april", "--", "/bin/bash", "-c", "exit 0"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("is that of the world march, not of april"), "{}", other.stderr);
}

#[test]
fn invalid_arguments_are_reported_before_a_world_is_created() {
    let world = world();
    let program = ["--", "/bin/true"];
    let cases: [(&[&str], i32, &str); 15] = [
        (
            &["--from", "2026-11-13", "--html", "nowhere/x.html", "--", "/bin/true"],
            2,
            "--html: there is no folder nowhere",
        ),
        (
            &["--from", "2026-11-13", "--", "/bin/no-such-program"],
            2,
            "there is no program \"/bin/no-such-program\"",
        ),
        (&["--from", "2026-11-13", "--", "no-such-program"], 2, "there is no program \"no-such-program\""),
        (&["--from", "2026-11-13"], 2, "required"),
        (&["--", "/bin/true"], 2, "--from"),
        (&["--from", "soon", "--", "/bin/true"], 2, "--from: "),
        (
            &["--from", "2026-11-13", "--to", "2026-11-12", "--", "/bin/true"],
            2,
            "--to 2026-11-12 is not after --from 2026-11-13",
        ),
        (&["--from", "2020-01-02", "--to", "2020-01-03", "--", "/bin/true"], 1, "no candles are stored from"),
        (&["--from", "2026-11-20", "--", "/bin/true"], 1, "the stored candles end at"),
        (
            &["--from", "2026-11-13", "--check", "luck > 1", "--", "/bin/true"],
            2,
            "the figures are return, benchmark_return",
        ),
        (
            &["--from", "2026-11-13", "--check", "return", "--", "/bin/true"],
            2,
            "write a figure, a comparison and a number",
        ),
        (&["--from", "2026-11-13", "--sweep", "fast", "--", "/bin/true"], 2, "write fast=5,10,20"),
        (
            &["--from", "2026-11-13", "--sort", "luck", "--sweep", "a=1", "--", "/bin/true"],
            2,
            "is not a figure",
        ),
        (&["--from", "2026-11-13", "--cash", "much", "--", "/bin/true"], 2, "write HKD=500000"),
        (&["--from", "2026-11-13", "--speed", "warp", "--", "/bin/true"], 2, "--speed"),
    ];
    for (flags, code, says) in cases {
        let (found, said) = world.fails(&[&["world", "run"], flags].concat());
        assert_eq!(found, code, "{flags:?}: {said}");
        assert!(said.contains(says), "{flags:?}: {said}");
    }
    let (code, said) = world.fails(
        &[&["world", "run", "--from", "2026-11-13", "--html", "x.html", "--sweep", "a=1"], &program[..]]
            .concat(),
    );
    assert!(code == 2 && said.contains("--html is for one run"), "{said}");
    assert!(world.run(&["world", "list", "--account", "local"]).stdout.contains("no worlds"));
}

#[test]
fn fake_time_without_the_library_is_refused() {
    let world = world();
    let arguments = command(&["--fake-time"], "exit 0");
    let mut missing = world.command(&arguments);
    let ran = Ran::of(missing.env("CHANDLER_FAKETIME_LIB", "/nowhere/libfaketime.so.1").output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there is no file /nowhere/libfaketime.so.1"), "{}", ran.stderr);
}
