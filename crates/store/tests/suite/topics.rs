//! Tests of topics and replies. Topics and replies share one id space, and are readable by all
//! accounts unless they are hidden.

use std::sync::Barrier;
use std::thread;

use market::Timestamp;
use store::{
    AccountId, Accounts, AuditFilter, NewReply, NewTopic, PageOf, ReplyHistory, ReplyId, ReplyOrder,
    ReplyOutcome, ReplyRow, StoreError, TopicId, TopicList, TopicRow, TopicTarget, VisibilityOutcome,
};

use crate::accounts::{add, note};
use crate::fixture::{Home, NOW, symbol};

const ALL: PageOf = PageOf { limit: 100, offset: 0 };

fn at(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds)
}

struct Hall {
    home: Home,
    accounts: Accounts,
    ann: AccountId,
    bo: AccountId,
}

fn hall() -> Hall {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let [ann, bo] = ["ann", "bo"].map(|name| add(&accounts, name).unwrap());
    Hall { home, accounts, ann, bo }
}

pub(crate) fn write(
    accounts: &Accounts,
    author: AccountId,
    title: &str,
    tickers: &[&str],
    seconds: i64,
) -> TopicRow {
    let new = NewTopic {
        author,
        kind: if title.is_empty() { "post" } else { "article" },
        title,
        description: "a beginning",
        body: "a beginning\nand the rest 🙂",
        tickers: &tickers.iter().map(|text| symbol(text)).collect::<Vec<_>>(),
        hashtags: &["lots".to_owned(), "手数".to_owned()],
        at: at(seconds),
    };
    accounts.add_topic(&new, |_| Ok::<_, StoreError>(())).unwrap()
}

pub(crate) fn answer(
    accounts: &Accounts,
    author: AccountId,
    topic: TopicId,
    to: Option<ReplyId>,
) -> ReplyOutcome {
    let new = NewReply { author, topic, reply_to: to, body: "agreed", at: at(9) };
    accounts.add_reply(&new, 5, |_| Ok::<_, StoreError>(())).unwrap()
}

pub(crate) fn added(outcome: ReplyOutcome) -> ReplyRow {
    match outcome {
        ReplyOutcome::Added(reply) => reply,
        other => panic!("{other:?}"),
    }
}

fn ids(rows: &[TopicRow]) -> Vec<i64> {
    rows.iter().map(|row| row.id.0).collect()
}

#[test]
fn a_topic_is_read_back_unchanged_and_lists_are_newest_first() {
    let Hall { accounts, ann, bo, .. } = &hall();
    let first = write(accounts, *ann, "Lot sizes", &["700.HK", "AAPL.US"], 0);
    let second = write(accounts, *bo, "", &["700.HK"], 1);
    let third = write(accounts, *ann, "", &[], 2);
    assert_eq!((first.id, first.author, first.author_name.as_str()), (TopicId(1), *ann, "ann"));
    assert_eq!((first.kind.as_str(), first.body.as_str()), ("article", "a beginning\nand the rest 🙂"));
    assert_eq!(first.tickers, ["700.HK", "AAPL.US"]);
    assert_eq!(first.hashtags, ["lots", "手数"]);
    assert_eq!((first.created_at, first.hidden.clone(), first.replies, first.views), (at(0), None, 0, 0));
    assert_eq!(accounts.topic(first.id).unwrap(), Some(first.clone()));
    assert_eq!(accounts.topic(TopicId(99)).unwrap(), None);
    let everybody = TopicList::Everybody { reader: *bo, kind: None };
    assert_eq!(ids(&accounts.topics(&everybody, ALL).unwrap()), [3, 2, 1]);
    let articles = TopicList::Everybody { reader: *bo, kind: Some("article") };
    assert_eq!(ids(&accounts.topics(&articles, ALL).unwrap()), [1]);
    let own = TopicList::Of { author: *ann, kind: None };
    assert_eq!(accounts.topics(&own, ALL).unwrap(), [third, first.clone()]);
    assert_eq!(accounts.topics(&own, PageOf { limit: 1, offset: 1 }).unwrap(), [first]);
    assert!(accounts.topics(&own, PageOf { limit: 9, offset: u64::MAX }).unwrap().is_empty());
    let tencent = symbol("700.HK");
    let about = TopicList::About { symbol: &tencent, reader: *bo, kind: None };
    assert_eq!(ids(&accounts.topics(&about, ALL).unwrap()), [second.id.0, 1]);
}

