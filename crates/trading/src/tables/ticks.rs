use std::collections::BTreeMap;

use market::{DECIMALS_MAX, Date, Market, Price, Symbol};

use super::rows::{Row, TableError, rows};
use crate::words::Kind;

/// Tick sizes by market, kind of security and date. A price band includes either its upper end (in
/// Hong Kong, the tick size at 500.00 is still 0.2) or its lower end (in the US, the tick size at
/// 1.00 is already 0.01).
#[derive(Clone, Debug)]
pub struct TickTable {
    /// Tick sizes of single securities, which override the tick sizes of their kind.
    own: BTreeMap<Symbol, Eras>,
    /// Tick sizes by market and kind. Entries without a kind apply to every security of the market.
    shared: BTreeMap<(Market, Option<Kind>), Eras>,
}

/// Tick sizes with their start dates, in ascending order of date.
type Eras = Vec<(Date, Ticks)>;

/// The securities to which a row applies.
#[derive(Clone, Debug)]
enum For {
    Every,
    Kind(Kind),
    Symbol(Symbol),
}

/// Price bands of one security on one date, in ascending order and without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticks {
    bands: Vec<Band>,
    includes: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Band {
    over: i64,
    to: i64,
    tick: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

const HEADER: &str = "market,for,from,over,to,tick,includes";
/// Upper end of a band without an upper bound.
const OPEN: i64 = i64::MAX;

impl TickTable {
    pub fn parse(file: &str, text: &str) -> Result<TickTable, TableError> {
        let (mut own, mut shared) = (BTreeMap::<Symbol, Eras>::new(), BTreeMap::<_, Eras>::new());
        for row in &rows(file, text, HEADER)? {
            let ((market, whom), from, band, includes) = read_row(row)?;
            let eras = match whom {
                For::Every => shared.entry((market, None)).or_default(),
                For::Kind(kind) => shared.entry((market, Some(kind))).or_default(),
                For::Symbol(symbol) if symbol.market() != market => {
                    return Err(row.wrong(format!("{symbol} is not a security of {market}")));
                }
                For::Symbol(symbol) => own.entry(symbol).or_default(),
            };
            match eras.last_mut() {
                Some((date, ticks)) if *date == from => ticks.append(row, band, includes)?,
                Some((date, _)) if *date > from => return Err(row.wrong("dates of one table must ascend")),
                _ => eras.push((from, Ticks { bands: vec![band], includes })),
            }
        }
        for market in [Market::Hk, Market::Us] {
            if !shared.contains_key(&(market, None)) {
                let problem = format!("{market}: no rows for every security (*)");
                return Err(TableError { file: file.to_owned(), line: 0, problem });
            }
        }
        Ok(TickTable { own, shared })
    }

    /// Returns the tick sizes of a security on a trading date.
    pub fn of(&self, symbol: &Symbol, kind: Kind, date: Date) -> &Ticks {
        let of =
            |kind: Option<Kind>| self.shared.get(&(symbol.market(), kind)).and_then(|eras| at(eras, date));
        let own = self.own.get(symbol).and_then(|eras| at(eras, date));
        own.or_else(|| of(Some(kind))).or_else(|| of(None)).unwrap_or(&NO_TICKS)
    }
}

/// Returns the tick sizes that apply on a date, or `None` if the date is before all start dates.
fn at(eras: &Eras, date: Date) -> Option<&Ticks> {
    eras.iter().rfind(|(from, _)| *from <= date).map(|(_, ticks)| ticks)
}

/// Tick sizes of a market without a table. Parsing ensures that every traded market has a table.
static NO_TICKS: Ticks = Ticks { bands: Vec::new(), includes: End::Lower };

type ReadRow = ((Market, For), Date, Band, End);

fn read_row(row: &Row<'_>) -> Result<ReadRow, TableError> {
    let &[market, whom, from, over, to, tick, includes] = row.fields.as_slice() else {
        return Err(row.wrong(format!("expected {HEADER}")));
    };
    let market = row.market(market)?;
    let whom = match whom {
        "*" => For::Every,
        symbol if symbol.contains('.') => For::Symbol(row.word("symbol", symbol)?),
        kind => For::Kind(row.word("kind", kind)?),
    };
    let price = |what: &str, text: &str| {
        let units = row.decimal(what, text, DECIMALS_MAX)?;
        i64::try_from(units).map_err(|_| row.wrong(format!("{what} is too large")))
    };
    let (over, tick) = (price("over", over)?, price("tick", tick)?);
    let to = if to == "-" { OPEN } else { price("to", to)? };
    let includes = match includes {
        "upper" => End::Upper,
        "lower" => End::Lower,
        _ => return Err(row.wrong("includes is neither upper nor lower")),
    };
    if tick == 0 || to <= over {
        return Err(row.wrong("a band must end above its start, and its tick must be above zero"));
    }
    if over % tick != 0 || (to != OPEN && to % tick != 0) {
        return Err(row.wrong("the ends of a band must be multiples of its tick"));
    }
    Ok(((market, whom), row.from(from)?, Band { over, to, tick }, includes))
}

impl Ticks {
    fn append(&mut self, row: &Row<'_>, band: Band, includes: End) -> Result<(), TableError> {
        let end = self.bands.last().map_or(0, |last| last.to);
        if includes != self.includes {
            return Err(row.wrong("bands of one table include the same end"));
        }
        if band.over > end {
            return Err(row.wrong("a gap: this band begins above the end of the previous one"));
        }
        if band.over < end {
            return Err(row.wrong("an overlap: this band begins below the end of the previous one"));
        }
        self.bands.push(band);
        Ok(())
    }

    /// Returns the tick size at a price. The first band extends to all lower prices, and the last
    /// band to all higher prices.
    pub fn tick(&self, price: Price) -> Price {
        let is_within = |band: &&Band| match self.includes {
            End::Upper => price.0 <= band.to,
            End::Lower => price.0 < band.to,
        };
        let band = self.bands.iter().find(is_within).or(self.bands.last());
        Price(band.map_or(1, |band| band.tick))
    }

    /// Returns the bands in ascending order, each as lower price, upper price and tick size. The
    /// upper price is `None` if the band has no upper bound.
    pub fn bands(&self) -> impl Iterator<Item = (Price, Option<Price>, Price)> + '_ {
        let shown =
            |band: &Band| (Price(band.over), (band.to != OPEN).then_some(Price(band.to)), Price(band.tick));
        self.bands.iter().map(shown)
    }

    pub fn holds(&self, price: Price) -> bool {
        price.0 % self.tick(price).0 == 0
    }

    /// Returns the highest price on a tick that is not above `price`.
    pub fn down(&self, price: Price) -> Price {
        let tick = self.tick(price).0;
        Price(price.0 - price.0.rem_euclid(tick))
    }

    /// Returns the lowest price on a tick that is not below `price`.
    pub fn up(&self, price: Price) -> Price {
        let tick = self.tick(price).0;
        match price.0.rem_euclid(tick) {
            0 => price,
            rest => Price(price.0.saturating_add(tick - rest)),
        }
    }
}
