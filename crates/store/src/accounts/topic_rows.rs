//! Topics and replies as they are stored, and what is asked about them.

use market::{Symbol, Timestamp};

use super::AccountId;
use crate::count::small;
use crate::engine::{Fault, Row};

/// The number of a topic. No reply has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicId(pub i64);

/// The number of a reply. No topic has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId(pub i64);

/// That an operator has hidden something.
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
    /// The beginning of the text.
    pub description: String,
    pub body: String,
    pub tickers: Vec<String>,
    pub hashtags: Vec<String>,
    /// The machine's time.
    pub created_at: Timestamp,
    pub hidden: Option<Hiding>,
    /// Replies that are not hidden.
    pub replies: u32,
    /// Accounts that have opened it, its author apart.
    pub views: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyRow {
    pub id: ReplyId,
    pub topic: TopicId,
    pub author: AccountId,
    pub author_name: String,
    /// The reply that it is a reply to, if it is not one to the topic.
    pub reply_to: Option<ReplyId>,
    pub body: String,
    pub created_at: Timestamp,
    pub hidden: Option<Hiding>,
    /// Replies to it that are not hidden.
    pub replies: u32,
}

/// A topic to be added. What its texts may be, the caller knows.
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

/// How an account has replied so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHistory {
    /// Its replies to the topic, hidden ones too, and when it wrote the last of them.
    pub in_topic: u32,
    pub last_in_topic: Option<Timestamp>,
    /// When it wrote as many replies back as it was asked for, to whatever topic; `None` if it has not written so many.
    pub far_back: Option<Timestamp>,
    /// Replies of everybody to the topic.
    pub all_in_topic: u32,
}

/// What became of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyOutcome {
    Added(ReplyRow),
    /// There is no such topic for this account.
    NoTopic,
    /// The topic has no such reply.
    NoReply,
    /// The account's own topic is hidden.
    Hidden,
}

/// Which rows of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOf {
    pub limit: u32,
    pub offset: u64,
}

/// The order of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyOrder {
    NewestFirst,
    OldestFirst,
}

/// What a number names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicTarget {
    Topic(TopicRow),
    Reply(ReplyRow),
}

/// What became of hiding or restoring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisibilityOutcome {
    /// As it is now.
    Changed(TopicTarget),
    /// It was so already.
    Unchanged(TopicTarget),
    /// Nothing has this number.
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

/// Two columns: when, and why.
fn hiding(row: &Row<'_>, first: usize) -> Result<Option<Hiding>, Fault> {
    let Some(at) = row.get::<Option<i64>>(first)? else { return Ok(None) };
    let reason: Option<String> = row.get(first + 1)?;
    Ok(Some(Hiding { at: Timestamp(at), reason: reason.unwrap_or_default() }))
}
