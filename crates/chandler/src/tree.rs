//! Customizes the command tree: adds `-f` to every `--format`, and groups the commands by purpose
//! in the help.

use clap::Command;
use clap::builder::StyledStr;

/// Headings in the help, each with its commands. A test checks that no command is missing.
pub(crate) const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Your data",
        &[
            "open",
            "import",
            "list",
            "kline",
            "quote",
            "export",
            "coverage",
            "inspect",
            "imports",
            "quarantine",
            "remove",
            "mirror",
            "demo",
        ],
    ),
    ("Serving", &["serve", "account", "sdk-env", "quota", "connections", "audit", "topic", "clock"]),
    ("Signing in to a server", &["login", "logout", "auth"]),
    (
        "Paper trading",
        &[
            "order",
            "grid",
            "positions",
            "assets",
            "performance",
            "executions",
            "cashflow",
            "statement",
            "watchlist",
            "world",
        ],
    ),
    ("Maintenance", &["check", "backup", "restore", "move", "calendar", "doctor", "config"]),
    ("Shell completion and manual", &["completions", "man"]),
];

/// Maximum width of the help, in columns. The same as for clap's own help texts.
const WIDTH_MAX: usize = 110;
const WIDTH_WITHOUT_TERMINAL: usize = 100;
/// Column where the descriptions begin.
const COLUMN: usize = 15;

/// Completes the command tree generated from the argument types.
pub(crate) fn complete(command: Command) -> Command {
    let command = with_short_format(command);
    let width = terminal_size::terminal_size().map_or(WIDTH_WITHOUT_TERMINAL, |(width, _)| width.0.into());
    let listed = listed(&command, width.min(WIDTH_MAX));
    command.help_template(listed)
}

/// Adds `-f` to the commands that accept `--format`.
fn with_short_format(command: Command) -> Command {
    command
        .mut_args(|argument| {
            let is_format = argument.get_long() == Some("format");
            if is_format { argument.short('f') } else { argument }
        })
        .mut_subcommands(with_short_format)
}

/// Builds the program's top-level help, because clap does not support headings for subcommands.
fn listed(command: &Command, width: usize) -> StyledStr {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (heading, names) in GROUPS {
        text.push_str(&format!("{header}{heading}:{header:#}\n"));
        for one in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let name = one.get_name();
            text.push_str(&format!("  {literal}{name}{literal:#}"));
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<&str> = one.get_visible_aliases().collect();
            let also = match aliases.as_slice() {
                [] => String::new(),
                aliases => format!(" [also: {}]", aliases.join(", ")),
            };
            let mut column = name.len() + 2;
            for word in format!("{about}{also}").split_whitespace() {
                let is_first = column < COLUMN;
                if !is_first && column + 1 + word.chars().count() > width {
                    text.push('\n');
                    column = 0;
                }
                let gap = COLUMN.saturating_sub(column).max(1);
                text.push_str(&" ".repeat(gap));
                text.push_str(word);
                column += gap + word.chars().count();
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str(
        "`chandler COMMAND --help` describes a command, `chandler man COMMAND` prints its manual page.\n\n",
    );
    text.push_str(&format!("{header}Options:{header:#}\n{{options}}{{after-help}}"));
    StyledStr::from(text)
}