#[test]
fn a_refused_topic_writes_nothing() {
    let Hall { accounts, ann, bo, .. } = &hall();
    for seconds in 0..12 {
        write(accounts, *ann, "", &["700.HK"], seconds);
    }
    let new = NewTopic {
        author: *ann,
        kind: "post",
        title: "",
        description: "",
        body: "one more",
        tickers: &[],
        hashtags: &[],
        at: at(12),
    };
    let mut seen = Vec::new();
    let refused = accounts.add_topic(&new, |recent| {
        seen = recent.to_vec();
        Err(StoreError::TooOften { account: *ann, retry_after_s: 1 })
    });
    assert!(matches!(refused, Err(StoreError::TooOften { .. })), "{refused:?}");
    assert_eq!(seen, (2..12).rev().map(at).collect::<Vec<_>>());
    let own = TopicList::Of { author: *ann, kind: None };
    assert_eq!(accounts.topics(&own, ALL).unwrap().len(), 12);
    // The id of the refused topic is used for the next topic.
    assert_eq!(write(accounts, *bo, "", &[], 13).id, TopicId(13));
    let long = "x".repeat(300_000);
    let unfit = accounts.add_topic(&NewTopic { body: &long, ..new }, |_| Ok::<_, StoreError>(()));
    assert!(matches!(unfit, Err(StoreError::Unfit { .. })), "{unfit:?}");
}

#[test]
fn concurrent_writers_see_each_others_topics() {
    let Hall { home, accounts, ann, .. } = &hall();
    let start = Barrier::new(2);
    let attempt = || {
        // Each thread uses a separate connection, like another process.
        let accounts = Accounts::open(home, NOW).unwrap();
        let new = NewTopic {
            author: *ann,
            kind: "post",
            title: "",
            description: "",
            body: "the only one",
            tickers: &[],
            hashtags: &[],
            at: NOW,
        };
        start.wait();
        let only_one = |recent: &[Timestamp]| match recent {
            [] => Ok(()),
            _ => Err(StoreError::TooOften { account: *ann, retry_after_s: 60 }),
        };
        accounts.add_topic(&new, only_one).is_ok()
    };
    let done =
        thread::scope(|scope| [scope.spawn(attempt), scope.spawn(attempt)].map(|one| one.join().unwrap()));
    assert_eq!(done.into_iter().filter(|is_written| *is_written).count(), 1);
    assert_eq!(accounts.topics(&TopicList::All, ALL).unwrap().len(), 1);
}

#[test]
fn replies_are_counted_at_their_parent() {
    let Hall { accounts, ann, bo, .. } = &hall();
    let topic = write(accounts, *ann, "", &[], 0).id;
    let other = write(accounts, *ann, "", &[], 1).id;
    let first = added(answer(accounts, *bo, topic, None));
    assert_eq!((first.id, first.topic, first.author_name.as_str()), (ReplyId(3), topic, "bo"));
    let nested = added(answer(accounts, *ann, topic, Some(first.id)));
    let deeper = added(answer(accounts, *bo, topic, Some(nested.id)));
    assert_eq!((nested.reply_to, deeper.reply_to), (Some(first.id), Some(nested.id)));
    // The ids are those of a reply in another topic, of a topic in place of a reply, of a missing
    // topic, and of a reply in place of a topic.
    assert_eq!(answer(accounts, *bo, other, Some(first.id)), ReplyOutcome::NoReply);
    assert_eq!(answer(accounts, *bo, topic, Some(ReplyId(topic.0))), ReplyOutcome::NoReply);
    assert_eq!(answer(accounts, *bo, TopicId(99), None), ReplyOutcome::NoTopic);
    assert_eq!(answer(accounts, *bo, TopicId(first.id.0), None), ReplyOutcome::NoTopic);
    let list = |order, page| -> Vec<(i64, u32)> {
        let rows = accounts.replies(topic, *ann, order, page).unwrap();
        rows.iter().map(|row| (row.id.0, row.replies)).collect()
    };
    assert_eq!(list(ReplyOrder::NewestFirst, ALL), [(5, 0), (4, 1), (3, 1)]);
    assert_eq!(list(ReplyOrder::OldestFirst, PageOf { limit: 2, offset: 1 }), [(4, 1), (5, 0)]);
    assert!(list(ReplyOrder::OldestFirst, PageOf { limit: 2, offset: 3 }).is_empty());
    assert_eq!(accounts.topic(topic).unwrap().unwrap().replies, 3);
    let mut seen = None;
    let new = NewReply { author: *bo, topic, reply_to: None, body: "again", at: at(20) };
    let refused = accounts.add_reply(&new, 2, |history| {
        seen = Some(*history);
        Err(StoreError::TooOften { account: *bo, retry_after_s: 3 })
    });
    assert!(refused.is_err());
    let expected =
        ReplyHistory { in_topic: 2, last_in_topic: Some(at(9)), far_back: Some(at(9)), all_in_topic: 3 };
    assert_eq!(seen, Some(expected));
    assert_eq!(accounts.topic(topic).unwrap().unwrap().replies, 3);
}

