//! Constants of the service that the pages contain. The page build needs no Rust and this build
//! needs no Node, so each constant is in a checked-in file that these tests write.

use std::fmt::Write;

use expect_test::expect_file;
use jiff::ToSpan;
use market::{Date, Period, Region, Session, Venues};

/// The labels and the period switch of the chart page are derived from this list of periods.
#[test]
fn the_page_lists_the_supported_periods() {
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

/// The page uses these regions to validate entered symbols and to show the session switch of a
/// chart.
#[test]
fn the_page_lists_the_symbol_regions() {
    let venues = Venues::built_in().unwrap();
    let mut text = String::new();
    text.push_str(
        "// The regions that symbols end in, the market of each, and whether it trades outside regular hours. Written by\n\
         // crates/server/tests/it/page.rs from the tables of the crate `market`: UPDATE_EXPECT=1 cargo test -p server --test it page\n\
         export const REGIONS = {\n",
    );
    for region in Region::ALL {
        let market = region.market();
        let hours = venues.of(market).full_hours(market::Date::constant(2026, 11, 13));
        let extended = hours.iter().any(|segment| segment.session != Session::Intraday);
        writeln!(text, "  {}: {{ market: '{market}', extended: {extended} }},", region.as_str()).unwrap();
    }
    text.push_str("};\n");
    expect_file!["../../page/src/served-markets.js"].assert_eq(&text);
}

/// A page of chart candles is charged as one call in the rate limit.
#[test]
fn the_page_contains_the_candles_per_call() {
    let text = format!(
        "// Candles that count as one call of the rate limit (\"Cost\" in docs/http.md). Written by crates/server/tests/it/page.rs from the crate\n\
         // `history`: UPDATE_EXPECT=1 cargo test -p server --test it page\nexport const CANDLES_A_CALL = {};\n",
        history::COUNT_MAX
    );
    expect_file!["../../page/src/served-limits.js"].assert_eq(&text);
}

/// The operator forms accept no longer names and no larger limits than the server does.
#[test]
fn the_page_contains_the_account_limits() {
    let names = |rights: &[access::Right]| -> String {
        let names: Vec<String> = rights.iter().map(|right| format!("'{right}'")).collect();
        names.join(", ")
    };
    let text = format!(
        "// What an account may be called and allowed at most, and what it may see. Written by crates/server/tests/it/page.rs from the crate `access`:\n\
         // UPDATE_EXPECT=1 cargo test -p server --test it page\n\
         export const ACCOUNT_LIMITS = {{ name: {}, quota: {}, connections: {}, subscriptions: {} }};\n\
         export const PACKAGES = [{}];\nexport const MARKETS = [{}];\n",
        access::NAME_CHARS_MAX,
        access::QUOTA_MAX,
        access::CONNECTIONS_MAX,
        access::SUBSCRIPTIONS_MAX,
        names(&access::Right::ALL),
        names(&access::Right::MARKETS),
    );
    expect_file!["../../page/src/served-accounts.js"].assert_eq(&text);
}

/// The page shows the length limits before the form is submitted.
#[test]
fn the_page_contains_the_topic_length_limits() {
    let limits = [
        ("title", social::TITLE_CHARS_MAX),
        ("post", social::POST_CHARS_MAX),
        ("article", social::ARTICLE_CHARS_MAX),
        ("reply", social::REPLY_CHARS_MAX),
        ("tickers", social::TICKERS_MAX),
        ("hashtags", social::HASHTAGS_MAX),
        ("hashtag", social::HASHTAG_CHARS_MAX),
        ("reason", social::REASON_CHARS_MAX),
    ];
    let limits: Vec<String> = limits.iter().map(|(name, most)| format!("{name}: {most}")).collect();
    let text = format!(
        "// How long topics and replies may be, in characters, and how many things they name. Written by crates/server/tests/it/page.rs from\n\
         // the crate `social`: UPDATE_EXPECT=1 cargo test -p server --test it page\nexport const TOPIC_LIMITS = {{ {} }};\n",
        limits.join(", ")
    );
    expect_file!["../../page/src/served-topics.js"].assert_eq(&text);
}

/// The page computes the bounds of weeks, months, quarters and years itself. Its tests use these
/// values around New Year, leap days and month ends.
#[test]
fn the_page_tests_contain_the_period_bounds() {
    let around = [(2023, 12, 31), (2024, 2, 29), (2024, 12, 31), (2026, 3, 31), (2026, 11, 15)];
    let mut rows = Vec::new();
    for (year, month, day) in around {
        let centre = Date::constant(year, month, day);
        for offset in -7..=7 {
            let date = centre.saturating_add(offset.days());
            for period in Period::all() {
                let Period::Calendar(span) = period else { continue };
                let first = span.floor(date);
                let mut last = date;
                while span.floor(last.saturating_add(1.day())) == first {
                    last = last.saturating_add(1.day());
                }
                rows.push(format!("[\"{date}\",\"{period}\",\"{first}\",\"{last}\"]"));
            }
        }
    }
    expect_file!["../../page/test/served-spans.json"].assert_eq(&format!("[\n{}\n]\n", rows.join(",\n")));
}
