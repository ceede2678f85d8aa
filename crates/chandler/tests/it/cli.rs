//! Tests of the command line: completions, the manual, configuration, hints and `doctor`.

use std::io::Write;
use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;

use crate::world::{Ran, World, days, executable, hour};

/// Returns bash's completions for a partial command line.
fn completed(words: &[&str]) -> Vec<String> {
    let script = format!(
        "source <(\"$0\" completions bash)\nCOMP_WORDS=({words})\nCOMP_CWORD={at}\n\
         _chandler chandler \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        at = words.len() - 1,
    );
    let output = Command::new("bash").args(["--norc", "-c", &script]).arg(executable()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    assert_eq!(completed(&["chandler", "kl"]), ["kline"]);
    assert_eq!(completed(&["chandler", "account", "cre"]), ["create"]);
    assert_eq!(completed(&["chandler", "kline", "700.HK", "--per"]), ["--period"]);
    assert_eq!(completed(&["chandler", "kline", "700.HK", "--period", "q"]), ["quarter"]);
    assert_eq!(
        completed(&["chandler", "kline", "700.HK", "--period", "1"]),
        ["1m", "10m", "15m", "120m", "180m"]
    );
    assert_eq!(completed(&["chandler", "kline", "700.HK", "--session", "ex"]), ["extended"]);
    assert_eq!(completed(&["chandler", "kline", "700.HK", "--format", "p"]), ["parquet"]);
}

#[test]
fn every_shell_has_a_completion_script() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.ok(&["completions", shell]);
        assert!(script.contains("kline") && script.contains("quarter"), "{shell}");
    }
    assert_eq!(world.fails(&["completions", "tcsh"]).0, 2);
}

#[test]
fn global_flags_are_listed_after_command_flags() {
    let world = World::new();
    let help = world.ok(&["order", "buy", "--help"]);
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{help}"));
    let heading = place("\nGlobal options:");
    for flag in ["--store ", "--clock ", "--calendars "] {
        assert!(place(&format!("\n      {flag}")) > heading, "{flag}");
    }
    assert!(place("\n      --limit ") < heading && place("\n      --dry-run") < heading, "{help}");
}

