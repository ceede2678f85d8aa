//! Documentation of API changes: `GET /v1/versions`, and the table in `docs/versions.md`.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::changes::{Before, CHANGES, Change, Effect};

/// All API versions.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InterfaceVersions {
    /// Newest API date, which applies to accounts that are not pinned to another date.
    newest: String,
    /// All versions, newest first.
    versions: Vec<InterfaceVersion>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InterfaceVersion {
    /// Date of the change, such as 2024-10-09.
    date: String,
    /// Description of the change.
    what: String,
    /// Behaviour for accounts pinned to an earlier date.
    before: Vec<String>,
}

pub(crate) fn versions() -> InterfaceVersions {
    let version = |change: &Change| InterfaceVersion {
        date: change.date.to_string(),
        what: change.what.to_owned(),
        before: change.effects.iter().map(before).collect(),
    };
    let versions: Vec<InterfaceVersion> = CHANGES.iter().map(version).collect();
    InterfaceVersions {
        newest: versions.first().map(|newest| newest.date.clone()).unwrap_or_default(),
        versions,
    }
}

/// Describes, in a sentence, how the API behaves for an earlier date.
fn before(effect: &Effect) -> String {
    match effect {
        Effect::Endpoints(endpoints) => format!("{}: not found.", quoted(*endpoints)),
        Effect::Commands(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
            format!("Command {} is refused on long connections.", numbers.join(" or "))
        }
        Effect::Events(names) => format!("{} is not pushed.", quoted(*names)),
        Effect::Parameter { of, name } => format!("`{of}` ignores `{name}`."),
        Effect::Word { of, field, word } => format!("{}: `{field}` {word} is refused.", quoted(*of)),
        Effect::Withdrawn { of, field, words } => {
            format!("{}: `{field}` {} is accepted.", quoted(*of), words.join(" or "))
        }
        Effect::Fractions { of, field } => format!("{}: a fraction in `{field}` is refused.", quoted(*of)),
        Effect::OptionOrders { of, only } => {
            let only = only.iter().filter(|word| !word.is_empty());
            format!("{}: options accept only {}.", quoted(*of), quoted(only))
        }
        Effect::Fields { of, names, before } => {
            let (of, names) = (quoted(*of), quoted(*names));
            match before {
                Before::Absent => format!("{of}: without {names}."),
                Before::Whole => format!("{of}: {names} without a fraction."),
                Before::Word { newer, older } => format!("{of}: {names} has `{older}` for `{newer}`."),
                Before::NoOptions => format!("{of}: {names} without options."),
            }
        }
        Effect::MessageField { command, name, .. } => {
            format!("Command {command} on long connections: without `{name}`.")
        }
        Effect::OneName => "`GET /v1/quote/get_security_list`: names in all three languages.".to_owned(),
        Effect::Nothing(why) => (*why).to_owned(),
    }
}

fn quoted(parts: impl IntoIterator<Item = impl fmt::Display>) -> String {
    let parts: Vec<String> = parts.into_iter().map(|part| format!("`{part}`")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect_file;

    use super::*;

    const HEADING: &str = "\
# Interface versions

The interface changes in dated entries. An account can be pinned to a date. The server then answers
it as of that day: it omits later additions and uses the older form of what has changed since. All
other accounts get the newest form.

```sh
chandler account set alice --api-date 2024-08-01
chandler account set alice --api-date newest
```

An operator sets the date over HTTP with `POST /v1/admin/accounts/{name}` and
`{\"api_date\": \"2024-08-01\"}`; `null` means the newest form. The date takes effect with the next
request. A connection with subscriptions keeps the form that it had when it subscribed. HTTP answers
to a pinned account have the header `x-api-date`. The server's own pages always get the newest form.
An SDK newer than the date may fail on an answer that lacks a field.

Existing orders and settings are unchanged by a pin: an overnight order stays open, and is shown in
the older form. `GET /v1/versions` lists the entries. This page is generated from the same rows
(`crates/server/src/versions/changes.rs`) by `UPDATE_EXPECT=1 cargo test -p server versions`.

Each entry lists what an account pinned to an earlier date sees.
";

    /// Appends `text` to `page`, wrapped at 100 columns; lines after the first begin with `indent`.
    fn wrap(page: &mut String, text: &str, indent: &str) {
        let mut column = 0;
        for word in text.split_whitespace() {
            if column + 1 + word.len() > 100 {
                page.push('\n');
                page.push_str(indent);
                column = indent.len();
            } else if column > 0 {
                page.push(' ');
                column += 1;
            }
            page.push_str(word);
            column += word.len();
        }
        page.push('\n');
    }

    #[test]
    fn the_versions_page_matches_the_changes() {
        let mut page = HEADING.to_owned();
        for InterfaceVersion { date, what, before } in versions().versions {
            write!(page, "\n## {date}\n\n").unwrap();
            wrap(&mut page, &format!("{what}."), "");
            page.push('\n');
            for effect in before {
                wrap(&mut page, &format!("- {effect}"), "  ");
            }
        }
        expect_file!["../../../../docs/versions.md"].assert_eq(&page);
    }
}
