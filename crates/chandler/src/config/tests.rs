use std::collections::BTreeSet;
use std::fmt::Write;

use access::Region;
use clap::{Args, FromArgMatches};
use expect_test::expect_file;
use server::Settings;

use super::arguments::Arguments;
use super::keys::TABLES;
use super::values::RegionalConfig;
use super::*;

const ANNOTATED: &str = include_str!("../../../../docs/chandler.toml");

const HEAD: &str = "\
# All keys of the configuration file with their defaults. Copy the keys to change, and name the file with
# `chandler serve --config FILE` or CHANDLER_CONFIG. Variables override the file, and flags override both.
# Unknown keys are refused.
";

/// Generates the annotated configuration file from the table of keys.
fn annotated() -> String {
    let mut out = HEAD.to_owned();
    let mut table = "";
    let comment = |lines: &[&str]| -> String { lines.iter().map(|line| format!("#{line}\n")).collect() };
    for (key, value) in Config::default().values() {
        let (intro, is_first) =
            (TABLES.iter().find(|(name, _)| *name == key.table).unwrap().1, key.table != table);
        if is_first {
            table = key.table;
            write!(out, "\n[{table}]\n{}", comment(intro)).unwrap();
        }
        // A key without documentation is described by the documentation of the preceding key.
        let is_apart = !key.lines.is_empty() && (!is_first || !intro.is_empty());
        let (flag, variable) = (key.flag, key.variable);
        let names = if key.is_list {
            let value = key.value;
            format!("# --{flag} {value} (repeated for more), {variable} (several with commas)")
        } else {
            format!("# --{flag}, {variable}")
        };
        let value = toml::Value::try_from(&value).unwrap();
        let space = if is_apart { "\n" } else { "" };
        write!(out, "{space}{}{names}\n{} = {value}\n", comment(key.lines), key.name).unwrap();
    }
    out
}

#[test]
fn the_annotated_file_matches_the_table_of_keys() {
    expect_file!["../../../../docs/chandler.toml"].assert_eq(&annotated());
}

#[test]
fn the_annotated_file_parses_to_the_defaults() {
    assert_eq!(Config::parse(ANNOTATED), Ok(Config::default()));
    assert_eq!(Config::parse(""), Ok(Config::default()));
    let (settings, defaults) = (Config::default().settings(), Settings::default());
    assert_eq!(format!("{settings:?}"), format!("{defaults:?}"));
}

#[test]
fn flags_and_variables_are_named_after_their_keys() {
    let mut seen = BTreeSet::new();
    for key in KEYS {
        let whole = if key.table == "log" { format!("log_{}", key.name) } else { key.name.to_owned() };
        let (flag, variable) = match key.to_string().as_str() {
            // The flag of a list has a singular name, because it can be repeated.
            "server.trusted_proxies" => ("trusted-proxy".to_owned(), whole.to_ascii_uppercase()),
            "log.filter" => ("log".to_owned(), "LOG".to_owned()),
            _ => (whole.replace('_', "-"), whole.to_ascii_uppercase()),
        };
        assert_eq!(
            (key.flag, key.variable),
            (flag.as_str(), format!("CHANDLER_{variable}").as_str()),
            "{key}"
        );
        assert!(!key.value.is_empty() && !key.help.is_empty() && seen.insert(key.flag), "{key}");
    }
    let command = Arguments::augment_args(clap::Command::new("serve"));
    let own = KEYS.iter().filter(|key| !key.is_everywhere).count();
    assert_eq!(command.get_arguments().count(), own + 1, "one more is the file itself");
}

