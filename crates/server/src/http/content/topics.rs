//! Topic endpoints: list topics, read a topic, and create a topic with `POST /v1/content/topics`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use social::{Draft, Listing, RawDraft};

use super::input::{self, LISTS, OF_A_TOPIC, Size, TOPIC_ID, check_poster, no_images, of_text, problem};
use super::shape::{OneTopic, Shape, TopicCards, TopicItems, Topics};
use crate::command;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, Word, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

const MINE_SIZE: Size = Size { most: 500, otherwise: 50 };
const LIST_SIZE: Size = Size { most: 50, otherwise: 20 };
const ABOUT_SIZE: Size = Size { most: 50, otherwise: 50 };

const PAGE: Parameter = Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1));
const TOPIC_TYPE: Parameter =
    Parameter::query("topic_type", Kind::OneOf(&["article", "post"]), "Only topics of this kind");
const SYMBOL: Parameter = Parameter::path("symbol", "Symbol such as 700.HK");

pub(super) const MINE: Doc =
    Doc::new(Tag::Community, "myTopics", "List the account's own topics, including hidden ones")
        .parameters(&[
            PAGE,
            Parameter::query("size", Kind::Between(1, MINE_SIZE.most), "")
                .or(Word::Number(MINE_SIZE.otherwise)),
            TOPIC_TYPE,
        ])
        .answers(&[AnswerDoc::ok("The topics", &[data::<Topics>()])])
        .refuses(LISTS);
pub(super) const MINE_ALIAS: Doc = MINE.also("myTopicsWithoutVersion", &[]);

pub(super) const NEWEST: Doc =
    Doc::new(Tag::Community, "topics", "List topics of all accounts, without their bodies")
        .parameters(&[
            PAGE,
            Parameter::query("size", Kind::Between(1, LIST_SIZE.most), "")
                .or(Word::Number(LIST_SIZE.otherwise)),
            TOPIC_TYPE,
            Parameter::query("symbol", Kind::Text, "Only topics about this security, such as 700.HK"),
        ])
        .answers(&[AnswerDoc::ok("The topics", &[data::<TopicCards>()])])
        .refuses(LISTS);
pub(super) const NEWEST_ALIAS: Doc = NEWEST.also("topicsWithoutVersion", &[]);

pub(super) const DETAIL: Doc = Doc::new(Tag::Community, "topic", "A topic with its body")
    .parameters(&[TOPIC_ID])
    .answers(&[AnswerDoc::ok("The topic", &[data::<OneTopic>()])])
    .refuses(OF_A_TOPIC);
pub(super) const DETAIL_ALIAS: Doc = DETAIL.also("topicWithoutVersion", &[]);

pub(super) const ABOUT: Doc = Doc::new(Tag::Community, "topicsOfSecurity", "List topics about a security")
    .parameters(&[
        SYMBOL,
        PAGE,
        Parameter::query("size", Kind::Between(1, ABOUT_SIZE.most), "")
            .or(Word::Number(ABOUT_SIZE.otherwise)),
    ])
    .answers(&[AnswerDoc::ok("The topics", &[data::<TopicItems>()])])
    .refuses(LISTS);
pub(super) const ABOUT_ALIAS: Doc = ABOUT.also("topicsOfSecurityWithoutVersion", &[]);

pub(super) fn mine(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (page, kind) = (input::page(call, MINE_SIZE)?, input::kind(call)?);
    let rows = site.core.community.topics(Listing::Mine, admitted.account().id, kind, page);
    Ok(envelope::success(Shape::of(call, site).topics(rows.map_err(problem)?)))
}

pub(super) fn newest(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (page, kind) = (input::page(call, LIST_SIZE)?, input::kind(call)?);
    let symbol = call.parameter_of("symbol").filter(|text| !text.is_empty());
    let symbol = symbol.map(|text| command::symbol(&text)).transpose()?;
    let listing = symbol.as_ref().map_or(Listing::Newest, Listing::About);
    let rows = site.core.community.topics(listing, admitted.account().id, kind, page);
    Ok(envelope::success(Shape::cards(rows.map_err(problem)?)))
}

pub(super) fn about(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let page = input::page(call, ABOUT_SIZE)?;
    let symbol = command::symbol(call.path_value("symbol"))?;
    let rows = site.core.community.topics(Listing::About(&symbol), admitted.account().id, None, page);
    Ok(envelope::success(Shape::of(call, site).items(rows.map_err(problem)?)))
}

pub(super) fn detail(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let topic = site.core.community.open(input::topic(call)?, admitted.account().id).map_err(problem)?;
    Ok(envelope::success(Shape::of(call, site).one_topic(topic)))
}

pub(super) const CREATE: Doc = Doc::new(Tag::Community, "createTopic", "Create a topic")
    .about(
        "Requires an open paper account with assets. Limited to 3 topics per minute and 10 per day. Symbols \
         in the text are added to the tickers.",
    )
    .body(&[Media::json::<NewTopic>()])
    .answers(&[AnswerDoc::ok("The topic", &[data::<OneTopic>()])])
    .refuses(LISTS);
pub(super) const CREATE_ALIAS: Doc = CREATE.also("createTopicWithoutVersion", &[]);

/// A new topic. Null and empty fields are treated as absent.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewTopic {
    /// Single line of at most 200 characters; required for an article.
    #[serde(default)]
    title: Option<String>,
    /// At most 5,000 characters of plain text, or 20,000 characters of Markdown for an article.
    #[serde(default)]
    body: Option<String>,
    /// `post` or `article`; default: `post`.
    #[serde(default)]
    topic_type: Option<String>,
    /// At most 10 symbols such as 700.HK.
    #[serde(default)]
    tickers: Option<Vec<String>>,
    /// At most 5 words of at most 50 characters each.
    #[serde(default)]
    hashtags: Option<Vec<String>>,
    /// Images are not supported; null or an empty list.
    #[serde(default)]
    images: Option<Vec<Value>>,
}

pub(super) fn create(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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
    check_poster(site, &admitted)?;
    let core = &site.core;
    let topic = core.community.write(admitted.account().id, &draft, core.machine_now()).map_err(problem)?;
    Ok(envelope::success(Shape::of(call, site).one_topic(topic)))
}
