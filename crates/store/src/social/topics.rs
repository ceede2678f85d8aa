//! Community topics and replies, including hidden ones. The caller enforces text lengths and
//! posting rates inside the write transaction.

use market::{Symbol, Timestamp};

use super::topic_rows::{
    NewReply, NewTopic, PageOf, ReplyHistory, ReplyId, ReplyOrder, ReplyOutcome, ReplyRow, TopicId, TopicRow,
    TopicTarget, VisibilityOutcome,
};
use crate::accounts::{Accounts, AuditNote, audit, check_texts, take};
use crate::engine::{Db, Fault, StoreError, signed, small};
use crate::ids::AccountId;

/// Maximum number of an account's latest topics that are passed to the caller when the account adds
/// a topic.
pub const RECENT_TOPICS_MAX: u32 = 10;
/// Maximum size of a topic or reply, in bytes. A safety limit; callers enforce lower limits.
const BODY_BYTES_MAX: usize = 256 << 10;
/// Maximum number of rows per list.
const ROWS_MAX: u32 = 1_000;
const COUNTER: &str = "topic";

/// Selects topics, newest first. `All` and `Hidden` are for operators; the other variants list
/// hidden topics only for their authors.
#[derive(Clone, Copy, Debug)]
pub enum TopicList<'a> {
    /// All topics that an account may read.
    Everybody {
        reader: AccountId,
        kind: Option<&'a str>,
    },
    /// Topics written by an account.
    Of {
        author: AccountId,
        kind: Option<&'a str>,
    },
    /// Topics about a security that an account may read.
    About {
        symbol: &'a Symbol,
        reader: AccountId,
        kind: Option<&'a str>,
    },
    /// All topics, for an operator.
    All,
    Hidden,
}

impl Accounts {
    pub fn topic(&self, id: TopicId) -> Result<Option<TopicRow>, StoreError> {
        self.read().first(sql::TOPIC, [id.0], TopicRow::read)
    }

    pub fn topics(&self, list: &TopicList<'_>, page: PageOf) -> Result<Vec<TopicRow>, StoreError> {
        let (limit, offset) = (page.limit.min(ROWS_MAX), signed(page.offset));
        let (db, read) = (self.read(), TopicRow::read);
        match list {
            TopicList::Everybody { reader, kind } => {
                db.all(sql::TOPICS, (reader.0, kind, limit, offset), read)
            }
            TopicList::Of { author, kind } => db.all(sql::TOPICS_OF, (author.0, kind, limit, offset), read),
            TopicList::About { symbol, reader, kind } => {
                db.all(sql::TOPICS_ABOUT, (symbol.as_str(), reader.0, kind, limit, offset), read)
            }
            TopicList::All => db.all(sql::ALL_TOPICS, (limit, offset), read),
            TopicList::Hidden => db.all(sql::HIDDEN_TOPICS, (limit, offset), read),
        }
    }

    /// Adds a topic unless `decide` returns an error. `decide` receives the times of the account's
    /// last topics, newest first.
    pub fn add_topic<E: From<StoreError>>(
        &self,
        new: &NewTopic<'_>,
        decide: impl FnOnce(&[Timestamp]) -> Result<(), E>,
    ) -> Result<TopicRow, E> {
        let NewTopic { author, kind, title, description, body, tickers, hashtags, at } = *new;
        let symbols: Vec<&str> = tickers.iter().map(Symbol::as_str).collect();
        let (symbols_text, hashtags) = (symbols.join("\n"), hashtags.join("\n"));
        check_texts("a topic", &[kind, title, description, &symbols_text, &hashtags])?;
        check_body(body)?;
        self.decide(|db| {
            let recent = db.all(sql::RECENT_TOPICS, (author.0, RECENT_TOPICS_MAX), instant)?;
            decide(&recent)?;
            let id = take(db, COUNTER)?;
            db.run(
                sql::ADD_TOPIC,
                (id, author.0, kind, title, description, body, &symbols_text, &hashtags, at.0),
            )?;
            for symbol in &symbols {
                db.run(sql::ADD_SYMBOL, (symbol, id))?;
            }
            Ok(db.one(sql::TOPIC, [id], TopicRow::read)?)
        })
    }