#[test]
fn views_are_counted_once_per_account() {
    let Hall { accounts, ann, bo, .. } = &hall();
    let topic = write(accounts, *ann, "", &[], 0).id;
    for reader in [*bo, *bo, *ann] {
        accounts.note_topic_view(topic, reader).unwrap();
    }
    assert_eq!(accounts.topic(topic).unwrap().unwrap().views, 2);
}

#[test]
fn hidden_posts_are_visible_only_to_their_authors() {
    let Hall { accounts, ann, bo, .. } = &hall();
    let topic = write(accounts, *ann, "", &["700.HK"], 0).id;
    let reply = added(answer(accounts, *bo, topic, None)).id;
    let nested = added(answer(accounts, *bo, topic, Some(reply))).id;
    let hide = |id: i64| accounts.set_topic_visibility(id, Some("advertising"), &note(at(50))).unwrap();
    let show = |id: i64| accounts.set_topic_visibility(id, None, &note(at(60))).unwrap();
    // A hidden reply is neither listed nor counted for other accounts.
    assert!(matches!(hide(nested.0), VisibilityOutcome::Changed(TopicTarget::Reply(_))));
    assert!(matches!(hide(nested.0), VisibilityOutcome::Unchanged(_)));
    let counts = || {
        let listed =
            |reader: AccountId| accounts.replies(topic, reader, ReplyOrder::OldestFirst, ALL).unwrap().len();
        let nested = accounts.replies(topic, *ann, ReplyOrder::OldestFirst, ALL).unwrap()[0].replies;
        (listed(*ann), listed(*bo), nested, accounts.topic(topic).unwrap().unwrap().replies)
    };
    assert_eq!(counts(), (1, 2, 0, 1));
    assert_eq!(accounts.hidden_replies(ALL).unwrap().len(), 1);
    assert_eq!(answer(accounts, *ann, topic, Some(nested)), ReplyOutcome::NoReply);
    assert!(matches!(show(nested.0), VisibilityOutcome::Changed(_)));
    assert_eq!(counts(), (2, 2, 1, 2));
    // A hidden topic is listed only for its author.
    assert!(matches!(hide(topic.0), VisibilityOutcome::Changed(TopicTarget::Topic(_))));
    let hidden = accounts.topic(topic).unwrap().unwrap().hidden.unwrap();
    assert_eq!((hidden.at, hidden.reason.as_str()), (at(50), "advertising"));
    let tencent = symbol("700.HK");
    let seen = |reader: AccountId| {
        let everybody = accounts.topics(&TopicList::Everybody { reader, kind: None }, ALL).unwrap().len();
        let about = TopicList::About { symbol: &tencent, reader, kind: None };
        (everybody, accounts.topics(&about, ALL).unwrap().len())
    };
    assert_eq!((seen(*ann), seen(*bo)), ((1, 1), (0, 0)));
    assert_eq!(ids(&accounts.topics(&TopicList::Hidden, ALL).unwrap()), [topic.0]);
    assert_eq!(answer(accounts, *bo, topic, None), ReplyOutcome::NoTopic);
    assert_eq!(answer(accounts, *ann, topic, None), ReplyOutcome::Hidden);
    assert!(matches!(show(topic.0), VisibilityOutcome::Changed(_)));
    assert!(matches!(show(topic.0), VisibilityOutcome::Unchanged(_)));
    assert_eq!((seen(*bo), accounts.topics(&TopicList::Hidden, ALL).unwrap().len()), ((1, 1), 0));
    assert_eq!(show(99), VisibilityOutcome::Absent);
    let rows = accounts.audit(&AuditFilter { limit: 4, ..AuditFilter::default() }).unwrap();
    let rows: Vec<_> =
        rows.iter().map(|row| (row.event.as_str(), row.account, row.reason.as_str())).collect();
    assert_eq!(
        rows,
        [
            ("topic.restored", Some(*ann), "topic 1: a test"),
            ("topic.hidden", Some(*ann), "topic 1: a test"),
            ("reply.restored", Some(*bo), "reply 3: a test"),
            ("reply.hidden", Some(*bo), "reply 3: a test"),
        ]
    );
}
