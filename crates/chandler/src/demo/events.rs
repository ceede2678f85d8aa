use jiff::ToSpan;
use market::adjust::Amount;
use market::{Action, Calendar, Date};

/// Scripted corporate action that occurs once or every few years. Its date depends on the calendar
/// rather than on the time of generation, so that data generated later continues data generated
/// earlier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    year: i16,
    /// Years between two occurrences, or 0 for an action that occurs once.
    every: i16,
    month: i8,
    day: i8,
    terms: Terms,
}

/// Terms of a corporate action, per old share. Amounts of money are in thousandths; ratios are
/// pairs of new and old shares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    cash: i64,
    /// Yearly increase of the cash dividend, in thousandths.
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

    /// Returns the terms of a split into `new` shares for every `old` shares.
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

    /// Returns the ex-dates after `after` and up to `through`, inclusive, with the terms for each
    /// date. Ex-dates are moved to trading days.
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

/// Returns all actions of a script with ex-dates after `after` and up to `through`, inclusive, in
/// ascending order.
pub(super) fn dated(events: &[Event], calendar: &Calendar, after: Date, through: Date) -> Vec<(Date, Terms)> {
    let mut all: Vec<_> = events.iter().flat_map(|event| event.dated(calendar, after, through)).collect();
    all.sort_by_key(|(ex_date, _)| *ex_date);
    all
}

impl Terms {
    /// Returns the reference price after the action, calculated with the exchange's formula. Both
    /// prices are in millionths.
    pub(super) fn reference(&self, close: f64) -> f64 {
        let share = |(new, old): (i64, i64)| new as f64 / old as f64;
        let price = self.rights_price as f64 * 1000.0;
        let rights = if price < close { share(self.rights) } else { 0.0 };
        let value = close - self.cash as f64 * 1000.0 + rights * price;
        value / (share(self.split) + share(self.bonus) + rights)
    }

    /// Returns the number of shares that replace one old share without payment. Trading volume
    /// grows by this factor.
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
    // All fractions in the script are valid, which a test verifies.
    Amount::parse(&format!("{above}/{below}")).unwrap_or_else(|_| Amount::zero())
}