    /// Records that an account has opened a topic. Repeated views by the same account are not
    /// counted.
    pub fn note_topic_view(&self, id: TopicId, reader: AccountId) -> Result<(), StoreError> {
        let pair = (id.0, reader.0);
        if self.read().one(sql::HAS_SEEN, pair, |row| row.get::<bool>(0))? {
            return Ok(());
        }
        self.change(|db| {
            if db.run(sql::ADD_VIEW, pair)? > 0 {
                db.run(sql::COUNT_VIEW, [id.0])?;
            }
            Ok(())
        })
    }

    /// Returns the replies to a topic that an account may read.
    pub fn replies(
        &self,
        topic: TopicId,
        reader: AccountId,
        order: ReplyOrder,
        page: PageOf,
    ) -> Result<Vec<ReplyRow>, StoreError> {
        let sql = match order {
            ReplyOrder::NewestFirst => sql::NEWEST_REPLIES,
            ReplyOrder::OldestFirst => sql::OLDEST_REPLIES,
        };
        let within = (topic.0, reader.0, page.limit.min(ROWS_MAX), signed(page.offset));
        self.read().all(sql, within, ReplyRow::read)
    }

    /// Returns the hidden replies to all topics, newest first.
    pub fn hidden_replies(&self, page: PageOf) -> Result<Vec<ReplyRow>, StoreError> {
        let within = (page.limit.min(ROWS_MAX), signed(page.offset));
        self.read().all(sql::HIDDEN_REPLIES, within, ReplyRow::read)
    }

    /// Adds a reply unless `decide` returns an error. `far_back` is the n of
    /// [`ReplyHistory::far_back`].
    pub fn add_reply<E: From<StoreError>>(
        &self,
        new: &NewReply<'_>,
        far_back: u32,
        decide: impl FnOnce(&ReplyHistory) -> Result<(), E>,
    ) -> Result<ReplyOutcome, E> {
        let NewReply { author, topic, reply_to, body, at } = *new;
        check_body(body)?;
        self.decide(|db| {
            match db.first(sql::TOPIC, [topic.0], TopicRow::read)? {
                Some(found) if found.hidden.is_none() => {}
                Some(found) if found.author == author => return Ok(ReplyOutcome::Hidden),
                _ => return Ok(ReplyOutcome::NoTopic),
            }
            if let Some(reply_to) = reply_to {
                let found = db.first(sql::REPLY, [reply_to.0], ReplyRow::read)?;
                if found.is_none_or(|found| found.topic != topic || found.hidden.is_some()) {
                    return Ok(ReplyOutcome::NoReply);
                }
            }
            decide(&history(db, author, topic, far_back)?)?;
            let id = take(db, COUNTER)?;
            let to = reply_to.map(|reply| reply.0);
            db.run(sql::ADD_REPLY, (id, topic.0, author.0, to, body, at.0))?;
            count(db, topic, reply_to, 1)?;
            Ok(ReplyOutcome::Added(db.one(sql::REPLY, [id], ReplyRow::read)?))
        })
    }

