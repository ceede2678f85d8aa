//! Tests of `chandler world log` and `world diff`, which print the same for the local store and for
//! a server.

use crate::transports::Setup;

const MINUTES: &str = "symbol,time,open,high,low,close,volume,turnover\n\
    700.HK,2026-03-18T01:30:00Z,300,302,299,301,10000,3005000\n\
    700.HK,2026-03-18T01:31:00Z,301,303,300,302,8000,2412000\n";
const CLOCK: &str = "2026-03-18T01:00:00Z";

fn setups() -> [Setup; 2] {
    let setups = Setup::both(&[("minutes.csv", MINUTES)], &[], CLOCK);
    for setup in &setups {
        for name in ["a", "b"] {
            let span = ["--start", "2026-03-18T09:29:00+08:00", "--end", "2026-03-18T16:30:00+08:00"];
            setup.ok(&[&["world", "create", name], &span[..]].concat());
        }
    }
    setups
}

#[test]
fn a_log_is_read_line_by_line() {
    for setup in setups() {
        for _ in 0..3 {
            setup.ok(&["world", "step", "a", "--by", "PT1M"]);
        }
        let log = setup.json(&["world", "log", "a"]);
        let lines = log["lines"].as_array().unwrap();
        let steps: Vec<_> = lines.iter().filter(|line| line["kind"] == "step").collect();
        assert_eq!(steps.len(), 3, "{log}");
        assert_eq!(steps[2]["entry"]["now"], "2026-03-18T01:32:00Z");
        assert_eq!(steps[2]["request"]["to"], "PT60S");
        assert_eq!(setup.json(&["world", "show", "a"])["digest"], steps[2]["digest"]);
        let after = steps[1]["number"].to_string();
        let rest = setup.json(&["world", "log", "a", "--after", &after, "-n", "1"]);
        assert_eq!(rest["lines"].as_array().unwrap()[..], [steps[2].clone()]);
        let table = setup.ok(&["world", "log", "a"]);
        assert_eq!(table.lines().count(), lines.len() + 1, "{table}");
        assert!(table.lines().last().unwrap().contains("2026-03-18T01:32:00Z"), "{table}");
    }
}

#[test]
fn the_first_difference_is_shown_with_its_request() {
    for setup in setups() {
        for name in ["a", "b"] {
            setup.ok(&["world", "step", name]);
        }
        let same = setup.ok(&["world", "diff", "a", "b"]);
        assert!(same.starts_with("equal: "), "{same}");
        assert_eq!(setup.json(&["world", "diff", "a", "b"])["equal"], true);
        setup.ok(&["world", "step", "a", "--by", "PT1M"]);
        setup.ok(&["world", "step", "b", "--by", "PT2M"]);
        setup.ok(&["world", "step", "b", "--by", "PT1M"]);
        let ran = setup.run(&["world", "diff", "a", "b"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{}", ran.stdout);
        for part in ["different after ", "a: line ", "b: line ", "a: request {", "\"PT60S\"", "\"PT120S\""] {
            assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
        }
        let ran = setup.run(&["world", "diff", "a", "b", "--format", "json"]);
        let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, &document["equal"]), (Some(1), &false.into()));
        assert_eq!(document["difference"]["first"]["request"]["to"], "PT60S");
        let (code, error) = setup.fails(&["world", "diff", "a", "c"]);
        assert!(code == 1 && error.contains("there is no such world"), "{error}");
    }
}
