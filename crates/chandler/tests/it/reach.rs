//! Tests of problems between a command and a server: invalid addresses, missing home folders,
//! signals and certificates.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Command;
use std::sync::mpsc;

use crate::remote::Server;
use crate::world::{Ran, World, days, send};

fn world() -> World {
    World::with(&[("days.csv", &days("700.HK"))])
}

fn token(world: &World) -> String {
    let account = world.json(&["account", "create", "ann"]);
    account["access_token"].as_str().unwrap().to_owned()
}

/// Returns a command without a store, and with a token in its environment.
fn bare(world: &World, arguments: &[&str], token: &str) -> Command {
    let mut command = world.command(arguments);
    command.env_remove("CHANDLER_STORE").env("CHANDLER_TOKEN", token);
    command
}

#[test]
fn no_token_is_sent_to_an_invalid_address() {
    let world = World::new();
    for (address, says) in [
        ("http://127.0.0.1:99999", "65535"),
        ("http://127.0.0.1:0", "65535"),
        ("http://127.0.0.1:", "65535"),
        ("https://ann:hush@example.org", "user name"),
        ("http://127.0.0.1#x", "write http://127.0.0.1:8080"),
        ("http://127.0.0.1 ", "write http://127.0.0.1:8080"),
    ] {
        let flag = bare(&world, &["kline", "700.HK", "--server", address], "ap_x").output().unwrap();
        let variable = bare(&world, &["kline", "700.HK"], "ap_x").env("CHANDLER_SERVER", address).output();
        for ran in [flag, variable.unwrap()].map(Ran::of) {
            assert_eq!(ran.code, Some(2), "{address}: {}", ran.stderr);
            assert!(ran.stderr.contains(says) && !ran.stderr.contains("hush"), "{address}: {}", ran.stderr);
        }
    }
}

#[cfg(unix)]
#[test]
fn the_first_ctrl_c_ends_a_command_that_waits_for_a_silent_server() {
    for arguments in [&["kline", "700.HK"][..], &["login"]] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, request) = mpsc::channel();
        // The server reads the request, sends no response, and holds the connection open until the
        // client closes it.
        let silent = std::thread::spawn(move || {
            let mut lines = BufReader::new(listener.accept().unwrap().0).lines();
            while !lines.next().unwrap().unwrap().is_empty() {}
            sender.send(()).unwrap();
            lines.for_each(drop);
        });
        let world = World::new();
        let mut command = bare(&world, &[arguments, &["--server", &url]].concat(), "ap_x");
        let mut child = command.env("HOME", world.path("home")).spawn().unwrap();
        request.recv().unwrap();
        send(&child, "INT");
        // A timeout would have ended the command with exit code 1.
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
        silent.join().unwrap();
    }
}

#[test]
fn a_token_in_the_environment_needs_neither_a_home_nor_a_login() {
    let world = world();
    let server = Server::of(&world, &token(&world), &[]);
    world.write("home/.config/chandler/login.json", "not a login");
    let here = world.ok(&["kline", "700.HK", "-n", "2"]);
    for home in [None, Some(world.path("home"))] {
        for arguments in [&["kline", "700.HK", "-n", "2"][..], &["auth", "status"], &["connections"]] {
            let mut command = bare(&world, &[arguments, &["--server", &server.url]].concat(), &server.token);
            command.envs(home.iter().map(|home| ("HOME", home)));
            let ran = Ran::of(command.output().unwrap());
            assert_eq!(ran.code, Some(0), "{arguments:?} {home:?}: {}", ran.stderr);
            if arguments.contains(&"kline") {
                assert_eq!(ran.stdout, here);
            }
        }
    }
    // Without a home folder there is no login, and the error gives advice.
    let mut without = bare(&world, &["kline", "700.HK", "--server", &server.url], "");
    let ran = Ran::of(without.output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("HOME") && ran.stderr.contains("CHANDLER_TOKEN"), "{}", ran.stderr);
}

