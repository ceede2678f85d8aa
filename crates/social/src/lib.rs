//! The community: topics and replies about securities. Topics are posts of plain text or articles
//! in Markdown; replies are plain text.
//!
//! The crate has the rules for texts ([`Draft`], [`reply_text`]), for how often an account may
//! write (`pace.rs`), and for who may read what ([`Community`]). It knows no protocols, no
//! permissions to write, and no clock. Texts are stored verbatim; the code that displays them
//! escapes them.

mod community;
mod draft;
mod excerpt;
mod mentions;
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
