use std::sync::atomic::{AtomicU64, Ordering};

use market::{Date, Market};
use serde::{Deserialize, Serialize};

use super::rows::{Row, TableError, rows};
use crate::money::{Money, Rounding};
use crate::quantity::{QUANTITY_DECIMALS, Quantity};
use crate::words::{ChargeGroup, FeePlan, Kind, Side};

/// Fee rates by market, kind of security, side and date.
#[derive(Clone, Debug)]
pub struct FeeTable {
    id: FeeTableId,
    charges: Vec<Charge>,
}

/// Identifies the contents of a fee table. Clones of a table have the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeeTableId(u64);

static TABLES: AtomicU64 = AtomicU64::new(0);

/// All rows of one fee code in one market, in file order.
#[derive(Clone, Debug)]
struct Charge {
    market: Market,
    code: String,
    group: ChargeGroup,
    side: Option<Side>,
    /// Rows in ascending order of date within each kind.
    rows: Vec<ChargeRow>,
}

#[derive(Clone, Debug)]
struct ChargeRow {
    kind: Option<Kind>,
    from: Date,
    base: Base,
    /// Rate in units of `10^-10`.
    rate: i128,
    least: Option<Money>,
    most: Option<Money>,
    rounding: Rounding,
}

#[derive(Clone, Copy, Debug)]
enum Base {
    Order,
    Amount,
    Quantity,
}

/// One fee, in the security's currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fee {
    pub code: String,
    pub group: ChargeGroup,
    pub amount: Money,
}

/// Inputs of an order's fees on one trading day, other than the traded totals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChargeBasis {
    pub(crate) market: Market,
    pub(crate) kind: Kind,
    pub(crate) side: Side,
    pub(crate) day: Date,
    pub(crate) plan: FeePlan,
}

/// Amount and quantity that an order traded on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayTotals {
    pub amount: Money,
    pub quantity: Quantity,
}

impl DayTotals {
    pub(crate) fn plus(self, amount: Money, quantity: Quantity) -> DayTotals {
        DayTotals { amount: self.amount + amount, quantity: self.quantity + quantity }
    }
}

const HEADER: &str = "market,kind,code,group,side,from,base,rate,least,most,round";
const RATE_DECIMALS: u32 = 10;
/// Maximum rate: 1 % of the amount. A higher rate is most likely caused by a misplaced decimal
/// point.
const AMOUNT_RATE_MAX: i128 = 10i128.pow(RATE_DECIMALS) / 100;

impl FeeTable {
    pub fn parse(files: &[(&str, &str)]) -> Result<FeeTable, TableError> {
        let mut charges: Vec<Charge> = Vec::new();
        for (file, text) in files {
            for row in &rows(file, text, HEADER)? {
                add_row(&mut charges, row)?;
            }
        }
        Ok(FeeTable { id: FeeTableId(TABLES.fetch_add(1, Ordering::Relaxed)), charges })
    }

    pub(crate) fn id(&self) -> FeeTableId {
        self.id
    }

    /// Returns all fees of an order on one day in table order, including fees of zero.
    pub(crate) fn charges(
        &self,
        of: ChargeBasis,
        traded: DayTotals,
    ) -> impl Iterator<Item = (&str, ChargeGroup, Money)> {
        let is_free = of.plan == FeePlan::None || traded.quantity.is_zero();
        let matching = self.charges.iter().filter(move |charge| {
            !is_free && charge.market == of.market && charge.side.is_none_or(|side| side == of.side)
        });
        matching.filter_map(move |charge| {
            let row = charge.row(of.kind, of.day)?;
            Some((charge.code.as_str(), charge.group, row.amount(traded)))
        })
    }

    /// Returns the sum of all fees of an order on one day.
    pub(crate) fn total(&self, of: ChargeBasis, traded: DayTotals) -> Money {
        self.charges(of, traded).map(|(_, _, amount)| amount).sum()
    }

    /// Returns the fees that a further fill adds: the fees after the fill minus the fees before it.
    /// The sum over a day therefore does not depend on how the traded quantity was split into
    /// fills. Fees of zero are omitted.
    pub(crate) fn added(&self, of: ChargeBasis, before: DayTotals, after: DayTotals) -> Vec<Fee> {
        let old: Vec<(&str, Money)> =
            self.charges(of, before).map(|(code, _, amount)| (code, amount)).collect();
        let fees = self.charges(of, after).map(|(code, group, amount)| {
            let paid = old.iter().find(|(known, _)| *known == code).map_or(Money::ZERO, |(_, paid)| *paid);
            Fee { code: code.to_owned(), group, amount: amount - paid }
        });
        fees.filter(|fee| !fee.amount.is_zero()).collect()
    }

    /// Returns the sort key of a fee code: its index in the table. Unknown codes are sorted last.
    pub(crate) fn place(&self, market: Market, code: &str) -> usize {
        let known = self.charges.iter().position(|charge| charge.market == market && charge.code == code);
        known.unwrap_or(self.charges.len())
    }
}