#[test]
fn commands_that_need_no_store_need_no_home() {
    let world = World::new();
    world.write("chandler.toml", "[server]\ncache_mb = 8\n");
    for arguments in [
        &["--version"][..],
        &["man"],
        &["completions", "bash"],
        &["config", "show"],
        &["config", "show", "--format", "json"],
        &["config", "check", "chandler.toml"],
        &["calendar"],
    ] {
        let ran = Ran::of(bare(&world, arguments, "").output().unwrap());
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{arguments:?}");
    }
    for arguments in [&["inspect"][..], &["demo"], &["serve"], &["kline", "700.HK"], &["kline", "700"]] {
        let ran = Ran::of(bare(&world, arguments, "").output().unwrap());
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        if arguments != ["kline", "700"] {
            assert!(ran.stderr.contains("HOME") && ran.stderr.contains("--store"), "{}", ran.stderr);
        }
    }
    let doctor = Ran::of(bare(&world, &["doctor"], "").output().unwrap());
    assert!(doctor.stdout.contains("no store is given"), "{}{}", doctor.stdout, doctor.stderr);
}

/// Writes a self-signed certificate for localhost, and its key.
#[cfg(target_os = "linux")]
fn certify(world: &World, file: &str, name: &str, is_ca: rcgen::IsCa) -> [String; 2] {
    let mut wanted = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    wanted.is_ca = is_ca;
    wanted.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().unwrap();
    let files = ["pem", "key"].map(|kind| format!("{file}.{kind}"));
    world.write(&files[0], wanted.self_signed(&key).unwrap().pem());
    world.write(&files[1], key.serialize_pem());
    files
}

/// Starts a TLS server with a self-signed certificate for `name`.
#[cfg(target_os = "linux")]
fn with_tls(world: &World, token: &str, name: &str, is_ca: rcgen::IsCa) -> Server {
    let [cert, key] = certify(world, name, name, is_ca);
    let mut server = Server::of(world, token, &["--tls-cert", &cert, "--tls-key", &key]);
    server.url = server.url.replace("http://127.0.0.1", "https://localhost");
    server
}

#[cfg(target_os = "linux")]
#[test]
fn tls_errors_are_one_line_with_advice() {
    let world = world();
    let token = token(&world);
    let good = with_tls(&world, &token, "good", rcgen::IsCa::ExplicitNoCa);
    let authority =
        with_tls(&world, &token, "authority", rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained));
    let plain = Server::of(&world, &token, &[]);
    let run = |url: &str, trusted: &str| {
        let mut command = bare(&world, &["kline", "700.HK", "-n", "2", "--server", url], &token);
        Ran::of(command.env("SSL_CERT_FILE", world.path(trusted)).output().unwrap())
    };
    let trusted = run(&good.url, "good.pem");
    assert_eq!((trusted.code, trusted.stdout), (Some(0), world.ok(&["kline", "700.HK", "-n", "2"])));
    // This certificate has the same name as the server's current certificate, but another key.
    certify(&world, "former", "good", rcgen::IsCa::ExplicitNoCa);
    world.write("empty.pem", "");
    let numbered = good.url.replace("localhost", "127.0.0.1");
    let (unsealed, sealed) = (good.url.replace("https", "http"), plain.url.replace("http", "https"));
    for (url, trusted, says) in [
        (&good.url, "authority.pem", "SSL_CERT_FILE"),
        (&good.url, "former.pem", "SSL_CERT_FILE"),
        (&good.url, "empty.pem", "SSL_CERT_FILE"),
        (&numbered, "good.pem", "for another name"),
        (&authority.url, "authority.pem", "create one with CA:FALSE"),
        (&unsealed, "good.pem", &format!("write {}", good.url)),
        (&sealed, "good.pem", &format!("write {}", plain.url)),
    ] {
        let ran = run(url, trusted);
        assert_eq!(ran.code, Some(1), "{url}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{url}: {says:?} is not in {:?}", ran.stderr);
        for noise in ["OtherError", "InvalidContentType", "[", "rustls", "io:"] {
            assert!(!ran.stderr.contains(noise), "{url}: {noise:?} is in {:?}", ran.stderr);
        }
    }
}
