//! Tips for words and flags of other programs that users try. Clap suggests similar names only,
//! which for these are unrelated.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// Words that are not commands, each group with a tip.
const COMMANDS: &[(&[&str], &str)] = &[
    (
        &["chart", "plot", "graph", "draw"],
        "`chandler open SYMBOL` opens a chart in a browser, `chandler kline SYMBOL --format chart` draws it here",
    ),
    (&["buy"], "`chandler order buy SYMBOL QUANTITY --limit PRICE` buys"),
    (&["sell"], "`chandler order sell SYMBOL QUANTITY --limit PRICE` sells"),
    (&["cancel"], "`chandler order cancel ID` cancels an order"),
    (&["orders", "trade"], "`chandler order list` lists orders, `chandler order buy` submits one"),
    (
        &["trades", "ticks", "fills"],
        "`chandler executions` lists the executions of a paper account, `chandler coverage --trades` the stored trades",
    ),
    (
        &["replay", "simulate", "play"],
        "`chandler serve --clock 2026-11-13T09:30:00+08:00,run@60` replays stored candles to charts and programs",
    ),
    (
        &["backtest", "strategy", "test"],
        "`chandler world run --help` describes how to run a program on past candles",
    ),
    (
        &["rewind", "reset", "fork"],
        "`chandler account rewind`, `chandler account reset` and `chandler account fork` do it for a paper account",
    ),
    (&["pause", "step", "speed", "forward"], "`chandler clock +5m` moves a stopped market clock"),
    (&["web", "ui", "gui", "browser", "dashboard", "page"], "`chandler open` opens the web pages, signed in"),
    (&["start", "run", "server", "daemon", "up"], "`chandler serve` starts a server"),
    (&["stop", "kill", "down", "quit"], "Ctrl-C stops a server, and so does `kill` with its process number"),
    (
        &["status", "health", "info"],
        "`chandler doctor` looks for problems, `chandler auth status` shows who is signed in",
    ),
    (
        &["download", "fetch", "pull", "sync", "update", "get"],
        "`chandler import FILES` reads files, `chandler mirror` fills the store from another server",
    ),
    (&["undo", "revert"], "`chandler imports --undo ID` undoes an import"),
    (
        &["token", "key", "keys", "secret", "credentials"],
        "`chandler account create NAME` prints an app key, its secret and an access token",
    ),
    (
        &["init", "create", "new", "setup", "install"],
        "a store is created when it is first used: `chandler import FILES` or `chandler open FILES`",
    ),
    (&["version"], "`chandler --version` prints the version"),
];

/// Words that are not commands of `order`.
const ORDERS: &[(&[&str], &str)] = &[
    (
        &["submit", "create", "new", "place", "add", "send"],
        "`chandler order buy SYMBOL QUANTITY` and `chandler order sell SYMBOL QUANTITY` submit orders",
    ),
    (&["modify", "change", "edit", "update", "amend", "set"], "`chandler order replace ID` changes an order"),
    (&["delete", "remove", "rm"], "`chandler order cancel ID` cancels an order"),
    (
        &["status", "get", "info", "explain"],
        "`chandler order show ID` shows an order, `chandler order why ID` explains it",
    ),
];

/// Flags that do not exist, each group with the argument that a command must have for the tip.
const FLAGS: &[(&[&str], &str, &str)] = &[
    (
        &["--port", "--host", "--bind", "--address", "--addr"],
        "listen",
        "`--listen 127.0.0.1:8081` sets the address and the port",
    ),
    (
        &["--host", "--url", "--endpoint", "--address"],
        "server",
        "`--server http://127.0.0.1:8080` selects a server",
    ),
    (
        &["--qty", "--quantity", "--amount", "--shares", "--size", "--volume"],
        "quantity",
        "the quantity follows the symbol, without a flag: 700.HK 100",
    ),
    (
        &["--symbol", "--ticker", "--code", "--symbols"],
        "symbol",
        "the symbol is written without a flag: 700.HK",
    ),
    (
        &["--symbol", "--ticker", "--code", "--symbols"],
        "symbols",
        "symbols are written without a flag: 700.HK AAPL.US",
    ),
    (&["--market"], "region", "`--region US` completes tickers without a market"),
    (&["--stop", "--stop-price", "--trigger-price"], "trigger", "`--trigger PRICE` sets the trigger price"),
    (
        &["--validity", "--good-till", "--day", "--gtc"],
        "tif",
        "`--tif day`, `--tif gtc` or `--tif gtd` sets how long it is valid",
    ),
    (&["--from", "--since", "--begin"], "start", "`--start 2026-11-02` is the first date"),
    (&["--to", "--until", "--through"], "end", "`--end 2026-11-13` is the last date"),
    (&["--limit", "--last", "--rows", "--num", "--number"], "count", "`-n 100` sets the number"),
    (
        &["--interval", "--timeframe", "--freq", "--frequency", "--resolution", "--tf"],
        "period",
        "`--period 5m` selects the period",
    ),
    (&["--json", "-j"], "format", "`--format json` prints JSON"),
    (&["--csv"], "format", "`--format csv` prints CSV, if the command can"),
    (&["--force", "-y"], "yes", "`--yes` confirms without a question"),
    (
        &["--db", "--database", "--data", "--data-dir", "--dir", "--path"],
        "store",
        "`--store sqlite:DIR` selects a store",
    ),
];

