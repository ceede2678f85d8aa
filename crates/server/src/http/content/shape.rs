//! Topics and replies in the JSON format of the SDKs. Most SDKs expect counts as numbers, but the
//! Go SDK declares counts as strings and fails on a number.

use market::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use social::{Hiding, ReplyRow, TopicRow};

use crate::kit::doc::described_only;
use crate::kit::{Call, GO_AGENT, Site};

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Topics {
    /// Topics, newest first.
    items: Vec<Topic>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OneTopic {
    item: Topic,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Topic {
    id: String,
    title: String,
    /// Beginning of the text, without Markdown.
    description: String,
    /// Unprocessed text: plain text for a post, Markdown for an article. Escape it before display.
    body: String,
    /// Kind of the topic: `post` or `article`.
    topic_type: String,
    author: TopicAuthor,
    /// Symbols given by the author, followed by symbols found in the text.
    tickers: Vec<String>,
    hashtags: Vec<String>,
    #[schemars(with = "Vec<TopicImage>")]
    images: [(); 0],
    likes_count: TopicCount,
    comments_count: TopicCount,
    /// Number of accounts that opened the topic, excluding its author.
    views_count: TopicCount,
    shares_count: TopicCount,
    license: u32,
    detail_url: String,
    /// Creation time in Unix seconds.
    created_at: String,
    /// Time of the last change in Unix seconds.
    updated_at: String,
    /// Whether an operator has hidden the post from everyone except its author.
    hidden: bool,
    /// The operator's reason; empty if the post is visible.
    hidden_because: String,
}

described_only! {
    /// An image. Images are not supported, so image lists are always empty.
    struct TopicImage {
        url: String,
        sm: String,
        lg: String,
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct TopicAuthor {
    /// Account number of the author.
    member_id: String,
    name: String,
    avatar: String,
}

/// A number, or a string for the Go SDK.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum TopicCount {
    Number(u32),
    Text(String),
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicReplies")]
pub(super) struct Replies {
    items: Vec<Reply>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OneTopicReply")]
pub(super) struct OneReply {
    item: Reply,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TopicReply")]
struct Reply {
    id: String,
    topic_id: String,
    /// Plain text. Escape it before display.
    body: String,
    /// Id of the reply that is answered; `0` for a reply to the topic itself.
    reply_to_id: String,
    author: TopicAuthor,
    #[schemars(with = "Vec<TopicImage>")]
    images: [(); 0],
    likes_count: TopicCount,
    /// Number of replies to this reply.
    comments_count: TopicCount,
    /// Creation time in Unix seconds.
    created_at: String,
    /// Whether an operator has hidden the post from everyone except its author.
    hidden: bool,
    /// The operator's reason; empty if the post is visible.
    hidden_because: String,
}

/// Summaries of topics about a security.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TopicItems {
    /// Topic summaries, newest first.
    items: Vec<TopicItem>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TopicItem {
    id: String,
    title: String,
    /// Beginning of the text, without Markdown.
    description: String,
    url: String,
    /// Creation time in Unix seconds.
    published_at: String,
    comments_count: u32,
    likes_count: u32,
    shares_count: u32,
}

/// Topics of all accounts, without their bodies.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TopicCards {
    /// Topics, newest first.
    items: Vec<TopicCard>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TopicCard {
    id: String,
    title: String,
    /// Beginning of the text, without Markdown.
    description: String,
    /// Kind of the topic: `post` or `article`.
    topic_type: String,
    author: TopicAuthor,
    tickers: Vec<String>,
    hashtags: Vec<String>,
    comments_count: u32,
    views_count: u32,
    /// Creation time in Unix seconds.
    created_at: String,
    /// Whether an operator has hidden the post from everyone except its author.
    hidden: bool,
}

/// The response format for one client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<'a> {
    /// Path prefix of the server's public URL.
    base: &'a str,
    counts_as_text: bool,
}

impl<'a> Shape<'a> {
    pub(super) fn of(call: &Call<'_>, site: &'a Site) -> Shape<'a> {
        let counts_as_text = call.header("user-agent").is_some_and(|agent| agent.starts_with(GO_AGENT));
        Shape { base: site.base(), counts_as_text }
    }

    pub(super) fn topics(self, rows: Vec<TopicRow>) -> Topics {
        Topics { items: rows.into_iter().map(|row| self.topic(row)).collect() }
    }

    pub(super) fn one_topic(self, row: TopicRow) -> OneTopic {
        OneTopic { item: self.topic(row) }
    }

    pub(super) fn replies(self, rows: Vec<ReplyRow>) -> Replies {
        Replies { items: rows.into_iter().map(|row| self.reply(row)).collect() }
    }

    pub(super) fn one_reply(self, row: ReplyRow) -> OneReply {
        OneReply { item: self.reply(row) }
    }

    pub(super) fn items(self, rows: Vec<TopicRow>) -> TopicItems {
        let item = |row: TopicRow| TopicItem {
            url: self.address(&row),
            id: row.id.0.to_string(),
            title: row.title,
            description: row.description,
            published_at: seconds(row.created_at),
            comments_count: row.replies,
            likes_count: 0,
            shares_count: 0,
        };
        TopicItems { items: rows.into_iter().map(item).collect() }
    }

    pub(super) fn cards(rows: Vec<TopicRow>) -> TopicCards {
        let card = |row: TopicRow| TopicCard {
            id: row.id.0.to_string(),
            title: row.title,
            description: row.description,
            topic_type: row.kind,
            author: TopicAuthor::of(row.author, row.author_name),
            tickers: row.tickers,
            hashtags: row.hashtags,
            comments_count: row.replies,
            views_count: row.views,
            created_at: seconds(row.created_at),
            hidden: row.hidden.is_some(),
        };
        TopicCards { items: rows.into_iter().map(card).collect() }
    }

    fn topic(self, row: TopicRow) -> Topic {
        Topic {
            detail_url: self.address(&row),
            id: row.id.0.to_string(),
            title: row.title,
            description: row.description,
            body: row.body,
            topic_type: row.kind,
            author: TopicAuthor::of(row.author, row.author_name),
            tickers: row.tickers,
            hashtags: row.hashtags,
            images: [],
            likes_count: self.count(0),
            comments_count: self.count(row.replies),
            views_count: self.count(row.views),
            shares_count: self.count(0),
            license: 0,
            created_at: seconds(row.created_at),
            updated_at: seconds(row.created_at),
            hidden: row.hidden.is_some(),
            hidden_because: reason(row.hidden),
        }
    }

    fn reply(self, row: ReplyRow) -> Reply {
        Reply {
            id: row.id.0.to_string(),
            topic_id: row.topic.0.to_string(),
            body: row.body,
            reply_to_id: row.reply_to.map_or(0, |reply| reply.0).to_string(),
            author: TopicAuthor::of(row.author, row.author_name),
            images: [],
            likes_count: self.count(0),
            comments_count: self.count(row.replies),
            created_at: seconds(row.created_at),
            hidden: row.hidden.is_some(),
            hidden_because: reason(row.hidden),
        }
    }

    fn count(self, number: u32) -> TopicCount {
        if self.counts_as_text { TopicCount::Text(number.to_string()) } else { TopicCount::Number(number) }
    }

    /// Returns the URL of a topic's page.
    fn address(self, row: &TopicRow) -> String {
        format!("{}/topics/{}", self.base, row.id.0)
    }
}

impl TopicAuthor {
    fn of(id: access::AccountId, name: String) -> TopicAuthor {
        TopicAuthor { member_id: id.0.to_string(), name, avatar: String::new() }
    }
}

fn reason(hidden: Option<Hiding>) -> String {
    hidden.map(|hiding| hiding.reason).unwrap_or_default()
}

fn seconds(at: Timestamp) -> String {
    at.0.to_string()
}
