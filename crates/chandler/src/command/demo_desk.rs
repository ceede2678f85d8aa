//! Watchlists and topics of the demo account.

use access::{Access, AccountId, PricedSecurity, WatchlistName};
use market::{Floors, Timestamp};
use social::{Community, Draft, Listing, PageOf, RawDraft};

use crate::clock::Clock;
use crate::context::{CommandContext, symbol};
use crate::failure::Failure;

/// Watchlist groups with their securities.
const GROUPS: [(&str, &[&str]); 2] = [
    ("Candles", &["CNDL.US", "WICK.US", "WAX.US", ".CHDL.US"]),
    ("烛", &["9001.HK", "609001.SH", "309001.SZ"]),
];

/// A topic with its age in hours.
struct PastTopic {
    hours: i64,
    title: &'static str,
    body: &'static str,
    replies: &'static [&'static str],
}

/// Topics of the demo account, oldest first.
const TOPICS: [PastTopic; 3] = [
    PastTopic {
        hours: 50,
        title: "About this market",
        body: "All data here is fictional. **Thirteen securities** on four exchanges follow random walks that depend \
            only on their symbols and the calendar, so they are the same on every machine.\n\n\
               - 9003.HK and CNDL.US were split: compare *as traded* with *adjusted*.\n\
               - 9002.HK is suspended for two weeks in May of odd years.\n\
               - WICK.US is halted on volatile days.\n\
               - 9004.HK is rarely traded: its coverage distinguishes minutes without trades from minutes that were not loaded.\n\
               - 687001.SH has no one-minute candles, only five-minute ones: shorter periods are disabled.\n\
               - One file has deliberate errors: the imports page lists the refused rows.\n",
        replies: &["SNUF.US has prices below a dollar, with four decimals."],
    },
    PastTopic {
        hours: 26,
        title: "",
        body: "Single trades of the last weeks are stored for 9001.HK, CNDL.US and 609001.SH. The capital flow is \
            calculated from them.",
        replies: &[],
    },
    PastTopic {
        hours: 3,
        title: "",
        body: "The demo's paper account has bought WAX.US and sold half of its 9001.HK, and a grid trades 9003.HK. \
            Each order explains why it was filled.",
        replies: &[],
    },
];

/// Creates watchlists and topics for an account that has none. Existing ones are not changed.
pub(crate) fn prepare(context: &CommandContext, access: &Access, account: AccountId) -> Result<(), Failure> {
    let lists = access.watchlists(account)?;
    if lists.groups.is_empty() && lists.followed.is_empty() {
        follow(context, access, account)?;
    }
    let community = Community::new(access.database());
    if community.topics(Listing::Mine, account, None, PageOf { limit: 1, offset: 0 })?.is_empty() {
        write_topics(&community, account)?;
    }
    Ok(())
}

fn follow(context: &CommandContext, access: &Access, account: AccountId) -> Result<(), Failure> {
    let mut reader = context.open(store::Access::Read)?.reader()?;
    for (name, symbols) in GROUPS {
        let mut securities = Vec::with_capacity(symbols.len());
        for code in symbols {
            let symbol = symbol(code)?;
            let last = context.history.last_price(&mut reader, &symbol, Floors::NONE, context.as_of())?;
            let price = last.map(|(price, decimals)| price.text(decimals).to_string());
            securities.push(PricedSecurity { symbol, price });
        }
        access.create_watchlist(account, &WatchlistName::parse(name)?, &securities, context.now())?;
    }
    Ok(())
}

/// Creates the topics. Like all user content, they are dated by the machine's clock.
fn write_topics(community: &Community, account: AccountId) -> Result<(), Failure> {
    let now = Clock::Machine.now();
    for PastTopic { hours, title, body, replies } in TOPICS {
        let at = Timestamp(now.0 - hours * 3_600);
        let kind = if title.is_empty() { "post" } else { "article" };
        let draft = Draft::parse(&RawDraft { kind: Some(kind), title, body, ..RawDraft::default() })?;
        let topic = community.write(account, &draft, at)?;
        for reply in replies {
            community.reply(account, topic.id, None, reply, at)?;
        }
    }
    Ok(())
}
