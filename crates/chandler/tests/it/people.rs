//! Tests of `chandler account password` and `chandler account device`.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Stdio;
use std::time::Duration;

use access::{Access, Login, Moment, NewClient, PresentedClient, Secret};
use market::Timestamp;

use crate::world::{Ran, World, days, machine_seconds};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PASSWORD: &str = "paraffin and twine";

fn world() -> World {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ann"]);
    world
}

/// Returns the machine's time, which passwords, codes and sessions use regardless of `--clock`.
fn moment() -> Moment {
    Moment { now: Timestamp(machine_seconds()), uptime: Duration::from_secs(1) }
}

fn accounts(world: &World) -> Access {
    Access::open(world.path("store"), moment().now).unwrap()
}

fn with_input(world: &World, arguments: &[&str], input: &str) -> Ran {
    let mut command = world.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that rejects its arguments does not read stdin, so the write may fail.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    Ran::of(child.wait_with_output().unwrap())
}

fn signs_in(world: &World, password: &str) -> bool {
    let password = Secret::new(password.to_owned());
    let login = Login { name: "ann", password: &password, address: HERE, device: None };
    accounts(world).sign_in(&login, moment()).is_ok()
}

#[test]
fn a_password_is_read_from_stdin_and_never_printed() {
    let world = world();
    for flag in [&["account", "password", "ann"][..], &["account", "password", "ann", "--stdin"]] {
        let ran = with_input(&world, flag, &format!("{PASSWORD}\nsomething else\n"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("paraffin"));
        assert!(signs_in(&world, PASSWORD));
    }
    for entry in std::fs::read_dir(world.path("store")).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(8).any(|part| part == b"paraffin"));
    }
    let audit = world.ok(&["audit"]);
    assert!(audit.contains("password.set") && !audit.contains("argon2"), "{audit}");
    assert!(world.ok(&["account", "password", "ann", "--remove"]).contains("no longer has a password"));
    assert!(world.ok(&["account", "password", "ann", "--remove"]).contains("had no password"));
    assert!(!signs_in(&world, PASSWORD));
}

#[test]
fn a_link_sets_the_password_once() {
    let world = world();
    let output = world.ok(&["account", "password", "ann", "--link", "--url", "https://charts.example"]);
    let address = output.lines().next().unwrap();
    let token = address.strip_prefix("https://charts.example/password?link=").unwrap();
    let password = Secret::new(PASSWORD.to_owned());
    let set = || accounts(&world).set_password_by_link(token, &password, HERE, moment()).is_ok();
    assert!(set() && signs_in(&world, PASSWORD) && !set());
    let audit = world.ok(&["audit"]);
    assert!(audit.contains("password.link.issued") && !audit.contains(token), "{audit}");
    world.ok(&["account", "revoke", "ann"]);
    let ran = world.run(&["account", "password", "ann", "--link"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("is revoked"), "{}", ran.stderr);
}

#[test]
fn an_invalid_password_is_refused_and_not_printed() {
    let world = world();
    let long = "x".repeat(1_025);
    for (input, said) in [
        ("seven77\n", "fewer than 8 bytes"),
        ("", "fewer than 8"),
        (&long, "more than 1024"),
        ("tab\there\n", "control"),
    ] {
        let ran = with_input(&world, &["account", "password", "ann"], input);
        assert_eq!(ran.code, Some(2), "{input:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert!(input.is_empty() || !ran.stderr.contains(input.trim_end()), "{}", ran.stderr);
    }
    let ran = with_input(&world, &["account", "password", "nobody"], "12345678\n");
    assert!(ran.code == Some(1) && ran.stderr.contains("there is no account"), "{}", ran.stderr);
    world.ok(&["account", "revoke", "ann"]);
    let ran = with_input(&world, &["account", "password", "ann"], "12345678\n");
    assert!(ran.code == Some(2) && ran.stderr.contains("is revoked"), "{}", ran.stderr);
}

/// Starts a device login and returns its user code.
fn waiting(world: &World) -> String {
    let access = accounts(world);
    let new = NewClient { name: Some("Workbench".to_owned()), ..NewClient::default() };
    let client = access.register_client(&new, HERE, moment()).unwrap().client.id;
    let proof = PresentedClient { id: &client, secret: None };
    access.start_device(&proof, "", HERE, moment()).unwrap().user_code.expose().to_owned()
}

#[test]
fn an_operator_approves_or_denies_a_code_once() {
    let world = world();
    let code = waiting(&world);
    let typed = code.to_lowercase().replace('-', " ");
    let said = world.ok(&["account", "device", "approve", &typed, "--account", "ann"]);
    assert!(said.contains("\"Workbench\"") && said.contains("may use account \"ann\""), "{said}");
    let (exit, again) = world.fails(&["account", "device", "deny", &code, "--account", "ann"]);
    assert_eq!(exit, 1);
    assert!(again.contains("there is no pending request with the code"), "{again}");
    let audit = world.ok(&["audit"]);
    assert!(audit.contains("operator") && audit.contains("Workbench"), "{audit}");
    let denied = world.ok(&["account", "device", "deny", &waiting(&world), "--account", "ann"]);
    assert!(denied.contains("may not use"), "{denied}");
    for wrong in ["", "BCDF-GHJK", "AAAA-AAAA", &"B".repeat(10_000)] {
        let (exit, said) = world.fails(&["account", "device", "approve", wrong, "--account", "ann"]);
        assert!(exit == 1 && said.len() < 200, "{said}");
    }
    let (exit, _) = world.fails(&["account", "device", "approve", "BCDF-GHJK"]);
    assert_eq!(exit, 2, "an account has to be named");
}
