//! What an account was worth at the end of each day: one fold of its journal, and what it held at the closes of the days.

use std::iter::successors;

use market::{Date, Market, Price, Symbol, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, Dividend, Entry, Event, Fraction, HkdAmount, Rate, Refusal, Scene};

use crate::look::Seen;

/// When a date is over in every market: this long after the next one has begun in Hong Kong. The trading day of the US ends an hour
/// earlier at the latest, and nothing has traded in Hong Kong by then.
const OVER_AFTER_S: i64 = 9 * 3_600;
/// Markets that an account trades in.
const MARKETS: [Market; 2] = [Market::Hk, Market::Us];

/// What an account was worth day by day, in HKD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Equity {
    pub currency: &'static str,
    /// Oldest first, a point for each date on which a market was open, and one for now.
    pub points: Vec<EquityPoint>,
    /// Why there is no point for some of the dates: a currency had no rate.
    pub missing: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EquityPoint {
    pub date: String,
    /// The instant it is of, in Unix seconds: 09:00 in Hong Kong on the next date, or now.
    pub at: String,
    /// Whether the date is over, and the closes of the day count.
    pub is_over: bool,
    pub net_assets: String,
    pub cash: String,
    pub market_value: String,
}

/// The last so many dates of an account, as far as it has been there.
pub fn equity(seen: &Seen<'_>, days: u32) -> Equity {
    let scene = &seen.reading.scene;
    let mut equity = Equity { currency: "HKD", points: Vec::new(), missing: None };
    let Some(began) = seen.reading.account.began() else { return equity };
    let today = date_of(scene, scene.at);
    let first = date_of(scene, began);
    let back = successors(Some(today), |date| date.yesterday().ok()).take(days as usize);
    let mut dates: Vec<Date> = back.take_while(|date| *date >= first).collect();
    dates.reverse();
    let mut worth = Worth { entries: seen.entries, account: Account::default(), changes: Vec::new() };
    for date in dates {
        let is_over = date < today;
        let is_open = MARKETS.iter().any(|market| scene.feed.venue(*market).calendar().kind(date).is_some());
        if is_over && !is_open {
            continue;
        }
        let at = over_at(scene, date).min(scene.at);
        worth.fold_through(at);
        let scene = Scene::new(scene.feed, scene.tables, at);
        let valued = if is_over { worth.at_close(&scene, date) } else { worth.at_mark(&scene) };
        match valued {
            Ok((cash, market_value)) => {
                equity.points.push(EquityPoint::of(date, at, is_over, cash, market_value));
            }
            Err(refusal) => equity.missing = Some(refusal.text),
        }
    }
    equity
}

/// The date that an instant counts for.
fn date_of(scene: &Scene<'_>, at: Timestamp) -> Date {
    scene.feed.venue(Market::Hk).zone().date(Timestamp(at.0.saturating_sub(OVER_AFTER_S)))
}

fn over_at(scene: &Scene<'_>, date: Date) -> Timestamp {
    let zone = scene.feed.venue(Market::Hk).zone();
    zone.instant(date.tomorrow().unwrap_or(date), OVER_AFTER_S)
}

impl EquityPoint {
    fn of(date: Date, at: Timestamp, is_over: bool, cash: HkdAmount, market_value: HkdAmount) -> EquityPoint {
        let text = |amount: HkdAmount| amount.to(Rate::ONE).text().to_string();
        EquityPoint {
            date: date.to_string(),
            at: at.0.to_string(),
            is_over,
            net_assets: text(cash.plus(market_value)),
            cash: text(cash),
            market_value: text(market_value),
        }
    }
}

/// An account while its journal is folded.
struct Worth<'a> {
    /// Those that are still to come.
    entries: &'a [Entry],
    account: Account,
    /// Corporate actions that closes of earlier dates do not know of, in the order in which they were booked.
    changes: Vec<PriceChange>,
}

/// What a corporate action makes of a close before its ex-date.
struct PriceChange {
    symbol: Symbol,
    ex_date: Date,
    effect: Effect,
}

enum Effect {
    /// Cash for each share, which the account has by then.
    Paid(Fraction),
    /// New shares for one old one.
    Split(Fraction),
}

impl PriceChange {
    /// Of an event that the account has taken in.
    fn of(event: &Event, account: &Account) -> Option<PriceChange> {
        let (symbol, ex_date, effect) = match event {
            Event::DividendPaid(Dividend { symbol, ex_date, quantity, amount, .. }) => {
                (symbol, *ex_date, Effect::Paid(amount.per(*quantity)))
            }
            Event::SharesChanged { symbol, ex_date, ratio, .. } => (symbol, *ex_date, Effect::Split(*ratio)),
            // Rights are sold after the split of their day, for the shares that there are by then.
            Event::RightsSold { symbol, ex_date, amount, .. } => {
                (symbol, *ex_date, Effect::Paid(amount.per(account.held(symbol))))
            }
            _ => return None,
        };
        Some(PriceChange { symbol: symbol.clone(), ex_date, effect })
    }

    fn applied(&self, units: Fraction) -> Fraction {
        match self.effect {
            Effect::Paid(cash) => {
                let (above, below) = cash.parts();
                units.plus(Fraction::new(-above, below))
            }
            Effect::Split(ratio) => {
                let (new, old) = ratio.parts();
                units.times(old, new)
            }
        }
    }
}

impl Worth<'_> {
    fn fold_through(&mut self, at: Timestamp) {
        let due = self.entries.iter().take_while(|entry| entry.at.is_none_or(|of| of <= at)).count();
        let (due, later) = self.entries.split_at(due);
        for entry in due {
            self.account.apply(entry);
            self.changes.extend(PriceChange::of(&entry.event, &self.account));
        }
        self.entries = later;
    }

    /// Cash, and holdings at the closes of a date. The day after has begun in both markets, so what splits then is split already, and
    /// what is paid then is in the cash: the close is brought to the new shares, without what was paid for each.
    fn at_close(&mut self, scene: &Scene<'_>, date: Date) -> Result<(HkdAmount, HkdAmount), Refusal> {
        self.changes.retain(|change| change.ex_date > date);
        let Ok(next) = date.tomorrow() else { return self.at_mark(scene) };
        self.valued(scene, |symbol| {
            let close = scene.feed.close_before(symbol, next).or_else(|| scene.mark(symbol))?;
            let of_symbol = self.changes.iter().filter(|change| change.symbol == *symbol);
            let units =
                of_symbol.fold(Fraction::whole(close.0.into()), |units, change| change.applied(units));
            i64::try_from(units.round()).ok().map(Price)
        })
    }

    /// The same at the prices of an instant.
    fn at_mark(&self, scene: &Scene<'_>) -> Result<(HkdAmount, HkdAmount), Refusal> {
        self.valued(scene, |symbol| scene.mark(symbol))
    }

    fn valued(
        &self,
        scene: &Scene<'_>,
        price: impl Fn(&Symbol) -> Option<Price>,
    ) -> Result<(HkdAmount, HkdAmount), Refusal> {
        let mut cash = HkdAmount::ZERO;
        for (currency, amount) in self.account.currencies().filter(|(_, amount)| !amount.is_zero()) {
            cash = cash.plus(scene.rate(currency)?.convert(amount));
        }
        let method = self.account.settings().cost;
        let mut market_value = HkdAmount::ZERO;
        for (symbol, position) in self.account.positions() {
            let value = position.value(price(symbol), method);
            market_value = market_value.plus(scene.rate(position.currency)?.convert(value));
        }
        Ok((cash, market_value))
    }
}
