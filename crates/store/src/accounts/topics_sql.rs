//! SQL statements of topics and replies. Newest first is by id: ids are assigned in time order.

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
    RECENT_TOPICS: "look when an account wrote topics",
        "select created_at from sealed_topic where account_id = $1 order by id desc limit $2";
    ADD_TOPIC: "add a topic",
        "insert into topic (id, account_id, kind, title, description, body, tickers, hashtags, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    ADD_SYMBOL: "note what a topic is about",
        "insert into topic_symbol (symbol, topic_id) values ($1, $2) on conflict (symbol, topic_id) do nothing";
    SET_TOPIC_HIDDEN: "hide or restore a topic",
        "update topic set hidden_at = $1, hidden_because = $2 where id = $3";
    COUNT_REPLIES: "count the replies of a topic", "update topic set replies = replies + $1 where id = $2";

    HAS_SEEN: "look whether an account has opened a topic",
        "select exists (select 1 from sealed_topic_view where topic_id = $1 and account_id = $2)";
    ADD_VIEW: "note that an account has opened a topic",
        "insert into topic_view (topic_id, account_id) values ($1, $2) on conflict (topic_id, account_id) do nothing";
    COUNT_VIEW: "count who has opened a topic", "update topic set views = views + 1 where id = $1";

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
    REPLIES_IN_TOPIC: "look how an account has replied",
        "select count(*), max(created_at) from sealed_topic_reply where account_id = $1 and topic_id = $2";
    RECENT_REPLY: "look when an account replied",
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