#[test]
fn a_flag_changes_only_its_key() {
    for key in KEYS {
        let text = match key.to_string().as_str() {
            "server.floors" => "none",
            "server.pkce" => "always",
            "server.without_trades" => "true",
            "server.public_url" => "https://candles.example.com",
            "server.trusted_proxies" => "10.0.0.0/8",
            "server.regional" => "us=127.0.0.1:9",
            "log.filter" => "debug",
            "log.format" => "json",
            "log.requests" => "false",
            "server.levels_from" => "paper",
            "node.cache_size" => "9GB",
            "node.grace" => "9s",
            "limits.push_queue" => "5000",
            "server.read_through_markets" => "HK",
            "server.read_through_periods" => "day",
            _ if key.value == "ADDRESS:PORT" => "127.0.0.1:9",
            _ => "9",
        };
        let mut config = Config::default();
        key.lay(&mut config, &[text.to_owned()]).unwrap_or_else(|error| panic!("{key}: {error}"));
        let defaults = Config::default().values();
        let changed =
            config.values().into_iter().zip(defaults).filter(|((_, value), (_, default))| value != default);
        let changed: Vec<String> = changed.map(|((key, _), _)| key.to_string()).collect();
        assert_eq!(changed, [key.to_string()]);
        let settings = format!("{:?}", config.settings());
        let is_same = settings == format!("{:?}", Settings::default());
        // Log settings are not part of the server's settings, a TLS key without its certificate has
        // no effect, and the key file and the mirrors are opened before the server starts.
        let is_opened =
            matches!(key.name, "tls_key" | "key_file" | "mirror") || key.name.starts_with("read_through");
        assert_eq!(is_same, key.table == "log" || is_opened, "{key}");
    }
}

#[test]
fn a_switch_needs_no_value() {
    let is_on = |flags: &[&str]| {
        let command = Arguments::augment_args(clap::Command::new("serve"));
        let matches = command.try_get_matches_from([&["serve"], flags].concat()).unwrap();
        Arguments::from_arg_matches(&matches).unwrap().config().unwrap().server.without_trades
    };
    assert!(!is_on(&[]) && !is_on(&["--without-trades=false"]));
    assert!(is_on(&["--without-trades"]) && is_on(&["--without-trades=true"]));
    assert!(is_on(&["--without-trades", "--listen", "127.0.0.1:9"]));
}

#[test]
fn a_regional_listener_is_parsed_from_a_string_or_a_table() {
    let expected = [RegionalConfig { region: Region::Us, listen: "127.0.0.1:8081".parse().unwrap() }];
    for text in [
        "[server]\nregional = [{ region = \"us\", listen = \"127.0.0.1:8081\" }]",
        "[[server.regional]]\nregion = \"US\"\nlisten = \"127.0.0.1:8081\"",
        "[server]\nregional = [\"us=127.0.0.1:8081\"]",
    ] {
        assert_eq!(Config::parse(text).unwrap().server.regional, expected);
    }
    assert_eq!("us=127.0.0.1:8081".parse(), Ok(expected[0]));
    for wrong in ["", "us", "eu=127.0.0.1:8081", "us=8081", "=127.0.0.1:1"] {
        assert!(wrong.parse::<RegionalConfig>().is_err(), "{wrong}");
    }
}

#[test]
fn examples_in_the_annotated_file_are_valid() {
    let shown = |begin: &str, lines: usize| -> String {
        let shown = ANNOTATED.lines().filter_map(|line| line.strip_prefix("#     "));
        let lines: Vec<&str> = shown.skip_while(|line| *line != begin).take(lines).collect();
        format!("{}\n", lines.join("\n"))
    };
    let us = RegionalConfig { region: Region::Us, listen: "127.0.0.1:8081".parse().unwrap() };
    let line = format!("[server]\n{}", shown("regional = [\"us=127.0.0.1:8081\"]", 1));
    for text in [line, shown("[[server.regional]]", 3)] {
        assert_eq!(Config::parse(&text).unwrap().server.regional, [us], "{text}");
    }
}

