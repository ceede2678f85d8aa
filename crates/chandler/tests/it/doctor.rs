//! Tests of `doctor` and `config check` with various server settings.

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::Value;

use crate::world::{Ran, World, days, machine_seconds};

const FREE: [&str; 4] = ["--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"];

/// Runs `doctor` and returns the exit code, and the verdict, text and advice of one check.
fn judged(world: &World, arguments: &[&str], env: &[(&str, &str)], check: &str) -> (Option<i32>, String) {
    let mut command = world.command(&[&["doctor", "--format", "json"], arguments].concat());
    let ran = Ran::of(command.envs(env.iter().copied()).output().unwrap());
    let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let of = found["checks"].as_array().unwrap().iter().filter(|one| one["check"] == check);
    let words = of.map(|one| format!("{} {} {}", one["verdict"], one["says"], one["advice"]));
    (ran.code, words.collect::<Vec<_>>().join("\n"))
}

/// Writes a certificate that is valid between two dates, in days since 1970-01-01.
fn certificate(world: &World, not_before: i64, not_after: i64) {
    let date = |days: i64| date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(days as u64 * 86_400);
    let mut parameters = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    (parameters.not_before, parameters.not_after) = (date(not_before), date(not_after));
    let key = KeyPair::generate().unwrap();
    world.write("cert.pem", parameters.self_signed(&key).unwrap().pem());
    world.write("key.pem", key.serialize_pem());
}

#[test]
fn expired_and_future_certificates_are_reported() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    let today = machine_seconds() / 86_400;
    let arguments = [&FREE[..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]].concat();
    for (from, to, code, says) in [
        (today - 900, today - 100, 1, ["\"fail\"", "expired at", "renew"]),
        (today + 100, today + 900, 1, ["\"fail\"", "is not valid before", "clock"]),
        (today - 100, today + 5, 0, ["\"warn\"", "expires at", "renew"]),
        (today - 100, today + 900, 0, ["\"ok\"", "cert.pem is valid until", "until"]),
    ] {
        certificate(&world, from, to);
        let (found, words) = judged(&world, &arguments, &[], "certificate");
        assert_eq!(found, Some(code), "{words}");
        says.iter().for_each(|word| assert!(words.contains(word), "{word} is not in {words}"));
    }
}

#[test]
fn a_missing_or_invalid_font_for_statements_is_reported() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.write("none.ttf", "not a font");
    for (arguments, code, says) in [
        // `setup.sh` installs a suitable font.
        (vec![], 0, ["\"ok\"", "Chinese statements use /"]),
        (vec!["--statement-font", "none.ttf"], 1, ["\"fail\"", "is not a font that can be embedded"]),
        (vec!["--statement-font", "gone.ttf"], 1, ["\"fail\"", "cannot read the font"]),
    ] {
        let (found, words) = judged(&world, &[&FREE[..], &arguments].concat(), &[], "statement font");
        assert_eq!(found, Some(code), "{words}");
        says.iter().for_each(|word| assert!(words.contains(word), "{word} is not in {words}"));
    }
}

#[test]
fn two_settings_for_one_port_are_an_invalid_configuration() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    world.write("twice.toml", "[server]\nlisten = \"127.0.0.1:5\"\ntcp = \"127.0.0.1:5\"\n");
    world.write("all.toml", "[server]\ninternal = \"[::]:8080\"\n");
    for (file, says) in [("twice.toml", "tcp is 127.0.0.1:5"), ("all.toml", "internal is [::]:8080")] {
        let (code, said) = world.fails(&["config", "check", file]);
        assert!(code == 1 && said.contains(file) && said.contains(says), "{code} {said}");
        let (code, said) = world.fails(&["serve", "--config", file]);
        assert!(code == 2 && said.contains(says) && !said.contains("in use"), "{code} {said}");
        let (code, words) = judged(&world, &["--config", file], &[], "port");
        assert!(code == Some(1) && words.contains(says), "{words}");
    }
    // A flag can move one of the two settings to another port.
    world.ok(&["config", "show", "--config", "twice.toml", "--tcp", "127.0.0.1:6"]);
    world.write("free.toml", "[server]\nlisten = \"127.0.0.1:0\"\ntcp = \"127.0.0.1:0\"\n");
    world.ok(&["config", "check", "free.toml"]);
}

#[test]
fn an_invalid_variable_is_reported_by_its_name() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    for (name, value, says) in [
        ("CHANDLER_CACHE_MB", "foo", "not a number from 0 to"),
        ("CHANDLER_CONNECTIONS_MAX", "0", "not a number from 1 to"),
        ("CHANDLER_LISTEN", "foo", "not an address"),
        ("CHANDLER_INTERNAL", "", "not an address"),
        ("CHANDLER_REGIONAL", "us=127.0.0.1:1,eu=127.0.0.1:2", "not a region"),
        ("CHANDLER_TRUSTED_PROXIES", "10.0.0.1/8", "prefix"),
        ("CHANDLER_PUBLIC_URL", "candles.example.com", "not a public URL"),
        ("CHANDLER_LOG", "server=loud", "not a log filter"),
        ("CHANDLER_LOG_FORMAT", "xml", "text or json"),
        ("CHANDLER_LOG_REQUESTS", "1", "neither true nor false"),
    ] {
        let (code, words) = judged(&world, &[], &[(name, value)], "configuration");
        assert!(code == Some(1) && words.contains("\"fail\""), "{name}: {words}");
        assert!(words.contains(&format!("\"{name} ")) && words.contains(says), "{name}: {words}");
        let mut command = world.command(&["serve"]);
        let ran = Ran::of(command.env(name, value).output().unwrap());
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("chandler: {name} ")), "{}", ran.stderr);
    }
    // An invalid flag is reported by the flag's name, even if the environment variable is invalid
    // as well.
    let mut command = world.command(&["serve", "--cache-mb", "foo"]);
    let ran = Ran::of(command.env("CHANDLER_CACHE_MB", "foo").output().unwrap());
    assert!(ran.code == Some(2) && ran.stderr.contains("chandler: --cache-mb \"foo\""), "{}", ran.stderr);
    let (code, words) = judged(&world, &FREE, &[("CHANDLER_SERVER", "nowhere")], "server");
    assert!(code == Some(1) && words.contains("nowhere"), "{words}");
    let (code, words) = judged(&world, &FREE, &[("CHANDLER_CONFIG", "")], "configuration");
    assert!(code == Some(1) && words.contains("cannot read"), "{words}");
}

#[test]
fn serving_other_machines_without_tls_is_a_warning() {
    let world = World::with(&[("a.csv", &days("700.HK"))]);
    let open = ["--listen", "0.0.0.0:0", "--tcp", "127.0.0.1:0"];
    let (code, words) = judged(&world, &open, &[], "TLS");
    assert!(code == Some(0) && words.starts_with("\"warn\"") && words.contains("tls_cert"), "{words}");
    let proxied = [&open[..], &["--trusted-proxy", "10.0.0.7"]].concat();
    for arguments in [&FREE[..], &proxied] {
        assert_eq!(judged(&world, arguments, &[], "TLS"), (Some(0), String::new()));
    }
}
