//! Adds notes on missing candles to an order's explanation.

use trading::{Account, MarketView, OrderId};

use crate::explanation::{OrderExplanation, Step, explanation, local};
use crate::look::Seen;
use crate::outlook::{after_expiry, outlook};

/// Explains an order as of the instant at which its account was read. Returns `None` if it does not
/// exist.
pub fn explained(seen: &Seen<'_>, id: OrderId) -> Option<OrderExplanation> {
    let (account, view) = (seen.reading.account, &seen.reading.view);
    explanation(seen.entries, id).map(|explanation| Ending::of(account, view, id).of_explanation(explanation))
}

/// Notes on missing candles that end an explanation.
#[derive(Default)]
pub(crate) struct Ending {
    /// Why the order expired without a fill.
    expired: Option<String>,
    /// Final `waiting` step of an open order that has no candles to fill it.
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
