use jiff::ToSpan;
use market::adjust::Amount;
use market::{Action, Calendar, Date};

/// A corporate action of the script: once, or in a rhythm of years. Dated by the calendar and not by the day of
/// generation, so that a market generated later continues the one generated earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    year: i16,
    /// Years between two of them; zero for once.
    every: i16,
    month: i8,
    day: i8,
    terms: Terms,
}

/// What one old share receives. Money is in thousandths, shares are fractions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    cash: i64,
    /// By how much the cash grows each year.
    cash_step: i64,
    split: (i64, i64),
    bonus: (i64, i64),
    rights: (i64, i64),
    rights_price: i64,
}

const NONE: Terms =
    Terms { cash: 0, cash_step: 0, split: (1, 1), bonus: (0, 1), rights: (0, 1), rights_price: 0 };

impl Terms {
    pub(super) const fn cash(cash: i64, cash_step: i64) -> Terms {
        Terms { cash, cash_step, ..NONE }
    }

    /// So many new shares for so many old ones.
    pub(super) const fn split(new: i64, old: i64) -> Terms {
        Terms { split: (new, old), ..NONE }
    }

    pub(super) const fn bonus(new: i64, old: i64, cash: i64) -> Terms {
        Terms { bonus: (new, old), cash, ..NONE }
    }

    pub(super) const fn rights(new: i64, old: i64, price: i64) -> Terms {
        Terms { rights: (new, old), rights_price: price, ..NONE }
    }
}

impl Event {
    pub(super) const fn once(year: i16, month: i8, day: i8, terms: Terms) -> Event {
        Event { year, every: 0, month, day, terms }
    }

    pub(super) const fn yearly(year: i16, every: i16, month: i8, day: i8, terms: Terms) -> Event {
        Event { year, every, month, day, terms }
    }

    /// The ex-dates within `after < ex-date <= through`, each on a trading day, with the terms of that year.
    fn dated<'a>(
        self,
        calendar: &'a Calendar,
        after: Date,
        through: Date,
    ) -> impl Iterator<Item = (Date, Terms)> + 'a {
        let last = if self.every == 0 { self.year } else { through.year() };
        let step = usize::from(self.every.unsigned_abs().max(1));
        (self.year..=last).step_by(step).filter_map(move |year| {
            let date = Date::new(year, self.month, self.day).ok()?;
            let until = date.checked_add(15.days()).ok()?;
            let (ex_date, _) = calendar.days(date, until).next()?;
            let years = i64::from(year - self.year);
            let terms = Terms { cash: self.terms.cash + self.terms.cash_step * years, ..self.terms };
            (after < ex_date && ex_date <= through).then_some((ex_date, terms))
        })
    }
}

/// All of a script's actions in a range, ascending.
pub(super) fn dated(events: &[Event], calendar: &Calendar, after: Date, through: Date) -> Vec<(Date, Terms)> {
    let mut all: Vec<_> = events.iter().flat_map(|event| event.dated(calendar, after, through)).collect();
    all.sort_by_key(|(ex_date, _)| *ex_date);
    all
}

impl Terms {
    /// The reference price after the action, both in millionths: the exchange's formula.
    pub(super) fn reference(&self, close: f64) -> f64 {
        let share = |(new, old): (i64, i64)| new as f64 / old as f64;
        let price = self.rights_price as f64 * 1000.0;
        let rights = if price < close { share(self.rights) } else { 0.0 };
        let value = close - self.cash as f64 * 1000.0 + rights * price;
        value / (share(self.split) + share(self.bonus) + rights)
    }

    /// How many shares one old share becomes without being paid for: trading volumes grow with it.
    pub(super) fn shares(&self) -> f64 {
        let share = |(new, old): (i64, i64)| new as f64 / old as f64;
        share(self.split) + share(self.bonus)
    }

    pub(super) fn action(&self, ex_date: Date) -> Action {
        let money = |thousandths: i64| amount((thousandths, 1000));
        Action {
            cash: money(self.cash),
            split: amount(self.split),
            bonus: amount(self.bonus),
            rights: amount(self.rights),
            rights_price: money(self.rights_price),
            ..Action::none(ex_date)
        }
    }
}

fn amount((above, below): (i64, i64)) -> Amount {
    // The script holds no fraction that cannot be read; a test draws every one of them.
    Amount::parse(&format!("{above}/{below}")).unwrap_or_else(|_| Amount::zero())
}
