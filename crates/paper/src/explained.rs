//! Adds the effect of the stored candles to the explanation of an order.

use trading::{Account, MarketView, OrderId};

use crate::explanation::{OrderExplanation, Step, explanation, local};
use crate::look::Seen;
use crate::outlook::{after_expiry, outlook};

/// The explanation of an order at the instant at which its account was read.
pub fn explained(seen: &Seen<'_>, id: OrderId) -> Option<OrderExplanation> {
    let (account, view) = (seen.reading.account, &seen.reading.view);
    explanation(seen.entries, id).map(|explanation| Ending::of(account, view, id).of_explanation(explanation))
}

/// The end of an explanation where candles are missing.
#[derive(Default)]
pub(crate) struct Ending {
    /// Why the order expired without a fill.
    expired: Option<String>,
    /// The step `waiting` of an open order that waits for candles.
    waiting: Option<Step>,
}

impl Ending {
    pub(crate) fn of(account: &Account, view: &MarketView<'_>, id: OrderId) -> Ending {
        let Some(order) = account.order(id) else { return Ending::default() };
        let because = outlook(account, view, order);
        let waiting = (!because.is_empty()).then(|| Step {
            at: view.at.0.to_string(),
            local: local(view.feed.venue(order.market()).zone(), view.at),
            event: "waiting",
            words: "not filled so far".to_owned(),
            because,
            candle: None,
            fill: None,
            reason: None,
        });
        Ending { expired: after_expiry(account, view, order), waiting }
    }

    pub(crate) fn of_explanation(self, mut explanation: OrderExplanation) -> OrderExplanation {
        if let Some(step) = explanation.steps.last_mut() {
            step.because.extend(self.expired);
        }
        explanation.steps.extend(self.waiting);
        explanation
    }
}