    /// Hides a topic or reply for the given reason, or makes it visible again if the reason is
    /// `None`.
    pub fn set_topic_visibility(
        &self,
        id: i64,
        hide_because: Option<&str>,
        note: &AuditNote<'_>,
    ) -> Result<VisibilityOutcome, StoreError> {
        check_texts("a reason", &[hide_because.unwrap_or_default()])?;
        let hidden_at = hide_because.map(|_| note.at.0);
        self.change(|db| {
            let Some(target) = target(db, id)? else { return Ok(VisibilityOutcome::Absent) };
            if target.hidden().is_some() == hide_because.is_some() {
                return Ok(VisibilityOutcome::Unchanged(target));
            }
            let kind = match &target {
                TopicTarget::Topic(_) => {
                    db.run(sql::SET_TOPIC_HIDDEN, (hidden_at, hide_because, id))?;
                    "topic"
                }
                TopicTarget::Reply(reply) => {
                    db.run(sql::SET_REPLY_HIDDEN, (hidden_at, hide_because, id))?;
                    count(db, reply.topic, reply.reply_to, if hide_because.is_some() { -1 } else { 1 })?;
                    "reply"
                }
            };
            let event = format!("{kind}.{}", if hide_because.is_some() { "hidden" } else { "restored" });
            let reason = format!("{kind} {id}: {}", note.reason);
            audit::write(db, Some(target.author()), &event, &AuditNote { reason: &reason, ..*note })?;
            let now = self::target(db, id)?;
            Ok(now.map_or(VisibilityOutcome::Absent, VisibilityOutcome::Changed))
        })
    }
}

/// Adds `by` to the counts of visible replies of the topic and of the parent reply.
fn count(db: &Db, topic: TopicId, reply_to: Option<ReplyId>, by: i64) -> Result<(), StoreError> {
    db.run(sql::COUNT_REPLIES, (by, topic.0))?;
    if let Some(reply_to) = reply_to {
        db.run(sql::COUNT_NESTED, (by, reply_to.0))?;
    }
    Ok(())
}

fn history(db: &Db, author: AccountId, topic: TopicId, far_back: u32) -> Result<ReplyHistory, StoreError> {
    let (in_topic, last_in_topic) = db.one(sql::REPLIES_IN_TOPIC, (author.0, topic.0), |row| {
        Ok((small(row, 0)?, row.get::<Option<i64>>(1)?.map(Timestamp)))
    })?;
    let before = far_back.saturating_sub(1);
    let far_back = db.first(sql::RECENT_REPLY, (author.0, before), instant)?;
    let all_in_topic = db.one(sql::ALL_IN_TOPIC, [topic.0], |row| small(row, 0))?;
    Ok(ReplyHistory { in_topic, last_in_topic, far_back, all_in_topic })
}

fn target(db: &Db, id: i64) -> Result<Option<TopicTarget>, StoreError> {
    if let Some(topic) = db.first(sql::TOPIC, [id], TopicRow::read)? {
        return Ok(Some(TopicTarget::Topic(topic)));
    }
    Ok(db.first(sql::REPLY, [id], ReplyRow::read)?.map(TopicTarget::Reply))
}

fn instant(row: &crate::engine::Row<'_>) -> Result<Timestamp, Fault> {
    Ok(Timestamp(row.get(0)?))
}

