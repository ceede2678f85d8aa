//! Tests of `chandler sdk-env`: the SDKs' environment variables, and the shim folder for Python
//! programs that set their keys in code.

use crate::world::{Ran, World, days};

fn run(world: &World, arguments: &[&str]) -> Ran {
    let mut command = world.command(&[&["sdk-env"], arguments].concat());
    Ran::of(command.env("XDG_CACHE_HOME", world.path("cache dir")).output().unwrap())
}

#[test]
fn sdk_env_exports_addresses_and_keys_but_no_secrets() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    let ann = world.json(&["account", "create", "ann"]);
    let ran = run(&world, &["--url", "https://quotes.example.org"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.lines().all(|line| line.starts_with("export ")), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("export LONGPORT_QUOTE_WS_URL='wss://quotes.example.org/v2'\n"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("APP_KEY") && !ran.stdout.contains("PYTHONPATH"), "{}", ran.stdout);
    let ran = run(&world, &["--account", "ann"]);
    let key = format!("export LONGBRIDGE_APP_KEY='{}'\n", ann["app_key"].as_str().unwrap());
    assert!(
        ran.stdout.contains(&key) && ran.stdout.contains("# account 1: its app secret"),
        "{}",
        ran.stdout
    );
    for secret in ["app_secret", "access_token"] {
        assert!(!ran.stdout.contains(ann[secret].as_str().unwrap()), "{secret}");
    }
    let ran = run(&world, &["--account", "bob"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("bob"), "{:?} {}", ran.code, ran.stderr);
    let none = world.command(&["sdk-env", "--python-shim"]).output().map(Ran::of).unwrap();
    assert!(none.code == Some(2) && none.stderr.contains("HOME"), "{}", none.stderr);
}

#[cfg(unix)]
#[test]
fn the_shim_folder_is_prepended_to_pythonpath() {
    let world = World::new();
    let ran = run(&world, &["--python-shim"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let folder = world.path("cache dir/chandler/python-shim");
    assert!(std::fs::read_to_string(folder.join("sitecustomize.py")).unwrap().contains("class Finder"));
    for (before, after) in
        [("", folder.display().to_string()), ("/a:/b", format!("{}:/a:/b", folder.display()))]
    {
        let line = format!("{}\nprintf %s \"$PYTHONPATH\"", ran.stdout);
        let mut shell = std::process::Command::new("/bin/sh");
        let actual = shell.args(["-c", &line]).env_clear().env("PYTHONPATH", before).output().unwrap();
        assert_eq!(String::from_utf8(actual.stdout).unwrap(), after);
    }
}
