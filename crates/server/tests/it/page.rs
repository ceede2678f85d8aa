//! What the pages know of the service without asking.

use std::fmt::Write;

use expect_test::expect_file;
use market::Period;

/// The build of the pages needs no Rust and this one no Node, so that the list is a file of both. Phrases, labels and the
/// switch of the chart page follow from it.
#[test]
fn the_page_offers_the_periods_that_are_served() {
    let (minutes, spans): (Vec<Period>, Vec<Period>) = Period::all().partition(|period| period.is_clock());
    let minutes: Vec<String> =
        minutes.iter().map(|period| period.to_string().trim_end_matches('m').to_owned()).collect();
    let spans: Vec<String> = spans.iter().map(|period| format!("'{period}'")).collect();
    let mut text = String::new();
    text.push_str(
        "// The periods that are served, shortest first. Written by crates/server/tests/it/page.rs from the list of the crate \
         `market`:\n// UPDATE_EXPECT=1 cargo test -p server --test it page\n",
    );
    writeln!(text, "export const MINUTES = [{}];", minutes.join(", ")).unwrap();
    writeln!(text, "export const SPANS = [{}];", spans.join(", ")).unwrap();
    expect_file!["../../page/src/served-periods.js"].assert_eq(&text);
}
