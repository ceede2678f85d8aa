//! Documentation of interface changes: `GET /v1/versions`, and the table in `docs/versions.md`.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::changes::{Before, CHANGES, Change, Effect};

/// Versions of the interface.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InterfaceVersions {
    /// Newest date, which applies to every account that is not pinned to another.
    newest: String,
    /// Newest first.
    versions: Vec<InterfaceVersion>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InterfaceVersion {
    /// Date of the change, such as 2024-10-09.
    date: String,
    /// Description of the change.
    what: String,
    /// Effects on an account that is pinned to an earlier date.
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

/// Describes the difference as of an earlier date, in a sentence.
fn before(effect: &Effect) -> String {
    match effect {
        Effect::Endpoints(endpoints) => format!("{}: not found.", quoted(*endpoints)),
        Effect::Commands(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u8::to_string).collect();
            format!("Command {} is refused on long connections.", numbers.join(" or "))
        }
        Effect::Events(names) => format!("{} is not pushed.", quoted(*names)),
        Effect::Parameter { of, name } => format!("`{of}` passes over `{name}`."),
        Effect::Word { of, field, word } => format!("{}: `{field}` {word} is refused.", quoted(*of)),
        Effect::Withdrawn { of, field, words } => {
            format!("{}: `{field}` {} is taken.", quoted(*of), words.join(" or "))
        }
        Effect::Fractions { of, field } => format!("{}: a fraction in `{field}` is refused.", quoted(*of)),
        Effect::OptionOrders { of, only } => {
            let only = only.iter().filter(|word| !word.is_empty());
            format!("{}: an option takes {} alone.", quoted(*of), quoted(only))
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
# Versions of the interface

The interface changes by dated entries. An account can be pinned to a date, and is then answered as of that day: what came later is left out, and what had
another form has its older one. All other accounts get the newest form.

```sh
chandler account set alice --api-date 2024-08-01
chandler account set alice --api-date newest
```

An operator sets the same over HTTP with `POST /v1/admin/accounts/{name}` and `{\"api_date\": \"2024-08-01\"}`, or `null` for the newest form. The date takes effect
with the next request; a connection that is subscribed to pushes keeps the form that it had when it subscribed. An answer over HTTP to a pinned account has the
header `x-api-date`. The pages of the server are always answered in the newest form. A client reads the form of its own time: an SDK that is newer than the date may
refuse an answer in which it misses a field.

What the account was given before it was pinned stays: an order that trades overnight goes on, and is shown with the older words. `GET /v1/versions` lists the
entries. This page is generated from the same rows (`crates/server/src/versions/changes.rs`; `UPDATE_EXPECT=1 cargo test -p server versions`).

| date | what | as of an earlier date |
|---|---|---|
";

    #[test]
    fn the_page_matches_the_rows() {
        let mut page = HEADING.to_owned();
        for InterfaceVersion { date, what, before } in versions().versions {
            writeln!(page, "| {date} | {what} | {} |", before.join(" ")).unwrap();
        }
        expect_file!["../../../../docs/versions.md"].assert_eq(&page);
    }
}