/// Completes an error of the command line: adds a tip for what users of other programs type, and
/// shows the usage of the command without the flags whose variables are set.
pub(crate) fn explain(mut error: Error, tree: &mut Command, typed: &[OsString]) -> Error {
    tree.build();
    let (command, path) = innermost(tree, typed);
    let unknown = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown(ContextKind::InvalidSubcommand).and_then(|word| of_word(word, &path))
        }
        ErrorKind::UnknownArgument => {
            unknown(ContextKind::InvalidArg).and_then(|flag| of_flag(flag, &command, &path))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested] {
            error.remove(kind);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    if error.get(ContextKind::Usage).is_some() {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.clone().render_usage()));
    }
    error
}

/// Returns the innermost command of a command line, and the path of names to it.
fn innermost(tree: &Command, typed: &[OsString]) -> (Command, Vec<String>) {
    let (mut command, mut path) = (tree, Vec::new());
    for word in typed.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word) {
            command = below;
            path.push(below.get_name().to_owned());
        }
    }
    (command.clone(), path)
}

fn of_word(word: &str, path: &[String]) -> Option<&'static str> {
    let group = match path {
        [] => COMMANDS,
        [order] if order == "order" => ORDERS,
        _ => return None,
    };
    let word = word.to_lowercase();
    group.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, tip)| *tip)
}

fn of_flag(flag: &str, command: &Command, path: &[String]) -> Option<&'static str> {
    let flag = flag.split('=').next().unwrap_or(flag);
    if flag == "-v" && path.is_empty() {
        return Some("`-V` or `--version` prints the version");
    }
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id().as_str() == id);
    FLAGS.iter().find(|(flags, needed, _)| flags.contains(&flag) && has(needed)).map(|(.., tip)| *tip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn said(line: &str) -> String {
        let typed: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = commands().try_get_matches_from(&typed).unwrap_err();
        explain(error, &mut commands(), &typed).to_string()
    }

    #[test]
    fn words_and_flags_of_other_programs_get_a_tip() {
        for (line, tip) in [
            ("chandler chart AAPL.US", "tip: `chandler open SYMBOL` opens a chart"),
            ("chandler Buy 700.HK 100", "tip: `chandler order buy SYMBOL QUANTITY"),
            ("chandler backtest", "tip: `chandler world run --help`"),
            ("chandler order submit", "tip: `chandler order buy SYMBOL QUANTITY`"),
            ("chandler version", "tip: `chandler --version`"),
            ("chandler -v", "tip: `-V` or `--version`"),
            ("chandler serve --port 80", "tip: `--listen 127.0.0.1:8081`"),
            ("chandler demo --serve --port=80", "tip: `--listen 127.0.0.1:8081`"),
            ("chandler --store sqlite:x order buy 700.HK --qty 100", "tip: the quantity follows the symbol"),
            ("chandler kline 700.HK --interval 5m", "tip: `--period 5m`"),
            ("chandler kline --symbol 700.HK", "tip: the symbol is written without a flag"),
            ("chandler list --json", "tip: `--format json`"),
            ("chandler list --db x", "tip: `--store sqlite:DIR`"),
        ] {
            let said = said(line);
            assert!(said.contains(tip), "{line}: {said}");
            assert!(!said.contains("similar"), "{line}: {said}");
        }
    }

    #[test]
    fn other_mistakes_get_the_suggestions_of_the_parser() {
        assert!(said("chandler imprt").contains("similar subcommands exist: "));
        assert!(said("chandler kline 700.HK --perod day").contains("a similar argument exists: '--period'"));
        assert!(!said("chandler zzz").contains("tip:"));
        assert!(!said("chandler quota --port 80").contains("--listen"));
    }

    #[test]
    fn the_usage_is_that_of_the_command() {
        assert!(
            said("chandler order buy 700.HK 100 --price2 5")
                .contains("Usage: chandler order buy [OPTIONS] <SYMBOL>")
        );
        assert!(said("chandler --store sqlite:x kline").contains("Usage: chandler kline [OPTIONS] <SYMBOL>"));
    }

    #[test]
    fn tips_name_commands_that_exist_and_words_that_do_not() {
        let mut tree = commands();
        tree.build();
        for (words, tip) in COMMANDS.iter().chain(ORDERS) {
            for quoted in tip.split('`').skip(1).step_by(2) {
                let Some(rest) = quoted.strip_prefix("chandler ") else { continue };
                let mut command = &tree;
                for word in rest.split(' ') {
                    let Some(below) = command.find_subcommand(word) else { break };
                    command = below;
                }
                assert!(command.get_name() != "chandler" || rest.starts_with("--"), "{quoted}");
                let flags = rest.split(' ').filter_map(|word| word.strip_prefix("--"));
                for flag in flags {
                    let has = |one: &clap::Arg| one.get_long() == Some(flag);
                    assert!(command.get_arguments().any(has), "{quoted}: --{flag}");
                }
            }
            assert!(!words.is_empty());
        }
        for (group, command) in [(COMMANDS, &tree), (ORDERS, tree.find_subcommand("order").unwrap())] {
            for word in group.iter().flat_map(|(words, _)| *words) {
                assert!(command.find_subcommand(word).is_none(), "{word}");
            }
        }
        for (flags, needed, _) in FLAGS {
            let has =
                |command: &&Command| command.get_arguments().any(|one| one.get_id().as_str() == *needed);
            let all: Vec<&Command> =
                tree.get_subcommands().flat_map(|one| one.get_subcommands().chain([one])).collect();
            assert!(all.iter().any(has), "{flags:?}: no command has {needed}");
        }
    }
}
