//! Tests of features that only a store on PostgreSQL has. `e2e/` tests all other commands with such
//! a store.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::postgres_server::{Place, server};
use crate::world::{Ran, World, days};

/// Test folder whose store is on PostgreSQL.
struct Served {
    world: World,
    place: Place,
}

impl Served {
    fn new() -> Served {
        let served = Served { world: World::new(), place: server().database("") };
        served.world.write("days.csv", days("700.HK"));
        served.ok(&["import", "days.csv", "--quiet"]);
        served.ok(&["account", "create", "ann"]);
        served
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("CHANDLER_STORE", self.place.url()).env("CHANDLER_KEY_FILE", self.world.path("key"));
        command.env("HOME", self.world.path("home")).env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Runs a command that must fail. Returns the exit code and stderr.
    fn fails(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let ran = self.run(arguments);
        assert_ne!(ran.code, Some(0), "{arguments:?}: {}", ran.stdout);
        (ran.code, ran.stderr.trim_end().to_owned())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[arguments, &["--format", "json"]].concat())).unwrap()
    }
}

#[test]
fn a_wrong_or_missing_key_is_refused() {
    let served = Served::new();
    let key = served.world.path("key");
    assert_eq!(std::fs::read(&key).unwrap().len(), 32);
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    served.ok(&["account", "list"]);
    let other = served.world.write("other", [7; 32]);
    std::fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
    for (file, says) in [("other", "sealed with another key than other"), ("none", "none is missing")] {
        for command in
            [&["account", "list"][..], &["serve", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]]
        {
            let (code, line) = served.fails(&[command, &["--key-file", file]].concat());
            assert!(code == Some(1) && line.lines().count() == 1 && line.contains(says), "{line}");
            assert!(line.contains("copy the key file"), "{line}");
        }
    }
    assert!(!served.world.path("none").exists(), "none is made where another is needed");
    let found = served.place.sql("accounts", "select length(fingerprint) from sealing_key");
    assert_eq!(found, "32");
    // Reading candles needs no key.
    served.ok(&["kline", "700.HK", "--key-file", "none"]);
}

