//! Turning a conditional order into a plain one.

use market::{Price, Timestamp};

use crate::event::{Bar, Event, Release, Trigger};
use crate::feed::EffectiveCandle;
use crate::order::{Order, OrderId, Watch};
use crate::pricing::{Stop, depth_price, market_reserve};
use crate::refusal::Refusal;
use crate::verdict::{Failure, check_account};
use crate::view::MarketView;
use crate::words::OrderType;
use crate::work::Work;

/// Releases an order, or rejects it by checks 10 to 12. Returns whether it was released.
pub(crate) fn release(
    work: &mut Work<'_>,
    at: Timestamp,
    id: OrderId,
    effective: &EffectiveCandle,
    how: Trigger,
    best: Option<Price>,
) -> bool {
    let Some(order) = work.account.order(id) else { return false };
    let view = work.before_roll(at);
    let event = match prepare(work, &view, order, effective, how, best) {
        Ok(release) => Event::Released(Box::new(release)),
        Err(refusal) => Event::Rejected { id, refusal, order: None },
    };
    let is_released = matches!(event, Event::Released(_));
    work.record(Some(at), event);
    is_released
}

fn prepare(
    work: &Work<'_>,
    view: &MarketView<'_>,
    order: &Order,
    effective: &EffectiveCandle,
    how: Trigger,
    best: Option<Price>,
) -> Result<Release, Refusal> {
    let terms = &order.terms;
    let ticks = view.ticks(&terms.symbol, order.facts.kind, effective.day);
    let mark = match how {
        Trigger::Gap => effective.candle.open,
        Trigger::Inside => view.mark(&terms.symbol).unwrap_or(effective.candle.close),
    };
    let price = match best {
        Some(_) if order.fills_as() == OrderType::Market => None,
        Some(_) if terms.depth_level != 0 => Some(depth_price(mark, terms.depth_level, terms.side, ticks)),
        Some(best) => Some(Stop::of(terms, best).limit(terms, ticks)),
        None => terms.price,
    };
    if price.is_some_and(|price| price.0 <= 0) {
        return Err(Refusal::plain("released price must be above 0"));
    }
    let reserve_price =
        price.unwrap_or_else(|| market_reserve(mark, work.account.settings.market_reserve, ticks));
    let mut candidate = order.clone();
    candidate.terms.price = price;
    candidate.standing.reserve_price = Some(reserve_price);
    check_account(work.account, view, &candidate, reserve_price).map_err(Failure::into_refusal)?;
    Ok(Release {
        id: order.id,
        sequence: work.account.next_sequence(),
        price,
        reserve_price,
        candle: Bar::of(effective),
        how,
        watch: best.map(Watch::Trail),
    })
}
