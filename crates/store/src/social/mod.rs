//! Watchlists, alerts, drawings, chart layouts and community tables of the accounts database.

pub use alerts::{ALERT_FIRINGS_MAX, AlertFiring, AlertId, AlertRow, AlertSeen, NewAlert};
pub use layouts::{LayoutRow, LayoutWrites};
pub use topic_rows::{
    Hiding, NewReply, NewTopic, PageOf, ReplyHistory, ReplyId, ReplyOrder, ReplyOutcome, ReplyRow, TopicId,
    TopicRow, TopicTarget, VisibilityOutcome,
};
pub use topics::{RECENT_TOPICS_MAX, TopicList};
pub use watchlists::{FollowedSecurity, WatchlistGroup, WatchlistId, WatchlistIds, Watchlists};

mod alerts;
mod drawings;
mod layouts;
mod topic_rows;
mod topics;
mod watchlists;
