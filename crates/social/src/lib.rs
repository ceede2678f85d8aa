//! Community: topics and replies about securities. Topics are plain text posts or Markdown
//! articles; replies are plain text.
//!
//! The crate validates texts ([`Draft`], [`reply_text`]), limits the rate of posts (`pace.rs`) and
//! determines who can read a topic ([`Community`]). It does not depend on protocols or clocks and
//! does not check write permissions. Texts are stored verbatim, so the code that displays a text
//! must escape it.

mod community;
mod draft;
mod excerpt;
mod pace;
mod text;

pub use community::{Community, Listing, SocialError};
pub use draft::{
    ARTICLE_CHARS_MAX, Draft, HASHTAG_CHARS_MAX, HASHTAGS_MAX, Kind, POST_CHARS_MAX, REASON_CHARS_MAX,
    REPLY_CHARS_MAX, RawDraft, TICKERS_MAX, TITLE_CHARS_MAX, hide_reason, reply_text,
};
pub use store::{
    Hiding, PageOf, ReplyId, ReplyOrder, ReplyRow, TopicId, TopicRow, TopicTarget, VisibilityOutcome,
};
pub use text::TextError;
