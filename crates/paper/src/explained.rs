//! What the stored candles mean for an order, added to its story.

use trading::{Account, OrderId, Scene};

use crate::look::Seen;
use crate::outlook::{after_expiry, outlook};
use crate::story::{Step, Story, local, story};

/// The story of an order as of the instant at which its account was read.
pub fn explained(seen: &Seen<'_>, id: OrderId) -> Option<Story> {
    let (account, scene) = (seen.reading.account, &seen.reading.scene);
    story(seen.entries, id).map(|story| Ending::of(account, scene, id).of_story(story))
}

/// How the story of an order ends for want of candles.
#[derive(Default)]
pub(crate) struct Ending {
    /// Why the day on which the order expired had nothing for it.
    expired: Option<String>,
    /// The step `waiting` of an open order that waits for candles.
    waiting: Option<Step>,
}

impl Ending {
    pub(crate) fn of(account: &Account, scene: &Scene<'_>, id: OrderId) -> Ending {
        let Some(order) = account.order(id) else { return Ending::default() };
        let because = outlook(account, scene, order);
        let waiting = (!because.is_empty()).then(|| Step {
            at: scene.at.0.to_string(),
            local: local(scene.feed.venue(order.market()).zone(), scene.at),
            event: "waiting",
            words: "not filled so far".to_owned(),
            because,
            candle: None,
            fill: None,
            reason: None,
        });
        Ending { expired: after_expiry(account, scene, order), waiting }
    }

    pub(crate) fn of_story(self, mut story: Story) -> Story {
        if let Some(step) = story.steps.last_mut() {
            step.because.extend(self.expired);
        }
        story.steps.extend(self.waiting);
        story
    }
}
