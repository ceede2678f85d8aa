//! Text that explains why a grid was triggered.

use market::Price;
use trading::{GridOrigin, GridTriggerKind, plain_price};

/// Explains why a grid created an order. `seen` is the triggering candle and its prices.
pub(crate) fn because(origin: &GridOrigin, seen: Option<(String, String)>) -> Vec<String> {
    let way = way(origin.price, origin.base);
    let (price, base) = (plain_price(origin.price), plain_price(origin.base));
    let (candle, prices) = seen.unwrap_or_else(|| ("candle behind it".to_owned(), "its prices".to_owned()));
    match origin.kind {
        GridTriggerKind::Gap => vec![
            format!("the {candle} ({prices}) opened at the grid's level {way} the base {base}, or beyond it"),
            format!("so its open {price} is what triggered, and the base from then on"),
        ],
        GridTriggerKind::Level => vec![
            format!("the {candle} ({prices}) went to the grid's level {price}, {way} the base {base}"),
            format!("so {price} is the base from then on, whether or not this is filled"),
        ],
        GridTriggerKind::Close => {
            vec![format!("the price left the bound {price} of the grid: what it has built is sold")]
        }
    }
}

/// Returns on which side of the base a price lies.
pub(crate) fn way(price: Price, base: Price) -> &'static str {
    if price > base { "above" } else { "below" }
}
