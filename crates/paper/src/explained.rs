//! The story of an order, completed with what the stored candles mean for it.

use trading::OrderId;

use crate::look::Seen;
use crate::outlook::{after_expiry, outlook};
use crate::story::{Step, Story, local, story};

/// The story of an order as of the instant at which its account was read. An open order that waits for candles has a last step `waiting`.
pub fn explained(seen: &Seen<'_>, id: OrderId) -> Option<Story> {
    let mut story = story(seen.entries, id)?;
    let (account, scene) = (seen.reading.account, &seen.reading.scene);
    let Some(order) = account.order(id) else { return Some(story) };
    if let Some(step) = story.steps.last_mut() {
        step.because.extend(after_expiry(account, scene, order));
    }
    let because = outlook(account, scene, order);
    if !because.is_empty() {
        story.steps.push(Step {
            at: scene.at.0.to_string(),
            local: local(scene.feed.venue(order.market()).zone(), scene.at),
            event: "waiting",
            words: "not filled so far".to_owned(),
            because,
            candle: None,
            fill: None,
            reason: None,
        });
    }
    Some(story)
}
