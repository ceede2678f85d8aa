//! `POST /v1/content/topics`: creates a topic.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use social::{Draft, RawDraft};

use super::input::{LISTS, no_images, of_text, problem};
use super::poster;
use super::shape::{OneTopic, Shape};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const CREATE: Doc = Doc::new(Tag::Community, "createTopic", "Write a topic")
    .about(
        "For opened accounts that hold assets: at most 3 topics in a minute and 10 in a day. Symbols in the text are linked besides those \
         that are named.",
    )
    .body(&[Media::json::<NewTopic>()])
    .answers(&[AnswerDoc::ok("The topic", &[data::<OneTopic>()])])
    .refuses(LISTS);
pub(super) const CREATE_ALIAS: Doc = CREATE.also("createTopicWithoutVersion", &[]);

/// Null and empty fields count as absent.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewTopic {
    /// Up to 200 characters on one line; required for an article.
    #[serde(default)]
    title: Option<String>,
    /// Up to 5,000 characters of plain text, or 20,000 of Markdown for an article.
    #[serde(default)]
    body: Option<String>,
    /// `post`, or `article`.
    #[serde(default)]
    topic_type: Option<String>,
    /// Up to 10 symbols, as 700.HK.
    #[serde(default)]
    tickers: Option<Vec<String>>,
    /// Up to 5 words of 50 characters.
    #[serde(default)]
    hashtags: Option<Vec<String>>,
    /// Images are not supported.
    #[serde(default)]
    images: Option<Vec<Value>>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let sent: NewTopic = call.json()?;
    no_images(sent.images.as_deref())?;
    let draft = Draft::parse(&RawDraft {
        kind: sent.topic_type.as_deref().filter(|kind| !kind.is_empty()),
        title: sent.title.as_deref().unwrap_or_default(),
        body: sent.body.as_deref().unwrap_or_default(),
        tickers: sent.tickers.as_deref().unwrap_or_default(),
        hashtags: sent.hashtags.as_deref().unwrap_or_default(),
    });
    let draft = draft.map_err(of_text)?;
    poster::check(site, &admitted)?;
    let core = &site.core;
    let topic = core.community.write(admitted.account().id, &draft, core.machine_now()).map_err(problem)?;
    Ok(envelope::success(Shape::of(call, site).one_topic(topic)))
}
