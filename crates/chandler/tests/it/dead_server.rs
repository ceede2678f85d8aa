//! Tests of all commands with `--server` against an unreachable server.

use crate::json_times::commands_with;
use crate::world::{Ran, World};

/// No process listens on this port, and the system never assigns it to tests.
const DEAD: &str = "http://127.0.0.1:1";

/// Commands and their arguments, without `--server`.
const ARGUMENTS: [(&str, &str); 39] = [
    ("kline", "700.HK"),
    ("order buy", "700.HK 100 --limit 306"),
    ("order sell", "700.HK 100 --limit 306"),
    ("order replace", "1000000001 --quantity 100 --limit 306"),
    ("order cancel", "1000000001"),
    ("order show", "1000000001"),
    ("order why", "1000000001"),
    ("grid info", "700.HK"),
    (
        "grid submit",
        "700.HK --base 305 --lower 300 --upper 310 --spread 0.4 --quantity 100 --min-position 100 --max-position 1000",
    ),
    ("grid replace", "1900000001 --spread 0.6"),
    ("grid cancel", "1900000001"),
    ("grid suspend", "1900000001"),
    ("grid restart", "1900000001"),
    ("grid show", "1900000001"),
    ("grid why", "1900000001"),
    ("quote", "700.HK"),
    ("watchlist create", "mine 700.HK"),
    ("watchlist add", "mine 700.HK"),
    ("watchlist remove", "mine 700.HK"),
    ("watchlist replace", "mine 700.HK"),
    ("watchlist rename", "mine other"),
    ("watchlist delete", "mine"),
    ("watchlist pin", "700.HK"),
    ("world create", "march --start 2026-03-18"),
    ("world show", "march"),
    ("world run", "--from 2026-03-18 -- /bin/true"),
    ("world start", "march"),
    ("world pause", "march"),
    ("world set", "march --end 2026-03-19"),
    ("world step", "march"),
    ("world end", "march"),
    ("world fork", "march april"),
    ("world token", "march"),
    ("world log", "march"),
    ("world diff", "march april"),
    ("world reset", "march"),
    ("world delete", "march"),
    ("clock", ""),
    ("login", "--no-browser"),
];
/// Commands that do not fail without the server. `doctor` only reports the problem, `logout` has no
/// login to remove, and `import --follow` retries until the server is available.
const WORKS: [&str; 3] = ["doctor", "logout", "import"];

#[test]
fn every_command_reports_an_unreachable_server() {
    let world = World::new();
    for name in commands_with(&world, "--server").iter().filter(|name| !WORKS.contains(&name.as_str())) {
        let more = ARGUMENTS.iter().find(|(command, _)| command == name).map_or("", |(_, more)| more);
        let words: Vec<&str> =
            name.split(' ').chain(["--server", DEAD]).chain(more.split_whitespace()).collect();
        for token in [Some("ap_x"), None] {
            // Without a login, `auth status` sends no request.
            if name == "auth status" && token.is_none() {
                continue;
            }
            let mut command = world.command(&words);
            command.env_remove("CHANDLER_STORE").env("HOME", world.path("home"));
            if let Some(token) = token {
                command.env("CHANDLER_TOKEN", token);
            }
            let ran = Ran::of(command.output().unwrap());
            let said = [ran.stdout, ran.stderr].concat();
            assert!(ran.code == Some(1) || name == "auth status", "{name}: {:?} {said}", ran.code);
            assert!(
                said.contains("cannot reach http://127.0.0.1:1: no server listens there"),
                "{name}: {said}"
            );
        }
    }
}
