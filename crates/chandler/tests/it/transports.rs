//! Test setup with the same account over both transports: the local store, and a server of the
//! store.

use std::cell::RefCell;
use std::path::PathBuf;

use crate::remote::Server;
use crate::world::{Ran, World};

/// Store with the account `ann`, which is used over one of the transports.
pub(crate) struct Setup {
    world: World,
    server: Option<RefCell<Served>>,
}

/// Server with a fixed clock, and the token of an operator, who can move the clock.
struct Served {
    server: Server,
    operator: String,
    clock: String,
}

impl Setup {
    pub(crate) fn local(files: &[(&str, &str)], account: &[&str]) -> Setup {
        let (world, _) = prepared(files, account);
        Setup { world, server: None }
    }

    pub(crate) fn remote(files: &[(&str, &str)], account: &[&str], clock: &str) -> Setup {
        let (world, ann) = prepared(files, account);
        let operator = token(&world, &["account", "create", "op", "--role", "operator"]);
        let server = Server::of(&world, &ann, &["--clock", clock]);
        let served = Served { server, operator, clock: clock.to_owned() };
        Setup { world, server: Some(RefCell::new(served)) }
    }

    /// Creates a setup for each transport, on separate stores with the same content. The server's
    /// clock is fixed at `clock` until a command has another `--clock`.
    pub(crate) fn both(files: &[(&str, &str)], account: &[&str], clock: &str) -> [Setup; 2] {
        [Setup::local(files, account), Setup::remote(files, account, clock)]
    }

    pub(crate) fn is_local(&self) -> bool {
        self.server.is_none()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.world.path(name)
    }

    /// Runs one of the account's commands. Operator commands (`account …`) always run on the local
    /// store.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        match &self.server {
            Some(served) if arguments[0] != "account" => served.borrow_mut().run(&self.world, arguments),
            _ => self.world.run(arguments),
        }
    }

    /// Runs a command that must succeed, and returns stdout.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let text = self.ok(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Runs a command that must fail. Returns the exit code and stderr.
    pub(crate) fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let ran = self.run(arguments);
        let code = ran.code.unwrap_or_else(|| panic!("{arguments:?} was killed"));
        assert_ne!(code, 0, "{arguments:?} succeeded: {}", ran.stdout);
        (code, ran.stderr.trim_end().to_owned())
    }
}

impl Served {
    /// Moves the server's clock to the command's `--clock`, then runs the command.
    fn run(&mut self, world: &World, arguments: &[&str]) -> Ran {
        let Some(flag) = arguments.iter().position(|argument| *argument == "--clock") else {
            return self.server.run(world, arguments);
        };
        let clock = arguments[flag + 1];
        if clock != self.clock {
            std::mem::swap(&mut self.server.token, &mut self.operator);
            let moved = self.server.run(world, &["clock", clock]);
            assert_eq!(moved.code, Some(0), "{clock}: {}", moved.stderr);
            std::mem::swap(&mut self.server.token, &mut self.operator);
            self.clock = clock.to_owned();
        }
        self.server.run(world, &[&arguments[..flag], &arguments[flag + 2..]].concat())
    }
}

fn prepared(files: &[(&str, &str)], account: &[&str]) -> (World, String) {
    let world = World::with(files);
    // The rate limit is disabled, because other tests cover it.
    let ann = token(&world, &[&["account", "create", "ann", "--rate", "unlimited"], account].concat());
    (world, ann)
}

fn token(world: &World, create: &[&str]) -> String {
    world.json(create)["access_token"].as_str().unwrap().to_owned()
}
