//! Notes on how the stored candles affect an unfilled order, such as days that have only daily
//! candles and missing candles. Candles after the market clock are never mentioned.

use market::{Date, Session, Timestamp, Venue};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, EffectiveCandle, MarketView, Order, OrderStatus, OrderType, Since};

use crate::explanation::local;

/// Maximum number of days to search back for a market's last session.
const DAYS_BACK: usize = 30;
/// Length of a one-minute candle, in seconds.
const MINUTE: i64 = 60;
/// Time without a new candle, in seconds, after which a security's candles have stopped. A security
/// may have no trades in a minute.
const STOPPED_AFTER: i64 = 5 * MINUTE;

/// How the stored candles affect an open order that is not filled yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The effect as a sentence.
    pub words: String,
    /// Newest candle of the security, such as `2026-11-13 16:14 EST`. Null unless the order waits
    /// for candles after it.
    pub newest_candle: Option<String>,
}

/// Describes how the stored candles affect an open order. Returns `None` if there is nothing to
/// report.
pub fn waiting(account: &Account, market: &MarketView<'_>, order: &Order) -> Option<Waiting> {
    // An order that waits for its main order has no candles to wait for.
    if !order.is_open() || order.is_dormant() {
        return None;
    }
    let view = View::of(account, market, order);
    let last = view.last_ended().filter(|date| view.daily(*date).is_some() && !view.has_minutes_after(*date));
    match last {
        Some(date) => view.next_day(date).map(|words| Waiting { words, newest_candle: None }),
        None => view.missing(),
    }
}

/// Explains why an order expired without a fill. Returns `None` if the stored candles do not show
/// the reason.
pub(crate) fn after_expiry(account: &Account, market: &MarketView<'_>, order: &Order) -> Option<String> {
    let has_expired = order.status() == OrderStatus::Expired;
    has_expired.then(|| View::of(account, market, order).after_expiry()).flatten()
}

/// An order with its account, its venue and the market data.
struct View<'a> {
    account: &'a Account,
    market: &'a MarketView<'a>,
    order: &'a Order,
    venue: &'a Venue,
}

