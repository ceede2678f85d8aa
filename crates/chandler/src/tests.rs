//! Tests of the whole command tree.

use clap::Command;

use crate::commands;
use crate::tree::GROUPS;

/// Commands without `--format json`, each with the reason.
const WITHOUT_JSON: [(&str, &str); 4] = [
    ("chandler export", "its --format is that of the candles; --summary json tells what was written"),
    ("chandler serve", "its one line on stdout is JSON always"),
    ("chandler completions", "prints a script for a shell"),
    ("chandler man", "prints a page for man"),
];

fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
    let path = format!("{path} {}", command.get_name()).trim().to_owned();
    let below: Vec<&Command> = command.get_subcommands().filter(|below| below.get_name() != "help").collect();
    if below.is_empty() {
        found.push((path.clone(), command.clone()));
    }
    below.into_iter().for_each(|below| leaves(below, &path, found));
}

fn all() -> Vec<(String, Command)> {
    let mut found = Vec::new();
    let mut tree = commands();
    tree.build();
    leaves(&tree, "", &mut found);
    found
}

#[test]
fn commands_without_json_output_are_listed_with_a_reason() {
    for (path, command) in all() {
        let format = command.get_arguments().find(|argument| argument.get_long() == Some("format"));
        let values = format.map(|format| format.get_possible_values()).unwrap_or_default();
        let takes_json = values.iter().any(|value| value.get_name() == "json");
        let excused = WITHOUT_JSON.iter().any(|(name, _)| *name == path);
        assert!(takes_json != excused, "{path}: takes JSON: {takes_json}, excused: {excused}");
        assert!(format.is_none_or(|format| format.get_short() == Some('f')), "{path}: no -f");
    }
    assert!(WITHOUT_JSON.iter().all(|(name, _)| all().iter().any(|(path, _)| path == name)));
}

#[test]
fn every_command_and_every_argument_is_described() {
    commands().debug_assert();
    for (path, command) in all() {
        assert!(command.get_about().is_some(), "{path} says nothing about itself");
        for argument in command.get_arguments().filter(|argument| argument.get_long() != Some("format")) {
            let (id, plain) = (argument.get_id(), argument.is_positional());
            assert!(plain || argument.get_help().is_some(), "{path}: {id} says nothing about itself");
        }
    }
}

#[test]
fn a_variable_sets_the_same_argument_in_all_commands() {
    let mut seen: Vec<(String, String)> = Vec::new();
    for (path, command) in all() {
        for argument in command.get_arguments() {
            let Some(variable) = argument.get_env() else { continue };
            let (variable, id) = (variable.to_string_lossy().into_owned(), argument.get_id().to_string());
            match seen.iter().find(|(known, _)| *known == variable) {
                Some((_, known)) => assert_eq!(*known, id, "{path}: {variable}"),
                None => seen.push((variable, id)),
            }
        }
    }
}

#[test]
fn help_lists_every_command_under_one_heading() {
    for command in commands().get_subcommands() {
        let name = command.get_name();
        let headings = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
        assert_eq!(headings, 1, "{name}");
    }
    let help = commands().render_help().to_string();
    let place = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{help}"));
    let headings = GROUPS.map(|(heading, _)| place(&format!("\n{heading}:\n")));
    assert!(headings.is_sorted() && place("\nOptions:\n") > headings[5], "{help}");
    assert!(place("\n  list ") < place("\n  serve ") && help.contains("[also: ls, search]"), "{help}");
    let (commands, _) = help.split_at(place("\nOptions:\n"));
    assert!(commands.lines().all(|line| line.chars().count() <= 110), "{help}");
}
