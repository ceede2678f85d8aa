//! Temporary folder with a store, and functions that run commands on it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) struct World {
    dir: tempfile::TempDir,
}

/// Output and exit code of a command. The code is `None` if a signal ended the command.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Default clock of the tests, on a Sunday.
pub(crate) const NOW: &str = "2026-11-15T02:00:00Z";

impl World {
    pub(crate) fn new() -> World {
        World { dir: tempfile::tempdir().unwrap() }
    }

    /// Creates a temporary folder, writes the files and imports them.
    pub(crate) fn with(files: &[(&str, &str)]) -> World {
        let world = World::new();
        for (name, text) in files {
            world.write(name, text);
        }
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let ran = world.run(&[&["import"], names.as_slice()].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the absolute path of a file, as recorded in the ledger.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(executable());
        self.surround(command.args(arguments)).env("COLUMNS", "80").env("LINES", "24");
        command
    }

    /// Returns a command like [`command`](Self::command), with the default action for SIGHUP. The
    /// tests may run under `nohup`, whose child processes ignore the signal.
    pub(crate) fn with_default_hangup(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("/usr/bin/env");
        self.surround(command.arg("--default-signal=HUP").arg(executable()).args(arguments));
        command
    }

    /// Returns a command like [`command`](Self::command), run on a terminal whose input and output
    /// are pipes. The terminal is created by `script`, which is installed on every Debian system.
    #[cfg(target_os = "linux")]
    pub(crate) fn on_a_terminal(&self, arguments: &str) -> Command {
        // Without `exec`, `script` would run the command in a shell, which Ctrl-C also stops and
        // whose exit code would be reported. The executable is passed in a variable, because its
        // path may contain a space.
        let line = format!("exec \"$EXECUTABLE\" {arguments}");
        let mut command = Command::new("/usr/bin/script");
        self.surround(command.args(["-qec", &line, "/dev/null"]))
            .env("EXECUTABLE", executable())
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn surround<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let store = format!("sqlite:{}", self.path("store").display());
        command
            .current_dir(self.dir.path())
            .env_clear()
            .env("CHANDLER_STORE", store)
            .env("CHANDLER_CLOCK", NOW)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
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

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

pub(crate) fn executable() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_chandler"))
}

/// Returns a CSV table of ten daily candles with distinct prices.
pub(crate) fn days(symbol: &str) -> String {
    let mut text = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    for day in [2, 3, 4, 5, 6, 9, 10, 11, 12, 13] {
        let price = 100 + day;
        text += &format!(
            "{symbol},2026-11-{day:02},{price},{}.5,{}.25,{price}.125,{day}000,{day}00000.5\n",
            price + 1,
            price - 1
        );
    }
    text
}

/// Returns a CSV table of the 30 one-minute candles from 09:30 on a Hong Kong morning.
pub(crate) fn hour(symbol: &str) -> String {
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for minute in 30..60 {
        text += &format!("{symbol},2026-11-13 09:{minute},10,11,9,10.{minute},100\n");
    }
    text
}

/// Returns the machine's time in Unix seconds. The executable uses the machine's time for some
/// fields regardless of `--clock`.
#[allow(
    clippy::disallowed_methods,
    reason = "compared with what the executable, which reads the clock, has done"
)]
pub(crate) fn machine_seconds() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

/// Sends a signal by name with the shell's built-in `kill`, because not every machine has the
/// `kill` program.
#[cfg(unix)]
pub(crate) fn send(child: &Child, signal: &str) {
    let line = format!("kill -s {signal} {}", child.id());
    assert!(Command::new("/bin/sh").args(["-c", &line]).status().unwrap().success(), "{line}");
}