#[test]
fn the_doctor_checks_the_server() {
    let served = Served::new();
    let ran = served.run(&["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--format", "json"]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &found["ok"]), (Some(0), &Value::Bool(true)), "{found:#}");
    let says = |name: &str| -> String {
        let check = found["checks"].as_array().unwrap().iter().find(|check| check["check"] == name);
        check.unwrap_or_else(|| panic!("{name}: {found:#}"))["says"].as_str().unwrap().to_owned()
    };
    assert!(says("PostgreSQL").contains("primary, version 1"), "{}", says("PostgreSQL"));
    assert!(says("PostgreSQL").contains("page checksums"));
    assert!(says("database").contains("UTF8: candle schema"), "{}", says("database"));
    assert!(says("database clock").contains("this machine's clock"));
    assert!(says("connections").contains("1 node may take"));
    assert!(says("standbys").contains("commits wait for none"));
    assert!(says("archiving").starts_with("off"));
    assert_eq!(says("nodes"), "none is running");
    assert!(says("key file").contains("decrypts every app secret (1)"));
    assert!(says("disk").contains("cache"));
    let away = served.place.url().replacen("127.0.0.1", "127.0.0.1:1,127.0.0.1", 1);
    let ran = served.run(&["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--store", &away]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("warn  PostgreSQL      127.0.0.1:1 does not respond"), "{}", ran.stdout);
    let stranger = served.place.url_of("postgres", 1, "");
    let ran =
        served.run(&["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0", "--store", &stranger]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("fail  PostgreSQL") && ran.stdout.contains("cannot be reached"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_schema_older_than_the_baseline_is_refused() {
    let served = Served::new();
    served.place.sql("candles", "update migration set version = 8 where version > 0");
    for command in [&["list"][..], &["import", "days.csv"], &["serve", "--listen", "127.0.0.1:0"]] {
        let (code, line) = served.fails(command);
        assert!(code == Some(1) && line.lines().count() == 1 && line.contains("commit cd517f10"), "{line}");
    }
    let ran = served.run(&["doctor", "--listen", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]);
    assert!(ran.stdout.contains("fail  store") && ran.stdout.contains("commit cd517f10"), "{}", ran.stdout);
}

#[test]
fn a_check_reports_how_pages_are_verified() {
    let served = Served::new();
    assert!(
        served
            .ok(&["check"])
            .ends_with("accounts: no damage found\npages: checked by PostgreSQL, with checksums\n")
    );
    assert_eq!(served.json(&["check"])["page_checksums"], true);
    served.place.sql("candles", "update block_body set body = '\\x00'");
    let ran = served.run(&["check"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("problem"), "{}{}", ran.stdout, ran.stderr);
}

/// Runs a printed command with PostgreSQL's programs and the `chandler` executable in `PATH`.
fn typed(served: &Served, command: &str) -> Ran {
    let bin = served.world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let link = bin.join("chandler");
    if !link.exists() {
        std::os::unix::fs::symlink(crate::world::executable(), &link).unwrap();
    }
    let mut path = std::ffi::OsString::from(&bin);
    path.push(":");
    path.push(server().programs());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).current_dir(served.world.path("")).env_clear();
    shell.envs(served.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(shell.env("PATH", path).output().unwrap())
}

#[test]
fn a_backup_is_made_verified_and_restored_by_the_printed_commands() {
    let served = Served::new();
    let ran = served.run(&["backup", "saved", "--format", "json"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("pg_dump"), "{}", ran.stderr);
    assert!(!served.world.path("saved").exists());
    let output: Value = serde_json::from_str(&ran.stdout).unwrap();
    let command = |at: usize| output["instead"][at]["command"].as_str().unwrap().to_owned();
    // A user without the replication privilege cannot make a base backup, so that command is
    // skipped.
    for at in 0..3 {
        let ran = typed(&served, &command(at));
        assert_eq!(ran.code, Some(0), "{}: {}{}", command(at), ran.stdout, ran.stderr);
    }
    let saved: Vec<String> = std::fs::read_dir(served.world.path("saved"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let dump = saved.iter().find(|name| name.ends_with(".dump")).map(|name| format!("saved/{name}")).unwrap();
    let base =
        saved.iter().find(|name| name.starts_with("base-")).map(|name| format!("saved/{name}")).unwrap();
    let verified = served.json(&["backup", "--verify", &dump, "--quiet"]);
    assert_eq!(
        (&verified["verified"], &verified["candles"], &verified["accounts"]),
        (&true.into(), &10.into(), &1.into())
    );
    let left = "select count(*) from pg_database where datname like '%_verify_%'";
    assert_eq!(server().sql("postgres", left).unwrap(), "0", "nothing is left of it");

    // A truncated dump is not accepted.
    let whole = std::fs::read(served.world.path(&dump)).unwrap();
    served.world.write("cut.dump", &whole[..whole.len() / 2]);
    served.world.write("junk.dump", [7; 5_000]);
    for (file, code) in [("cut.dump", 1), ("junk.dump", 1), ("none.dump", 2)] {
        let (found, line) = served.fails(&["backup", "--verify", file, "--quiet"]);
        assert!(found == Some(code) && line.lines().count() == 1 && line.contains(file), "{line}");
    }
    assert!(served.ok(&["backup", "--verify", &base]).contains("every file matches"));
    bend(&served.world.path(&base).join("PG_VERSION"));
    let (code, line) = served.fails(&["backup", "--verify", &base]);
    assert!(code == Some(1) && line.contains("PG_VERSION"), "{line}");
    assert_eq!(served.fails(&["backup", "--verify", "saved"]).0, Some(2));

    // The printed command restores the dump.
    served.ok(&["account", "create", "late"]);
    let ran = served.run(&["restore", &dump, "--format", "json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let output: Value = serde_json::from_str(&ran.stdout).unwrap();
    let command = output["instead"][0]["command"].as_str().unwrap();
    let ran = typed(&served, command);
    assert_eq!(ran.code, Some(0), "{command}: {}{}", ran.stdout, ran.stderr);
    let names: Vec<String> = served
        .json(&["account", "list"])
        .as_array()
        .unwrap()
        .iter()
        .map(|account| account["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["ann"]);
}

fn bend(path: &Path) {
    std::fs::write(path, "nothing like it").unwrap();
}

#[test]
fn a_user_without_createdb_verifies_a_backup_in_a_given_database() {
    let served = Served::new();
    let role = format!("plain_{}", served.place.database());
    server().sql("postgres", &format!("create role {role} login")).unwrap();
    let schemas = format!("{}, {}", served.place.schema("candles"), served.place.schema("accounts"));
    served
        .place
        .database_sql(&format!("grant usage on schema {schemas} to {role}; grant select on all tables in schema {schemas} to {role}"))
        .unwrap();
    let output: Value =
        serde_json::from_str(&served.run(&["backup", "saved", "--format", "json"]).stdout).unwrap();
    let ran = typed(&served, output["instead"][0]["command"].as_str().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let dump = std::fs::read_dir(served.world.path("saved")).unwrap().next().unwrap().unwrap().path();
    let dump = dump.to_str().unwrap();
    let as_role = served.place.url_of(&role, server().port(), "");
    let (code, line) = served.fails(&["backup", "--verify", dump, "--quiet", "--store", &as_role]);
    assert!(code == Some(1) && line.contains("createdb") && line.contains("--into"), "{line}");
    let spare = format!("spare_{}", served.place.database());
    server().sql("postgres", &format!("create database {spare} owner {role}")).unwrap();
    let into = as_role.replacen(&format!("/{}?", served.place.database()), &format!("/{spare}?"), 1);
    let verify = ["backup", "--verify", dump, "--quiet", "--store", &as_role, "--into", &into];
    assert!(served.ok(&verify).contains("no damage found"));
    let (code, line) = served.fails(&verify);
    assert!(code == Some(1) && line.contains("contains a store"), "{line}");
    server().sql("postgres", &format!("drop database {spare} with (force)")).unwrap();
    served.place.database_sql(&format!("drop owned by {role}")).unwrap();
    server().sql("postgres", &format!("drop role {role}")).unwrap();
}

#[test]
fn a_store_is_moved_to_the_server_with_its_key_and_back() {
    let world = World::with(&[("days.csv", &days("700.HK"))]);
    world.ok(&["account", "create", "ann"]);
    let served = Served { world, place: server().place() };
    let (here, there) = (format!("sqlite:{}", served.world.path("store").display()), served.place.url());
    let moved = served.json(&["move", "--from", &here, "--to", &there, "--quiet"]);
    assert_eq!(moved["resumed"], false);
    let of = |name: &str| {
        moved["tables"].as_array().unwrap().iter().find(|table| table["table"] == name).unwrap().clone()
    };
    assert_eq!((&of("account")["rows"], &of("account")["database"]), (&1.into(), &"accounts".into()));
    assert_eq!(of("security")["blake3"].as_str().unwrap().len(), 64);
    let [old, new] = ["store/secret.key", "key"].map(|name| std::fs::read(served.world.path(name)).unwrap());
    assert_eq!(old, new);
    served.ok(&["account", "list"]);
    assert!(served.ok(&["kline", "700.HK", "-n", "1"]).contains("2026-11-13"));
    let (code, line) = served.fails(&["move", "--from", &here, "--to", &there, "--quiet"]);
    assert!(code == Some(1) && line.contains("is not empty"), "{line}");
    let (code, line) = served.fails(&["move", "--from", &here, "--to", &here, "--quiet"]);
    assert!(code == Some(2) && line.contains("to itself"), "{line}");
    served.ok(&["move", "--from", &there, "--to", "sqlite:back", "--quiet"]);
    assert_eq!(std::fs::read(served.world.path("back/secret.key")).unwrap(), old);
    assert!(served.ok(&["account", "list", "--store", "sqlite:back"]).contains("ann"));
    // If the destination has a key file with another key, nothing is copied.
    served.world.write("taken", [7; 32]);
    std::fs::set_permissions(served.world.path("taken"), Permissions::from_mode(0o600)).unwrap();
    let elsewhere = server().place();
    let (code, line) =
        served.fails(&["move", "--from", &here, "--to", &elsewhere.url(), "--quiet", "--key-file", "taken"]);
    assert!(code == Some(1) && line.contains("differs from the key"), "{line}");
    let schemas =
        format!("select count(*) from pg_namespace where nspname = '{}'", elsewhere.schema("candles"));
    assert_eq!(elsewhere.database_sql(&schemas).unwrap(), "0");
}

#[test]
fn node_settings_come_from_the_file_and_flags() {
    let world = World::new();
    world.write("node.toml", "[node]\nkey_file = \"/etc/chandler/key\"\ncache = \"/var/cache/x\"\ncache_size = \"20GB\"\ngrace = \"90s\"\n");
    let shown = world.json(&["config", "show", "--config", "node.toml", "--node-name", "one"]);
    let value = |key: &str| {
        let setting =
            shown["settings"].as_array().unwrap().iter().find(|setting| setting["key"] == key).unwrap();
        format!("{} {}", setting["value"].as_str().unwrap(), setting["source"].as_str().unwrap())
    };
    assert_eq!(value("node.key_file"), "/etc/chandler/key file");
    assert_eq!(value("node.cache_size"), "20GB file");
    assert_eq!(value("node.grace"), "90s file");
    assert_eq!(value("node.node_name"), "one flag");
    let shown = world.json(&["config", "show", "--config", "node.toml", "--key-file", "mine"]);
    let key = shown["settings"].as_array().unwrap().iter().find(|one| one["key"] == "node.key_file").unwrap();
    assert_eq!((&key["value"], &key["from"]), (&"mine".into(), &"--key-file".into()));
    for (line, says) in [
        ("cache_size = \"20\"", "not a size"),
        ("grace = \"2d\"", "not a duration"),
        ("node_name = \"a b\"", "cannot name a server"),
    ] {
        world.write("wrong.toml", format!("[node]\n{line}\n"));
        let (code, said) = world.fails(&["config", "check", "wrong.toml"]);
        assert!(code == 1 && said.contains(says) && said.contains("line 2"), "{said}");
    }
}

#[test]
fn a_store_url_with_a_password_is_refused_and_not_printed() {
    let world = World::new();
    let address = "postgres://ann:tallow9@127.0.0.1/db";
    for arguments in [&["list", "--store", address][..], &["move", "--from", address, "--to", "sqlite:x"]] {
        let (code, line) = world.fails(arguments);
        assert!(code == 2 && line.contains("PGPASSWORD") && !line.contains("tallow9"), "{line}");
    }
    let ran = Ran::of(world.command(&["list", "--help"]).env("CHANDLER_STORE", address).output().unwrap());
    assert!(ran.code == Some(0) && !ran.stdout.contains("tallow9"), "{}", ran.stdout);
}
