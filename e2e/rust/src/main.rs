//! The shared scenarios with the Rust SDK, over both of its transports, against `chandler kline`;
//! signed in by key and by the token file of `chandler login`. Run by `make e2e-rust`, which starts
//! the server and passes its address in the environment.

mod question;

use std::sync::Arc;

use longbridge::oauth::OAuthBuilder;
use longbridge::quote::TradeSessions;
use longbridge::{Config, QuoteContext, QuoteTransport};

use question::Question;

#[tokio::main]
async fn main() {
    let mut failures = 0;
    let mut total = 0;
    let generous = Account::of("");
    for (name, transport) in [("ws", QuoteTransport::WebSocket), ("http", QuoteTransport::Http)] {
        let quotes = generous.quotes(transport, Overnight::Unwanted);
        for question in Question::load("questions.json") {
            let found = question.ask(&quotes).await.map_err(|error| error.to_string());
            let wanted = question.kline("extended");
            total += 1;
            if found.as_ref() != Ok(&wanted) {
                failures += 1;
                eprintln!("{name}: {question:?}\n  {found:?}\n  instead of {wanted:?}");
            }
        }
        let part = Account::of("HK_").quotes(transport, Overnight::Unwanted);
        for question in Question::load("refusals.json") {
            let quotes = if question.is_for_part() { &part } else { &quotes };
            let code = question.ask(quotes).await.err().and_then(|error| error.openapi_error_code());
            total += 1;
            if code != question.code() {
                failures += 1;
                eprintln!("{name}: {question:?}\n  {code:?}");
            }
        }
    }
    let quotes = generous.quotes(QuoteTransport::WebSocket, Overnight::Wanted);
    for question in Question::load("questions.json").filter(|one| one.sessions() == TradeSessions::All) {
        total += 1;
        let found = question.ask(&quotes).await.map_err(|error| error.to_string());
        if found.as_ref() != Ok(&question.kline("all")) {
            failures += 1;
            eprintln!("overnight: {question:?}");
        }
    }
    failures += by_token_file(&mut total).await;
    failures += three_securities_a_month().await;
    println!("{total} questions, {failures} failures");
    std::process::exit(i32::from(failures > 0));
}

/// Some of the queries in OAuth mode. The handle comes from the token file in the home folder named
/// by the environment.
async fn by_token_file(total: &mut u32) -> u32 {
    let builder = OAuthBuilder::new(question::environment("E2E_CLIENT_ID"));
    let oauth = builder.build(|_| panic!("the SDK wants a browser: there is no token file")).await.unwrap();
    let mut failures = 0;
    for transport in [QuoteTransport::WebSocket, QuoteTransport::Http] {
        let config = Config::from_oauth(oauth.clone()).dont_print_quote_packages().quote_transport(transport);
        let quotes = QuoteContext::new(Arc::new(config)).0;
        for question in Question::load("questions.json").step_by(7) {
            let found = question.ask(&quotes).await.map_err(|error| error.to_string());
            *total += 1;
            if found.as_ref() != Ok(&question.kline("extended")) {
                failures += 1;
                eprintln!("by token file: {question:?}\n  {found:?}");
            }
        }
    }
    failures
}

/// A quota of three, used up.
async fn three_securities_a_month() -> u32 {
    let quotes = Account::of("THREE_").quotes(QuoteTransport::WebSocket, Overnight::Unwanted);
    let mut codes = Vec::new();
    for symbol in ["9001.HK", "CNDL.US", "609001.SH", "9002.HK", "CNDL.US"] {
        let answer = Question::last_day(symbol).ask(&quotes).await;
        codes.push(answer.err().and_then(|error| error.openapi_error_code()));
    }
    let as_wanted = codes == [None, None, None, Some(301607), None];
    if !as_wanted {
        eprintln!("quota: {codes:?}");
    }
    u32::from(!as_wanted)
}

#[derive(Clone, Copy, PartialEq)]
enum Overnight {
    Wanted,
    Unwanted,
}

struct Account {
    app_key: String,
    app_secret: String,
    access_token: String,
}

impl Account {
    fn of(prefix: &str) -> Account {
        let value = |name: &str| question::environment(&format!("E2E_{prefix}{name}"));
        Account {
            app_key: value("APP_KEY"),
            app_secret: value("APP_SECRET"),
            access_token: value("ACCESS_TOKEN"),
        }
    }

    /// The SDK itself reads the addresses, from the variables that `chandler account create`
    /// prints.
    fn quotes(&self, transport: QuoteTransport, overnight: Overnight) -> QuoteContext {
        let config = Config::from_apikey(&self.app_key, &self.app_secret, &self.access_token)
            .dont_print_quote_packages()
            .quote_transport(transport);
        let config = if overnight == Overnight::Wanted { config.enable_overnight() } else { config };
        QuoteContext::new(Arc::new(config)).0
    }
}