#[test]
fn the_manual_has_one_page_per_command() {
    let world = World::new();
    world.ok(&["man", "--dir", "man"]);
    for name in ["chandler.1", "chandler-kline.1", "chandler-account-create.1", "chandler-doctor.1"] {
        let page =
            std::fs::read_to_string(world.path("man").join(name)).unwrap_or_else(|_| panic!("no {name}"));
        for part in [
            ".TH",
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH OPTIONS",
            ".SH ENVIRONMENT",
            "CHANDLER_STORE",
            "NO_COLOR",
            ".SH \"EXIT STATUS\"",
            "130",
        ] {
            assert!(page.contains(part), "{name}: {part}");
        }
    }
    let names: Vec<String> = std::fs::read_dir(world.path("man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
    let one = world.ok(&["man", "account", "create"]);
    assert!(one.contains(".SH NAME") && one.contains("chandler\\-account\\-create"), "{one}");
    assert_eq!(world.fails(&["man", "nothing"]).0, 2);
    let of = |command: &str, variable: &str| world.ok(&["man", command]).contains(variable);
    assert!(of("serve", "CHANDLER_TLS_KEY") && !of("check", "CHANDLER_TLS_KEY"));
    assert!(of("kline", "CHANDLER_TOKEN") && !of("login", "CHANDLER_TOKEN"));
    // If groff is installed, it must report no warnings.
    let groff = Command::new("groff")
        .args(["-man", "-Tutf8", "-ww", "-z"])
        .arg(world.path("man/chandler-kline.1"))
        .output();
    if let Ok(groff) = groff {
        assert!(
            groff.status.success() && groff.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&groff.stderr)
        );
    }
}

#[test]
fn config_show_lists_each_setting_with_its_source() {
    let world = World::new();
    world.write("chandler.toml", "[server]\ntcp = \"127.0.0.1:2\"\nlisten = \"127.0.0.1:3\"\ncache_mb = 7\n");
    let arguments = ["config", "show", "--config", "chandler.toml", "--listen", "127.0.0.1:4"];
    let run = |format: &str| {
        let mut command = world.command(&[&arguments[..], &["--format", format]].concat());
        let ran = Ran::of(command.env("CHANDLER_CACHE_MB", "9").output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let shown: Value = serde_json::from_str(&run("json")).unwrap();
    let of = |key: &str| {
        let all = shown["settings"].as_array().unwrap();
        let one = all.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("no {key}"));
        format!("{} {} {}", one["value"], one["source"], one["from"])
    };
    assert_eq!(of("server.listen"), r#""127.0.0.1:4" "flag" "--listen""#);
    assert_eq!(of("server.cache_mb"), r#"9 "environment" "CHANDLER_CACHE_MB""#);
    assert_eq!(of("server.tcp"), r#""127.0.0.1:2" "file" "chandler.toml""#);
    assert_eq!(of("log.filter"), r#""info" "default" null"#);
    let store = &shown["store"];
    assert_eq!((&store["source"], &store["from"]), (&"environment".into(), &"CHANDLER_STORE".into()));
    assert!(store["value"].as_str().unwrap().starts_with("sqlite:"), "{store}");
    assert!(run("table").contains("server.tcp"));
    // The TOML output can be loaded as a configuration file and gives the same settings.
    world.write("again.toml", run("toml"));
    let again = world.json(&["config", "show", "--config", "again.toml"]);
    let values = |shown: &Value| -> Vec<(Value, Value)> {
        let all = shown["settings"].as_array().unwrap().iter();
        all.map(|one| (one["key"].clone(), one["value"].clone())).collect()
    };
    assert_eq!(values(&again), values(&shown));
}

#[test]
fn a_configuration_file_is_checked_without_being_used() {
    let world = World::new();
    world.write("good.toml", "[server]\ncache_mb = 7\n");
    world.write("bad.toml", "[server]\ncache = 7\n");
    assert_eq!(world.json(&["config", "check", "good.toml"])["keys"], serde_json::json!(["server.cache_mb"]));
    assert!(world.ok(&["config", "check", "good.toml"]).contains("valid, sets 1 of"));
    let (code, said) = world.fails(&["config", "check", "bad.toml"]);
    assert!(code == 1 && said.contains("line 2") && said.contains("cache"), "{code} {said}");
    assert_eq!(world.fails(&["config", "check", "absent.toml"]).0, 2);
}

#[test]
fn config_check_refuses_an_invalid_server_configuration() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.write("loud.toml", "[log]\nfilter = \"info,server=loud\"\n");
    world.write("tls.toml", "[server]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n");
    world.write("cert.pem", "no certificate");
    world.write("infoo.toml", "[log]\nfilter = \"infoo\"\n");
    for (file, says) in [
        ("infoo.toml", "neither a level"),
        ("loud.toml", "not a log filter"),
        ("tls.toml", "cert.pem has no certificate"),
    ] {
        let (code, said) = world.fails(&["config", "check", file]);
        assert!(code == 1 && said.contains(says), "{code} {said}");
        let rest = ["--config", file, "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];
        let (_, served) = world.fails(&[&["serve"], &rest[..]].concat());
        assert!(served.contains(says), "{served}");
        let ran = world.run(&[&["doctor"], &rest[..]].concat());
        assert!(ran.code == Some(1) && ran.stdout.contains(says), "{}", ran.stdout);
    }
    let (code, said) = world.fails(&["config", "show", "--log", "info,server=loud"]);
    assert!(code == 2 && said.contains("not a log filter"), "{said}");
}

#[test]
fn a_mistyped_symbol_or_period_gets_a_suggestion() {
    let world =
        World::with(&[("a.csv", &days("700.HK")), ("b.csv", &hour("9988.HK")), ("c.csv", &days("AAPL.US"))]);
    for (arguments, code, says) in [
        (&["kline", "700"][..], 2, "did you mean 700.HK?"),
        (&["kline", "00700"], 2, "did you mean 700.HK?"),
        (&["kline", "700.US"], 1, "did you mean 700.HK?"),
        (&["kline", "APPL.US"], 1, "did you mean AAPL.US?"),
        (&["inspect", "9989.HK"], 1, "did you mean 9988.HK?"),
        (&["coverage", "9989.HK"], 1, "did you mean 9988.HK?"),
        (&["export", "9989.HK"], 1, "did you mean 9988.HK?"),
        (&["kline", "700.HK", "--period", "yaer"], 2, "a similar value exists: 'year'"),
        (&["kline", "700.HK", "--period", "7m"], 2, "[possible values: 1m, 2m, "),
        (&["kline", "700.HK", "-p", "1M"], 2, "did you mean 1m or month?"),
    ] {
        let (found, said) = world.fails(arguments);
        assert_eq!(found, code, "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    assert!(!world.fails(&["kline", "ZZZZ.US"]).1.contains("did you mean"));
    assert_eq!(world.ok(&["kline", "700.hk", "-p", "daily"]), world.ok(&["kline", "0700.HK"]));
}

#[test]
fn the_doctor_reports_no_problems_for_a_valid_setup() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ann"]);
    let run = |arguments: &[&str]| {
        let ports = ["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--connections-max", "9"];
        world.run(&[&ports, arguments].concat())
    };
    for arguments in [&["--format", "json"][..], &["--format", "json", "--deep"]] {
        let ran = run(arguments);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, &found["ok"]), (Some(0), &true.into()), "{found}");
        let checks = found["checks"].as_array().unwrap();
        for name in [
            "clock",
            "calendar",
            "configuration",
            "disk",
            "port",
            "store",
            "accounts",
            "secret.key",
            "SDK variables",
        ] {
            assert!(checks.iter().any(|check| check["check"] == name), "{name}: {found}");
        }
    }
    assert!(run(&[]).stdout.contains("ok    store"), "{}", run(&[]).stdout);
}

/// Returns every file of the store, with its contents and modification time.
fn store_files(world: &World) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let entries = std::fs::read_dir(world.path("store")).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries
        .map(|entry| {
            let written = entry.metadata().unwrap().modified().unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap(), written)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn the_doctor_changes_nothing() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ann"]);
    std::fs::remove_file(world.path("store/accounts.lock")).unwrap();
    // These files are left behind by readers. They can be removed, because the WAL is empty.
    for name in ["store/candles.db-wal", "store/candles.db-shm"].map(|name| world.path(name)) {
        assert!(
            !name.ends_with("candles.db-wal") || std::fs::metadata(&name).map_or(0, |file| file.len()) == 0
        );
        std::fs::remove_file(name).ok();
    }
    let before = store_files(&world);
    for arguments in
        [&["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"][..], &["doctor", "--deep"]]
    {
        let ran = world.run(arguments);
        assert!(ran.stdout.contains("ok    secret.key"), "{}", ran.stdout);
        let after = store_files(&world);
        let names =
            |files: &[(String, Vec<u8>, _)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&after), names(&before));
        let changed = after.iter().zip(&before).filter(|(after, before)| after != before);
        let changed: Vec<&str> = changed.map(|(after, _)| after.0.as_str()).collect();
        assert_eq!(changed, [""; 0]);
    }
}

#[test]
fn the_doctor_reports_problems_with_advice() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ann"]);
    world.write("bad.toml", "[server]\ncache = 7\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    std::thread::spawn(move || taken.incoming().for_each(drop));
    let judged = |arguments: &[&str], check: &str, env: &[(&str, &str)]| {
        let ports = ["doctor", "--tcp", "127.0.0.1:0", "--format", "json"];
        let mut command = world.command(&[&ports, arguments].concat());
        let ran = Ran::of(command.envs(env.iter().copied()).output().unwrap());
        let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        let of = found["checks"].as_array().unwrap().iter().filter(|one| one["check"] == check);
        let words: Vec<String> = of.map(|one| format!("{} {}", one["verdict"], one["says"])).collect();
        (ran.code, words.join("\n"))
    };
    let (code, words) = judged(&["--listen", &address], "port", &[]);
    assert!(code == Some(1) && words.contains("in use by another program"), "{words}");
    let twice = ["--listen", "127.0.0.1:18999", "--internal", "127.0.0.1:18999"];
    let (code, words) = judged(&twice, "port", &[]);
    assert!(code == Some(1) && words.contains("one port cannot be both"), "{words}");
    let advice = |check: &str| {
        let ran =
            world.run(&["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--format", "json"]);
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        let one = found["checks"].as_array().unwrap().iter().find(|one| one["check"] == check).unwrap();
        one["advice"].as_str().unwrap_or_default().to_owned()
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let key = world.path("store/secret.key");
        let mode = |mode| std::fs::set_permissions(&key, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(advice("secret.key").starts_with("chmod 600 "), "{}", advice("secret.key"));
        mode(0o600);
    }
    let listen = ["--listen", "127.0.0.1:0"];
    let (code, words) = judged(&[&listen[..], &["--config", "bad.toml"]].concat(), "configuration", &[]);
    assert!(code == Some(1) && words.contains("line 2"), "{words}");
    let (code, words) = judged(&listen, "SDK variables", &[("LONGPORT_APP_SECRET", "hush")]);
    assert!(code == Some(0) && words.contains("LONGPORT_APP_KEY") && !words.contains("hush"), "{words}");
    let (code, words) =
        judged(&[&listen[..], &["--clock", "2031-01-01T00:00:00Z"]].concat(), "calendar", &[]);
    assert!(code == Some(1) && words.contains("was known through"), "{words}");
    let (code, words) = judged(&[&listen[..], &["--server", "http://127.0.0.1:9"]].concat(), "server", &[]);
    assert!(code == Some(1) && words.contains("cannot reach"), "{words}");
    std::fs::write(world.path("store/secret.key"), [7; 32]).unwrap();
    let (code, words) = judged(&listen, "secret.key", &[]);
    assert!(code == Some(1) && words.contains("sealed"), "{words}");
    let path = world.path("store/candles.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xaa);
    std::fs::write(&path, bytes).unwrap();
    let (code, words) = judged(&[&listen[..], &["--deep"]].concat(), "store", &[]);
    assert!(code == Some(1) && words.contains("fail"), "{words}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_screen_chart_restores_the_screen() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    let (code, said) = world.fails(&["kline", "700.HK", "--format", "chart", "--watch"]);
    assert!(code == 2 && said.contains("terminal"), "{said}");
    let mut child = world.on_a_terminal("kline 700.HK --format chart --watch=3600").spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"q").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text:?}");
    let (taken, given) = (text.find("\x1b[?1049h"), text.rfind("\x1b[?1049l"));
    assert!(taken.is_some() && taken < text.find("700.HK") && given > text.rfind("q quits"), "{text:?}");
}

#[test]
fn account_changes_are_reported_as_json() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ann"]);
    assert_eq!(world.json(&["account", "set", "ann", "--quota", "5"])["terms"]["quota"], 5);
    let granted = world.json(&["account", "grant", "ann", "US_OVERNIGHT", "--until", "2027-01-01"]);
    assert_eq!(
        (&granted["package"], &granted["until"]),
        (&"US_OVERNIGHT".into(), &"2026-12-31T16:00:00Z".into())
    );
    assert_eq!(world.json(&["account", "withdraw", "ann", "US_OVERNIGHT"])["changed"], true);
    assert_eq!(world.json(&["account", "reported-assets", "ann", "80000", "HKD"])["rows"], 1);
    assert_eq!(world.json(&["account", "password", "ann", "--remove"])["changed"], false);
    assert_eq!(world.json(&["account", "levels", "set", "1", "--quota", "120"])["quota"], 120);
    assert_eq!(world.json(&["account", "revoke", "ann"])["changed"], true);
    assert_eq!(world.json(&["audit", "--prune", "--before", "2020-01-01"])["forgotten"], 0);
    let written = world.ok(&["export", "700.HK", "-o", "x.csv", "--summary", "json"]);
    let written: Value = serde_json::from_str(&written).unwrap();
    assert_eq!((&written["candles"], &written["securities"]), (&10.into(), &1.into()));
}
