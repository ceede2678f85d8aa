//! `/v1/content/topics/{topic_id}/comments`: lists the replies to a topic, and creates a reply.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use social::{ReplyId, ReplyOrder, SocialError, reply_text};

use super::input::{self, OF_A_TOPIC, Size, TOPIC_ID, check_poster, of_text, problem, wrong};
use super::shape::{OneReply, Replies, Shape};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, Word, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

const SIZE: Size = Size { most: 50, otherwise: 20 };

pub(super) const LIST: Doc = Doc::new(Tag::Community, "topicReplies", "List the replies to a topic")
    .parameters(&[
        TOPIC_ID,
        Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1)),
        Parameter::query("size", Kind::Between(1, SIZE.most), "").or(Word::Number(SIZE.otherwise)),
        Parameter::query("order", Kind::OneOf(&["newest", "oldest"]), "Sort order").or(Word::Text("newest")),
    ])
    .answers(&[AnswerDoc::ok("The replies", &[data::<Replies>()])])
    .refuses(OF_A_TOPIC);
pub(super) const LIST_ALIAS: Doc = LIST.also("topicRepliesWithoutVersion", &[]);

pub(super) const CREATE: Doc = Doc::new(Tag::Community, "createTopicReply", "Reply to a topic")
    .about(
        "Requires an open paper account with assets. The first three replies of an account to a topic are \
         not delayed; later ones must follow the previous reply by 3, 5, 8, 13, 21, 34 and then 55 seconds.",
    )
    .parameters(&[TOPIC_ID])
    .body(&[Media::json::<NewTopicReply>()])
    .answers(&[AnswerDoc::ok("The reply", &[data::<OneReply>()])])
    .refuses(OF_A_TOPIC);
pub(super) const CREATE_ALIAS: Doc = CREATE.also("createTopicReplyWithoutVersion", &[]);

/// A new reply. Null and empty fields are treated as absent.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewTopicReply {
    /// At most 2,000 characters of plain text.
    #[serde(default)]
    body: Option<String>,
    /// Id of the reply that is answered, which must be in the same topic; `0` for a reply to the
    /// topic itself.
    #[serde(default)]
    reply_to_id: Option<String>,
    /// Images are not supported; null or an empty list.
    #[serde(default)]
    images: Option<Vec<Value>>,
}

pub(super) fn list(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let page = input::page(call, SIZE)?;
    let order = match call.parameter_of("order").as_deref() {
        None | Some("" | "newest") => ReplyOrder::NewestFirst,
        Some("oldest") => ReplyOrder::OldestFirst,
        Some(_) => return Err(wrong("order is newest or oldest")),
    };
    let topic = input::topic(call)?;
    let rows = site.core.community.replies(topic, admitted.account().id, order, page);
    Ok(envelope::success(Shape::of(call, site).replies(rows.map_err(problem)?)))
}

pub(super) fn create(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let sent: NewTopicReply = call.json()?;
    input::no_images(sent.images.as_deref())?;
    let body = sent.body.unwrap_or_default();
    reply_text(&body).map_err(of_text)?;
    let topic = input::topic(call)?;
    let reply_to = match sent.reply_to_id.as_deref() {
        None | Some("" | "0") => None,
        Some(text) => {
            let number = input::number_of(text).ok_or_else(|| problem(SocialError::NoReply))?;
            Some(ReplyId(number))
        }
    };
    check_poster(site, &admitted)?;
    let (core, author) = (&site.core, admitted.account().id);
    let reply = core.community.reply(author, topic, reply_to, &body, core.machine_now()).map_err(problem)?;
    Ok(envelope::success(Shape::of(call, site).one_reply(reply)))
}
