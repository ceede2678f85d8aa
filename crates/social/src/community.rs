//! Reading, writing and moderation of topics and replies.

use std::sync::Arc;

use market::{Symbol, Timestamp};
use store::{
    AccountId, Accounts, AuditNote, NewReply, NewTopic, PageOf, ReplyHistory, ReplyId, ReplyOrder,
    ReplyOutcome, ReplyRow, StoreError, TopicId, TopicList, TopicRow, VisibilityOutcome,
};

use crate::draft::{Draft, Kind};
use crate::{excerpt, pace};

/// Maximum number of replies to a topic.
const REPLIES_MAX: u32 = 10_000;

/// Why a topic or reply could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SocialError {
    #[error("topic not found")]
    NoTopic,
    #[error("reply not found")]
    NoReply,
    #[error("an operator has hidden this topic: replies are not accepted")]
    Hidden,
    #[error("this topic has reached the limit of 10,000 replies: start a new one")]
    Full,
    #[error("at most 3 topics in a minute and 10 in a day: wait {retry_after_s} s")]
    TopicsTooOften { retry_after_s: i64 },
    #[error("replies to a topic are rate limited, with at most 500 per day: wait {retry_after_s} s")]
    RepliesTooOften { retry_after_s: i64 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Selects the topics to list, newest first.
#[derive(Clone, Copy, Debug)]
pub enum Listing<'a> {
    /// All topics that the reader may read.
    Newest,
    /// Topics written by the reader.
    Mine,
    /// Topics about this security that the reader may read.
    About(&'a Symbol),
}

/// Provides access to topics and replies, which are stored in the accounts database.
#[derive(Clone, Debug)]
pub struct Community {
    accounts: Arc<Accounts>,
}

impl Community {
    pub fn new(accounts: Arc<Accounts>) -> Community {
        Community { accounts }
    }

    /// Returns a topic, and counts a view unless the reader is the author. A hidden topic is
    /// visible only to its author; for other readers the result is [`SocialError::NoTopic`].
    pub fn open(&self, id: TopicId, reader: AccountId) -> Result<TopicRow, SocialError> {
        let topic = self.readable(id, reader)?;
        if topic.author != reader {
            // Reading the topic must succeed even if the view cannot be counted, for example on a
            // full disk.
            self.accounts.note_topic_view(id, reader).ok();
        }
        Ok(topic)
    }

    pub fn topics(
        &self,
        listing: Listing<'_>,
        reader: AccountId,
        kind: Option<Kind>,
        page: PageOf,
    ) -> Result<Vec<TopicRow>, SocialError> {
        let kind = kind.map(Kind::as_str);
        let list = match listing {
            Listing::Newest => TopicList::Everybody { reader, kind },
            Listing::Mine => TopicList::Of { author: reader, kind },
            Listing::About(symbol) => TopicList::About { symbol, reader, kind },
        };
        Ok(self.accounts.topics(&list, page)?)
    }

    pub fn write(&self, author: AccountId, draft: &Draft, now: Timestamp) -> Result<TopicRow, SocialError> {
        let Draft { kind, title, body, tickers, hashtags } = draft;
        let description = excerpt::of(*kind, body);
        let new = NewTopic {
            author,
            kind: kind.as_str(),
            title,
            description: &description,
            body,
            tickers,
            hashtags,
            at: now,
        };
        self.accounts.add_topic(&new, |recent| match pace::topic_wait(recent, now) {
            Some(retry_after_s) => Err(SocialError::TopicsTooOften { retry_after_s }),
            None => Ok(()),
        })
    }

    /// Returns a page of the replies to a topic, or [`SocialError::NoTopic`] if the reader may not
    /// read the topic.
    pub fn replies(
        &self,
        topic: TopicId,
        reader: AccountId,
        order: ReplyOrder,
        page: PageOf,
    ) -> Result<Vec<ReplyRow>, SocialError> {
        self.readable(topic, reader)?;
        Ok(self.accounts.replies(topic, reader, order, page)?)
    }

    /// Adds a reply to a topic, subject to the rate limits. The caller must have validated `body`
    /// with [`crate::reply_text`].
    pub fn reply(
        &self,
        author: AccountId,
        topic: TopicId,
        reply_to: Option<ReplyId>,
        body: &str,
        now: Timestamp,
    ) -> Result<ReplyRow, SocialError> {
        let new = NewReply { author, topic, reply_to, body, at: now };
        let decide = |history: &ReplyHistory| match pace::reply_wait(history, now) {
            _ if history.all_in_topic >= REPLIES_MAX => Err(SocialError::Full),
            Some(retry_after_s) => Err(SocialError::RepliesTooOften { retry_after_s }),
            None => Ok(()),
        };
        match self.accounts.add_reply(&new, pace::REPLIES_A_DAY, decide)? {
            ReplyOutcome::Added(reply) => Ok(reply),
            ReplyOutcome::NoTopic => Err(SocialError::NoTopic),
            ReplyOutcome::NoReply => Err(SocialError::NoReply),
            ReplyOutcome::Hidden => Err(SocialError::Hidden),
        }
    }

    /// Returns a page of all topics, including hidden topics, for operators.
    pub fn all_topics(&self, page: PageOf) -> Result<Vec<TopicRow>, SocialError> {
        Ok(self.accounts.topics(&TopicList::All, page)?)
    }

    /// Returns a page of the hidden topics, for operators.
    pub fn hidden_topics(&self, page: PageOf) -> Result<Vec<TopicRow>, SocialError> {
        Ok(self.accounts.topics(&TopicList::Hidden, page)?)
    }

    /// Returns a page of the hidden replies, for operators.
    pub fn hidden_replies(&self, page: PageOf) -> Result<Vec<ReplyRow>, SocialError> {
        Ok(self.accounts.hidden_replies(page)?)
    }

    /// Hides the topic or reply with this id. The reason is shown to the author and written to the
    /// audit log. The caller must have validated `reason` with [`crate::hide_reason`].
    pub fn hide(
        &self,
        id: i64,
        reason: &str,
        (now, actor): (Timestamp, &str),
    ) -> Result<VisibilityOutcome, SocialError> {
        Ok(self.accounts.set_topic_visibility(id, Some(reason), &AuditNote { at: now, actor, reason })?)
    }

    pub fn restore(
        &self,
        id: i64,
        (now, actor): (Timestamp, &str),
    ) -> Result<VisibilityOutcome, SocialError> {
        let note = AuditNote { at: now, actor, reason: "restored" };
        Ok(self.accounts.set_topic_visibility(id, None, &note)?)
    }

    fn readable(&self, id: TopicId, reader: AccountId) -> Result<TopicRow, SocialError> {
        let found = self.accounts.topic(id)?;
        let readable = found.filter(|topic| topic.hidden.is_none() || topic.author == reader);
        readable.ok_or(SocialError::NoTopic)
    }
}