impl<'a> View<'a> {
    fn of(account: &'a Account, market: &'a MarketView<'a>, order: &'a Order) -> View<'a> {
        View { account, market, order, venue: market.feed.venue(order.market()) }
    }

    /// Returns the last trading day whose regular hours are over.
    fn last_ended(&self) -> Option<Date> {
        let calendar = self.venue.calendar();
        let today = calendar.on_or_before(self.venue.zone().date(self.market.at))?;
        let is_over = self.venue.day_end(today) <= self.market.at;
        if is_over { Some(today) } else { calendar.on_or_before(today.yesterday().ok()?) }
    }

    /// Returns the daily candle of a completed day, or `None` if the day is not a coarse day.
    fn daily(&self, date: Date) -> Option<EffectiveCandle> {
        let opening = self.opening(date)?;
        let mut found = None;
        self.market.feed.scan(self.order.symbol(), opening, self.market.at, &mut |effective| {
            if effective.is_day() && effective.day == date {
                found = Some(*effective);
            }
        });
        found
    }

    /// Returns whether a one-minute candle in regular hours after `date` has taken effect by now.
    fn has_minutes_after(&self, date: Date) -> bool {
        let mut found = false;
        self.market.feed.scan(
            self.order.symbol(),
            self.venue.day_end(date),
            self.market.at,
            &mut |effective| {
                found |= !effective.is_day()
                    && effective.candle.session == Session::Intraday
                    && effective.day > date;
            },
        );
        found
    }

    /// Returns when the regular hours of a trading day begin, or `None` if the market is closed.
    fn opening(&self, date: Date) -> Option<Timestamp> {
        let day = self.venue.day(date)?;
        let regular = day.segments.iter().find(|segment| segment.session == Session::Intraday)?;
        Some(day.at(regular.start))
    }

    /// Formats a local time, such as `09:30 HKT`.
    fn clock(&self, at: Timestamp) -> String {
        let (_, seconds) = self.venue.zone().local(at);
        let zone = self.venue.zone().abbreviation(at);
        format!("{:02}:{:02} {zone}", seconds / 3600, seconds / 60 % 60)
    }

    /// Describes the effect of the next day on the order, assuming that the next day also has only
    /// a daily candle.
    fn next_day(&self, last: Date) -> Option<String> {
        let order = self.order;
        let placement = &order.standing.placement;
        let date = self.venue.calendar().after(last)?.max(placement.day);
        let ends_first = placement.expires_at.is_some_and(|end| end < self.venue.day_end(date));
        if ends_first || !order.trades_in(Session::Intraday) {
            return None;
        }
        let opening = self.opening(date)?;
        let had = format!("{} had daily candles only on {last}", order.symbol());
        let rule = self.rule(opening);
        Some(match () {
            () if !self.account.settings().coarse_fills => {
                format!("{had}; this account is not filled from daily candles (coarse_fills is off)")
            }
            () if order.terms.order_type == OrderType::Auction => {
                format!("{had}; if {date} is the same, this order is cancelled: such a day has no auction")
            }
            () if !self.meets(opening) => {
                format!("{had}; if {date} is the same, this order does not fill that day: {rule}")
            }
            () => format!(
                "{had}; if {date} is the same, this order fills once, at the end of the day, against the whole day"
            ),
        })
    }

    fn rule(&self, opening: Timestamp) -> String {
        let clock = self.clock(opening);
        match self.order.standing.placement.auction {
            Some(auction) if auction.stamp > opening => {
                format!("its auction is later than the opening, {clock}, and a daily candle has none")
            }
            _ => format!("a daily candle fills orders accepted or replaced before the opening, {clock}"),
        }
    }

    /// Returns whether the daily candle of a day that opens at `opening` can fill the order.
    fn meets(&self, opening: Timestamp) -> bool {
        let since = match self.order.terms.delayed_until {
            Some(until) if self.order.status() == OrderStatus::DelayedNotReported => Since::Engine(until),
            _ => self.order.since,
        };
        let auction = self.order.standing.placement.auction;
        since.allows(opening) && auction.is_none_or(|auction| auction.stamp <= opening)
    }

    /// Describes the newest candle if later candles are missing.
    fn missing(&self) -> Option<Waiting> {
        let symbol = self.order.symbol();
        let Some(newest) = self.market.feed.newest(symbol, self.market.at) else {
            let words = format!(
                "no one-minute candle of {symbol} up to {} is stored; this order can fill once candles are imported",
                local(self.venue.zone(), self.market.at)
            );
            return Some(Waiting { words, newest_candle: None });
        };
        (self.is_first_missing(&newest) || self.have_stopped(&newest)).then(|| {
            let newest = self.named(&newest);
            let words = format!(
                "newest candle of {symbol} is {newest}; this order can fill once later candles are imported"
            );
            Waiting { words, newest_candle: Some(newest) }
        })
    }

    fn is_parked(&self) -> bool {
        matches!(self.order.status(), OrderStatus::NotReported | OrderStatus::DelayedNotReported)
    }

    /// Returns whether the first candle that could fill the order is complete by now, but not
    /// stored.
    fn is_first_missing(&self, newest: &EffectiveCandle) -> bool {
        let Some((start, end)) = self.last_session() else { return false };
        let since = self.order.since.at();
        // `first` is the first whole minute of the session after the order was submitted.
        let next = Timestamp(since.0.saturating_sub(since.0.rem_euclid(MINUTE)).saturating_add(MINUTE));
        let first = next.max(start);
        let is_due = first < end && self.market.at.0 >= first.0.saturating_add(MINUTE);
        is_due && !self.is_parked() && newest.candle.time < first
    }

    /// Returns whether the candles have stopped: the last minutes of the current or last session
    /// are complete, but not stored. For a parked order, a whole session must be missing, because
    /// a session may end without trades.
    fn have_stopped(&self, newest: &EffectiveCandle) -> bool {
        let Some((start, end)) = self.last_session() else { return false };
        let complete = self.market.at.min(end);
        let stored = if newest.candle.time < start {
            start
        } else if self.is_parked() {
            return false;
        } else {
            Timestamp(newest.candle.time.0.saturating_add(MINUTE))
        };
        complete.0.saturating_sub(stored.0) >= STOPPED_AFTER
    }

    /// Formats a candle as `2026-03-17 16:00 HKT` or `the daily one of 2026-03-17`.
    fn named(&self, effective: &EffectiveCandle) -> String {
        if effective.is_day() {
            return format!("the daily one of {}", effective.day);
        }
        format!("{} {}", self.venue.zone().date(effective.candle.time), self.clock(effective.candle.time))
    }

    /// Returns the start and end of the last started session in which the order can trade.
    fn last_session(&self) -> Option<(Timestamp, Timestamp)> {
        let tomorrow = self.venue.zone().date(self.market.at).tomorrow().ok()?;
        let dates = std::iter::successors(Some(tomorrow), |date| date.yesterday().ok()).take(DAYS_BACK);
        let sessions = dates.filter_map(|date| self.venue.day(date)).flat_map(|day| {
            let segments = day.segments.iter().filter(|segment| self.order.trades_in(segment.session));
            let hours = segments.map(|segment| (day.at(segment.start), day.at(segment.end)));
            hours.collect::<Vec<_>>().into_iter().rev()
        });
        sessions.into_iter().find(|(start, _)| *start <= self.market.at)
    }

    fn after_expiry(&self) -> Option<String> {
        let date = self.venue.zone().date(self.order.updated_at);
        let (symbol, opening) = (self.order.symbol(), self.opening(date)?);
        let day = self.daily(date).filter(|_| self.order.trades_in(Session::Intraday));
        if let Some(day) = day {
            let had = format!("{symbol} had daily candles only on {date}");
            let rule = self.rule(opening);
            return Some(match () {
                () if !self.account.settings().coarse_fills => {
                    format!("{had}, and this account is not filled from them (coarse_fills is off)")
                }
                () if !self.meets(opening) => {
                    let since = local(self.venue.zone(), self.order.since.at());
                    format!("{had}: {rule}; the terms of this one are of {since}")
                }
                () if day.candle.volume <= 0 => format!("{had}, without volume"),
                () => format!("{had}: it was held against that candle at the end of the day"),
            });
        }
        let mut count = 0_usize;
        let since = self.order.since.at();
        self.market.feed.scan(symbol, since, self.order.updated_at, &mut |effective| {
            count += usize::from(self.order.trades_in(effective.candle.session));
        });
        (count == 0).then(|| {
            format!("no candle of {symbol} from {} on was stored for it", local(self.venue.zone(), since))
        })
    }
}