#[test]
fn two_settings_cannot_use_one_port() {
    let clashes = |one: &str, other: &str| {
        let before = [("listen", one.parse().unwrap())];
        clash("tcp", other.parse().unwrap(), &before).is_some()
    };
    for (one, other) in [
        ("127.0.0.1:5", "127.0.0.1:5"),
        ("0.0.0.0:5", "127.0.0.1:5"),
        ("0.0.0.0:5", "0.0.0.0:5"),
        ("[::]:5", "[::1]:5"),
        ("[::]:5", "127.0.0.1:5"),
        ("[::]:5", "0.0.0.0:5"),
        ("[::ffff:127.0.0.1]:5", "127.0.0.1:5"),
        ("[fe80::1%2]:5", "[fe80::1%2]:5"),
    ] {
        assert!(clashes(one, other) && clashes(other, one), "{one} and {other}");
    }
    for (one, other) in [
        ("127.0.0.1:5", "127.0.0.1:6"),
        ("127.0.0.1:5", "127.0.0.2:5"),
        ("127.0.0.1:5", "[::1]:5"),
        ("0.0.0.0:5", "[::1]:5"),
        ("[fe80::1%2]:5", "[fe80::1%3]:5"),
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("0.0.0.0:0", "[::]:0"),
    ] {
        assert!(!clashes(one, other) && !clashes(other, one), "{one} and {other}");
    }
    let at = |text: &str| text.parse().unwrap();
    let config = ServerConfig { internal: Some(at("0.0.0.0:2020")), ..ServerConfig::default() };
    let says = config.check_ports().unwrap_err();
    assert_eq!(
        says,
        "internal is 0.0.0.0:2020 and tcp is 127.0.0.1:2020: one port cannot be both: give internal another port"
    );
}

#[test]
fn errors_are_reported_with_their_line() {
    for (text, says) in [
        ("[server]\nlisten = \"here\"", &["line 2", "socket address"][..]),
        ("[server]\n\nlisten_on = \"127.0.0.1:1\"", &["line 3", "listen_on"]),
        ("[sever]\n", &["line 1", "sever"]),
        ("[server]\nconnections_max = 0", &["connections_max", "1 to"]),
        ("[server]\ncache_mb = -1", &["line 2"]),
        ("[[server.regional]]\nregion = \"eu\"\nlisten = \"127.0.0.1:1\"", &["line 2", "eu", "ap or us"]),
        ("[[server.regional]]\nregion = \"us\"", &["line 1", "listen"]),
        ("[[server.regional]]\nregion = \"us\"\nport = 1", &["line 3", "port"]),
        ("[server]\nregional = [\"eu=127.0.0.1:1\"]", &["line 2", "eu=", "us=127.0.0.1:8081"]),
        ("[server]\nregional = [8081]", &["line 2", "8081", "us=127.0.0.1:8081"]),
        ("[server]\npublic_url = \"example.com\"", &["line 2", "https://"]),
        ("[server]\ntrusted_proxies = [\"10.0.0.1/8\"]", &["line 2", "10.0.0.1/8", "prefix"]),
        ("[server]\ntrusted_proxies = [\"0.0.0.0/0\"]", &["line 2", "every address"]),
        ("[server]\ninternal = \"9090\"", &["line 2", "9090", "address"]),
        ("[server]\ntls_key = \"key.pem\"", &["tls_cert", "both"]),
        ("[limits]\ncalls_at_once = 0", &["calls_at_once", "1 to"]),
        ("[limits]\nthreads = 25", &["threads", "0 to 24"]),
        ("[server]\naudit_retention_days = 36501", &["audit_retention_days", "0 to 36500"]),
        ("[server]\naudit_retention_days = -1", &["line 2"]),
        ("[server]\npkce = \"sometimes\"", &["line 2", "sometimes", "remote"]),
        ("[server]\nlevels_from = \"both\"", &["line 2", "both", "auto, reported or paper"]),
        ("[server]\nlevels_from_paper = true", &["line 2", "levels_from_paper", "replaced by `levels_from`"]),
        ("[log]\nrequests = 1", &["line 2"]),
        ("[log]\nformat = \"xml\"", &["line 2", "xml"]),
        ("[log]\nfilter = \"info,server=loud\"", &["server=loud", "not a log filter"]),
        ("[server", &["line 1"]),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
        says.iter().for_each(|word| assert!(error.contains(word), "{word:?} is not in {error:?}"));
    }
}