fn add_row(charges: &mut Vec<Charge>, row: &Row<'_>) -> Result<(), TableError> {
    let &[market, kind, code, group, side, from, base, rate, least, most, round] = row.fields.as_slice()
    else {
        return Err(row.wrong(format!("expected {HEADER}")));
    };
    let market = row.market(market)?;
    let kind: Option<Kind> = if kind == "*" { None } else { Some(row.word("kind", kind)?) };
    let group: ChargeGroup = row.word("group", group)?;
    let side: Option<Side> = match side {
        "both" => None,
        "buy" => Some(Side::Buy),
        "sell" => Some(Side::Sell),
        _ => return Err(row.wrong("side is not one of both, buy, sell")),
    };
    let base = match base {
        "order" => Base::Order,
        "amount" => Base::Amount,
        "quantity" => Base::Quantity,
        _ => return Err(row.wrong("base is not one of order, amount, quantity")),
    };
    let rounding = match round {
        "cent" => Rounding::Cent,
        "cent_up" => Rounding::CentUp,
        "whole_up" => Rounding::WholeUp,
        _ => return Err(row.wrong("round is not one of cent, cent_up, whole_up")),
    };
    let rate = row.decimal("rate", rate, RATE_DECIMALS)?;
    if matches!(base, Base::Amount) && rate > AMOUNT_RATE_MAX {
        return Err(row.wrong("a rate of more than 1 % of the amount"));
    }
    let bound = |what: &str, text: &str| match text {
        "-" => Ok(None),
        _ => row.decimal(what, text, RATE_DECIMALS).map(|units| Some(Money::from_units(units))),
    };
    let (least, most) = (bound("least", least)?, bound("most", most)?);
    let new = ChargeRow { kind, from: row.from(from)?, base, rate, least, most, rounding };
    match charges.iter_mut().find(|charge| charge.market == market && charge.code == code) {
        None => charges.push(Charge { market, code: code.to_owned(), group, side, rows: vec![new] }),
        Some(charge) => {
            if (charge.group, charge.side) != (group, side) {
                return Err(row.wrong(format!("{code} has a different group or side in an earlier row")));
            }
            if charge.rows.iter().any(|known| known.kind == kind && known.from >= new.from) {
                return Err(row.wrong(format!("dates of {code} must ascend")));
            }
            charge.rows.push(new);
        }
    }
    Ok(())
}

impl Charge {
    /// Returns the row for a kind and date, or `None` if no row applies. A row for the specific
    /// kind overrides a row for all kinds.
    fn row(&self, kind: Kind, day: Date) -> Option<&ChargeRow> {
        let latest = |kind: Option<Kind>| self.rows.iter().rfind(|row| row.kind == kind && row.from <= day);
        latest(Some(kind)).or_else(|| latest(None))
    }
}

impl ChargeRow {
    fn amount(&self, traded: DayTotals) -> Money {
        let exact = |base: Money, scale: u32| {
            // The minimum and maximum are whole cents, so they can be applied before or after
            // rounding.
            base.scaled(self.rate, scale, self.rounding)
        };
        let amount = match self.base {
            Base::Order => Money::from_units(self.rate),
            Base::Amount => exact(traded.amount, RATE_DECIMALS),
            Base::Quantity => {
                exact(Money::from_units(i128::from(traded.quantity.units())), QUANTITY_DECIMALS)
            }
        };
        let amount = self.least.map_or(amount, |least| amount.max(least));
        self.most.map_or(amount, |most| amount.min(most))
    }
}

#[cfg(test)]
mod tests {
    use market::Price;
    use proptest::prelude::*;

    use super::*;
    use crate::tables::Tables;

    /// Dates on which different rows of the tables apply.
    const DAYS: [&str; 6] =
        ["2022-10-10", "2023-06-01", "2024-06-03", "2025-03-18", "2026-05-04", "2026-11-02"];
    const KINDS: [(Market, Kind); 4] = [
        (Market::Hk, Kind::Equity),
        (Market::Hk, Kind::Etf),
        (Market::Us, Kind::Equity),
        (Market::Us, Kind::Option),
    ];

    proptest! {
        /// With minimum and maximum fees and rounding, the fees of a day's fills add up to the fee
        /// of the day's totals, regardless of how the fills are split and ordered. No fill has a
        /// negative fee.
        #[test]
        fn fees_depend_only_on_the_days_totals(
            fills in prop::collection::vec((1..90_000i64, 1..30_000i64), 1..8),
            (day, of, side) in (0..DAYS.len(), 0..KINDS.len(), prop_oneof![Just(Side::Buy), Just(Side::Sell)]),
        ) {
            let table = Tables::built_in().unwrap().fees;
            let ((market, kind), plan) = (KINDS[of], FeePlan::Standard);
            let basis = ChargeBasis { market, kind, side, day: DAYS[day].parse().unwrap(), plan };
            let sum = |fills: &[(i64, i64)]| {
                let (mut totals, mut charged) = (DayTotals::default(), Money::ZERO);
                for (cents, quantity) in fills {
                    let quantity = Quantity::whole(*quantity);
                    let after = totals.plus(Money::of(Price(cents * 10_000), quantity, 1), quantity);
                    for fee in table.added(basis, totals, after) {
                        assert!(fee.amount > Money::ZERO, "{fee:?}");
                        charged += fee.amount;
                    }
                    totals = after;
                }
                (totals, charged)
            };
            let (totals, charged) = sum(&fills);
            prop_assert_eq!(charged, table.total(basis, totals));
            let reversed: Vec<(i64, i64)> = fills.into_iter().rev().collect();
            prop_assert_eq!(sum(&reversed), (totals, charged));
        }
    }
}
