//! Rows of topics and replies, and parameters for querying them.

use market::{Symbol, Timestamp};

use crate::engine::{Fault, Row, small};
use crate::ids::AccountId;

/// Topic id. Topics and replies share one id space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub i64);

/// Reply id. Topics and replies share one id space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId(pub i64);

/// An operator's decision to hide a topic or a reply, with its time and reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hiding {
    pub at: Timestamp,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRow {
    pub id: TopicId,
    pub author: AccountId,
    pub author_name: String,
    pub kind: String,
    pub title: String,
    /// The beginning of the body, for lists.
    pub description: String,
    pub body: String,
    pub tickers: Vec<String>,
    pub hashtags: Vec<String>,
    /// Wall-clock time at which the topic was written.
    pub created_at: Timestamp,
    pub hidden: Option<Hiding>,
    /// Number of replies that are not hidden.
    pub replies: u32,
    /// Number of accounts that have opened the topic, excluding the author.
    pub views: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyRow {
    pub id: ReplyId,
    pub topic: TopicId,
    pub author: AccountId,
    pub author_name: String,
    /// The parent reply; `None` for a direct reply to the topic.
    pub reply_to: Option<ReplyId>,
    pub body: String,
    pub created_at: Timestamp,
    pub hidden: Option<Hiding>,
    /// Number of replies to this reply that are not hidden.
    pub replies: u32,
}

/// A topic to be added. The caller validates the text.
#[derive(Clone, Copy, Debug)]
pub struct NewTopic<'a> {
    pub author: AccountId,
    pub kind: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    pub body: &'a str,
    pub tickers: &'a [Symbol],
    pub hashtags: &'a [String],
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub struct NewReply<'a> {
    pub author: AccountId,
    pub topic: TopicId,
    pub reply_to: Option<ReplyId>,
    pub body: &'a str,
    pub at: Timestamp,
}

/// An account's previous replies, for rate limiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHistory {
    /// Number of the account's replies to the topic, including hidden replies.
    pub in_topic: u32,
    pub last_in_topic: Option<Timestamp>,
    /// Time of the account's n-th last reply to any topic, for the requested n; `None` if the
    /// account has fewer replies.
    pub far_back: Option<Timestamp>,
    /// Number of replies of all accounts to the topic.
    pub all_in_topic: u32,
}

/// Result of adding a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyOutcome {
    Added(ReplyRow),
    /// The topic does not exist, or it is hidden and was written by another account.
    NoTopic,
    /// The topic has no reply with the given parent id, or that reply is hidden.
    NoReply,
    /// The topic is hidden and was written by the replying account.
    Hidden,
}

/// A page of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOf {
    pub limit: u32,
    pub offset: u64,
}

/// Order in which replies are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyOrder {
    NewestFirst,
    OldestFirst,
}

/// The topic or reply with a given id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicTarget {
    Topic(TopicRow),
    Reply(ReplyRow),
}

/// Result of hiding or restoring a topic or reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisibilityOutcome {
    /// The topic or reply in its new state.
    Changed(TopicTarget),
    /// The topic or reply was already in the requested state.
    Unchanged(TopicTarget),
    /// No topic or reply has this id.
    Absent,
}

impl TopicRow {
    pub(super) fn read(row: &Row<'_>) -> Result<TopicRow, Fault> {
        Ok(TopicRow {
            id: TopicId(row.get(0)?),
            author: AccountId(row.get(1)?),
            author_name: row.get(2)?,
            kind: row.get(3)?,
            title: row.get(4)?,
            description: row.get(5)?,
            body: row.get(6)?,
            tickers: lines(row, 7)?,
            hashtags: lines(row, 8)?,
            created_at: Timestamp(row.get(9)?),
            hidden: hiding(row, 10)?,
            replies: small(row, 12)?,
            views: small(row, 13)?,
        })
    }
}

impl ReplyRow {
    pub(super) fn read(row: &Row<'_>) -> Result<ReplyRow, Fault> {
        Ok(ReplyRow {
            id: ReplyId(row.get(0)?),
            topic: TopicId(row.get(1)?),
            author: AccountId(row.get(2)?),
            author_name: row.get(3)?,
            reply_to: row.get::<Option<i64>>(4)?.map(ReplyId),
            body: row.get(5)?,
            created_at: Timestamp(row.get(6)?),
            hidden: hiding(row, 7)?,
            replies: small(row, 9)?,
        })
    }
}

impl TopicTarget {
    pub fn author(&self) -> AccountId {
        match self {
            TopicTarget::Topic(topic) => topic.author,
            TopicTarget::Reply(reply) => reply.author,
        }
    }

    pub fn hidden(&self) -> Option<&Hiding> {
        match self {
            TopicTarget::Topic(topic) => topic.hidden.as_ref(),
            TopicTarget::Reply(reply) => reply.hidden.as_ref(),
        }
    }
}

fn lines(row: &Row<'_>, column: usize) -> Result<Vec<String>, Fault> {
    let text: String = row.get(column)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Reads the time and reason from the column `first` and the next column. Returns `None` if the
/// time is null.
fn hiding(row: &Row<'_>, first: usize) -> Result<Option<Hiding>, Fault> {
    let Some(at) = row.get::<Option<i64>>(first)? else { return Ok(None) };
    let reason: Option<String> = row.get(first + 1)?;
    Ok(Some(Hiding { at: Timestamp(at), reason: reason.unwrap_or_default() }))
}
