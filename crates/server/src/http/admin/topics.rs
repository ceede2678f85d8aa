//! `/v1/admin/topics`: lists, hides and restores topics and replies. Endpoints that take a topic id
//! also accept a reply id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use social::{PageOf, ReplyRow, SocialError, TopicRow, TopicTarget, VisibilityOutcome, hide_reason};

use super::admin_request::{AdminRequest, LIMIT, WRONG_OR_UNKNOWN, wrong};
use crate::kit::Problem;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, Word, data};
use crate::written::Instant;

/// Highest accepted page number; higher numbers are refused. Pages after the last page with topics
/// are empty.
const PAGES_MAX: u32 = 1_000_000;
const ID: Parameter = Parameter::path("id", "Id of a topic or a reply");

pub(super) const TOPICS: Doc =
    Doc::new(Tag::Admin, "adminTopics", "Topics of all accounts, newest first; or hidden posts only")
        .parameters(&[
            Parameter::query(
                "hidden",
                Kind::OneOf(&["true", "false"]),
                "Only hidden posts: topics first, then replies",
            )
            .or(Word::Text("false")),
            Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1)),
            LIMIT,
        ])
        .answers(&[AnswerDoc::ok("The topics", &[data::<WrittenPosts>()])])
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const HIDE: Doc = Doc::new(
    Tag::Admin,
    "adminHideTopic",
    "Hide a topic or a reply from everyone except its author, who also sees the reason",
)
.parameters(&[ID])
.body(&[Media::json::<HideTopic>()])
.answers(&[AnswerDoc::ok("The updated post", &[data::<WrittenPost>()])])
.refuses(WRONG_OR_UNKNOWN);

pub(super) const RESTORE: Doc = Doc::new(Tag::Admin, "adminRestoreTopic", "Unhide a topic or a reply")
    .parameters(&[ID])
    .answers(&[AnswerDoc::ok("The updated post", &[data::<WrittenPost>()])])
    .refuses(WRONG_OR_UNKNOWN);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HideTopic {
    /// Reason shown to the author and in the audit log, at most 200 characters.
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WrittenPosts {
    posts: Vec<WrittenPost>,
}

/// A topic or a reply, as shown to operators.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WrittenPost {
    id: String,
    /// Kind of the post: `topic` or `reply`.
    what: &'static str,
    /// Id of the topic: the post's own id, or that of the topic it replies to.
    topic_id: String,
    /// Title of a topic; empty for a reply.
    title: String,
    body: String,
    author: String,
    account_id: i64,
    created_at: Instant,
    /// Time at which the post was hidden; null if it is visible.
    hidden_at: Option<Instant>,
    /// Reason for hiding the post; empty if it is visible.
    hidden_because: String,
}

impl AdminRequest<'_> {
    pub(super) fn topics(&self) -> Result<WrittenPosts, Problem> {
        let limit = self.limit()?;
        let page = match self.call.parameter_of("page") {
            None => 1,
            Some(text) => {
                let page = text.parse::<u32>().ok().filter(|page| (1..=PAGES_MAX).contains(page));
                page.ok_or_else(|| wrong(&format!("page is a number from 1 to {PAGES_MAX}")))?
            }
        };
        let page = PageOf { limit, offset: u64::from(page - 1).saturating_mul(u64::from(limit)) };
        let community = &self.site.core.community;
        let posts = match self.call.parameter_of("hidden").as_deref() {
            None | Some("" | "false") => {
                let topics = community.all_topics(page).map_err(failed)?;
                topics.into_iter().map(WrittenPost::of_topic).collect()
            }
            Some("true") => {
                let topics = community.hidden_topics(page).map_err(failed)?;
                let replies = community.hidden_replies(page).map_err(failed)?;
                let topics = topics.into_iter().map(WrittenPost::of_topic);
                topics.chain(replies.into_iter().map(WrittenPost::of_reply)).collect()
            }
            Some(_) => return Err(wrong("hidden is true or false")),
        };
        Ok(WrittenPosts { posts })
    }

    pub(super) fn hide_topic(&self) -> Result<WrittenPost, Problem> {
        let HideTopic { reason } = self.change("reason")?;
        let reason = hide_reason(&reason).map_err(|error| wrong(&error.to_string()))?;
        let by = (self.present.machine, self.by.to_string());
        outcome(self.site.core.community.hide(self.post()?, reason, (by.0, &by.1)))
    }

    pub(super) fn restore_topic(&self) -> Result<WrittenPost, Problem> {
        let by = (self.present.machine, self.by.to_string());
        outcome(self.site.core.community.restore(self.post()?, (by.0, &by.1)))
    }

    /// Parses the id in the path. Returns 404 if the id is not a number.
    fn post(&self) -> Result<i64, Problem> {
        let text = self.call.path_value("id");
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten().ok_or_else(Problem::not_found)
    }
}

/// Converts the outcome to a response. Hiding a hidden post or restoring a visible post is not an
/// error.
fn outcome(done: Result<VisibilityOutcome, SocialError>) -> Result<WrittenPost, Problem> {
    match done.map_err(failed)? {
        VisibilityOutcome::Changed(target) | VisibilityOutcome::Unchanged(target) => {
            Ok(WrittenPost::of(target))
        }
        VisibilityOutcome::Absent => Err(Problem::not_found()),
    }
}

fn failed(error: SocialError) -> Problem {
    let what = "cannot query topics";
    if let SocialError::Store(error) = error {
        return Problem::from_store(&error, what);
    }
    tracing::error!(%error, "{what}");
    Problem::internal()
}

impl WrittenPost {
    fn of(target: TopicTarget) -> WrittenPost {
        match target {
            TopicTarget::Topic(topic) => WrittenPost::of_topic(topic),
            TopicTarget::Reply(reply) => WrittenPost::of_reply(reply),
        }
    }

    fn of_topic(row: TopicRow) -> WrittenPost {
        WrittenPost {
            id: row.id.0.to_string(),
            what: "topic",
            topic_id: row.id.0.to_string(),
            title: row.title,
            body: row.body,
            author: row.author_name,
            account_id: row.author.0,
            created_at: Instant::utc(row.created_at),
            hidden_at: row.hidden.as_ref().map(|hiding| Instant::utc(hiding.at)),
            hidden_because: row.hidden.map(|hiding| hiding.reason).unwrap_or_default(),
        }
    }

    fn of_reply(row: ReplyRow) -> WrittenPost {
        WrittenPost {
            id: row.id.0.to_string(),
            what: "reply",
            topic_id: row.topic.0.to_string(),
            title: String::new(),
            body: row.body,
            author: row.author_name,
            account_id: row.author.0,
            created_at: Instant::utc(row.created_at),
            hidden_at: row.hidden.as_ref().map(|hiding| Instant::utc(hiding.at)),
            hidden_because: row.hidden.map(|hiding| hiding.reason).unwrap_or_default(),
        }
    }
}