fn check_body(body: &str) -> Result<(), StoreError> {
    if body.len() > BODY_BYTES_MAX {
        return Err(StoreError::unfit("a text", format!("it is longer than {BODY_BYTES_MAX} bytes")));
    }
    Ok(())
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    macro_rules! select_topic {
        () => {
            "select t.id, t.account_id, a.name, t.kind, t.title, t.description, t.body, t.tickers, t.hashtags, t.created_at, \
             t.hidden_at, t.hidden_because, t.replies, t.views \
             from sealed_topic t join sealed_account a on a.id = t.account_id "
        };
    }
    macro_rules! select_reply {
        () => {
            "select r.id, r.topic_id, r.account_id, a.name, r.reply_to_id, r.body, r.created_at, r.hidden_at, r.hidden_because, r.replies \
             from sealed_topic_reply r join sealed_account a on a.id = r.account_id "
        };
    }

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        TOPIC: "read a topic", concat!(select_topic!(), "where t.id = $1");
        TOPICS: "list the topics",
            concat!(
                select_topic!(),
                "where (t.hidden_at is null or t.account_id = $1) and (cast($2 as text) is null or t.kind = $2) \
                 order by t.id desc limit $3 offset $4"
            );
        TOPICS_OF: "list the topics of an account",
            concat!(
                select_topic!(),
                "where t.account_id = $1 and (cast($2 as text) is null or t.kind = $2) order by t.id desc limit $3 offset $4"
            );
        TOPICS_ABOUT: "list the topics about a security",
            concat!(
                select_topic!(),
                "join sealed_topic_symbol s on s.topic_id = t.id \
                 where s.symbol = $1 and (t.hidden_at is null or t.account_id = $2) and (cast($3 as text) is null or t.kind = $3) \
                 order by s.topic_id desc limit $4 offset $5"
            );
        ALL_TOPICS: "list the topics for operators", concat!(select_topic!(), "order by t.id desc limit $1 offset $2");
        HIDDEN_TOPICS: "list the hidden topics",
            concat!(select_topic!(), "where t.hidden_at is not null order by t.id desc limit $1 offset $2");
        RECENT_TOPICS: "read when an account wrote topics",
            "select created_at from sealed_topic where account_id = $1 order by id desc limit $2";
        ADD_TOPIC: "add a topic",
            "insert into topic (id, account_id, kind, title, description, body, tickers, hashtags, created_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        ADD_SYMBOL: "record the tickers of a topic",
            "insert into topic_symbol (symbol, topic_id) values ($1, $2) on conflict (symbol, topic_id) do nothing";
        SET_TOPIC_HIDDEN: "hide or restore a topic",
            "update topic set hidden_at = $1, hidden_because = $2 where id = $3";
        COUNT_REPLIES: "count the replies of a topic", "update topic set replies = replies + $1 where id = $2";

        HAS_SEEN: "check whether an account has opened a topic",
            "select exists (select 1 from sealed_topic_view where topic_id = $1 and account_id = $2)";
        ADD_VIEW: "record that an account has opened a topic",
            "insert into topic_view (topic_id, account_id) values ($1, $2) on conflict (topic_id, account_id) do nothing";
        COUNT_VIEW: "count the accounts that opened a topic", "update topic set views = views + 1 where id = $1";

        REPLY: "read a reply", concat!(select_reply!(), "where r.id = $1");
        NEWEST_REPLIES: "list the replies of a topic",
            concat!(
                select_reply!(),
                "where r.topic_id = $1 and (r.hidden_at is null or r.account_id = $2) order by r.id desc limit $3 offset $4"
            );
        OLDEST_REPLIES: "list the replies of a topic",
            concat!(
                select_reply!(),
                "where r.topic_id = $1 and (r.hidden_at is null or r.account_id = $2) order by r.id limit $3 offset $4"
            );
        HIDDEN_REPLIES: "list the hidden replies",
            concat!(select_reply!(), "where r.hidden_at is not null order by r.id desc limit $1 offset $2");
        REPLIES_IN_TOPIC: "read the recent replies of an account",
            "select count(*), max(created_at) from sealed_topic_reply where account_id = $1 and topic_id = $2";
        RECENT_REPLY: "read when an account replied",
            "select created_at from sealed_topic_reply where account_id = $1 order by id desc limit 1 offset $2";
        ALL_IN_TOPIC: "count all replies of a topic", "select count(*) from topic_reply where topic_id = $1";
        ADD_REPLY: "add a reply",
            "insert into topic_reply (id, topic_id, account_id, reply_to_id, body, created_at) values ($1, $2, $3, $4, $5, $6)";
        SET_REPLY_HIDDEN: "hide or restore a reply",
            "update topic_reply set hidden_at = $1, hidden_because = $2 where id = $3";
        COUNT_NESTED: "count the replies of a reply", "update topic_reply set replies = replies + $1 where id = $2";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn reading_topics_uses_the_indexes() {
            let all = [
                TOPIC,
                TOPICS_OF,
                TOPICS_ABOUT,
                RECENT_TOPICS,
                HAS_SEEN,
                REPLY,
                NEWEST_REPLIES,
                OLDEST_REPLIES,
                REPLIES_IN_TOPIC,
                RECENT_REPLY,
                ALL_IN_TOPIC,
            ];
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
        }
    }
}
