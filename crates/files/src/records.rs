//! Reads securities, corporate actions, margin factors and suspensions: small tables that are
//! loaded into memory.

use market::adjust::Amount;
use market::{Action, Date, MarginFactor, SecurityKind, Symbol, parse_scaled};

use crate::cells::{Cells, OpenQuote, lossy};
use crate::source::Lines;
use crate::spelling::{Spelling, parse_symbol};
use crate::time::{DayCount, RawTime, date_of_number, parse_time};
use crate::{Problem, RECORDS_MAX, REJECTED_MAX, ReadOptions, Rejected};

/// Maximum length of a name, board or exchange, in characters.
const TEXT_MAX: usize = 200;

/// A small table in memory, with its rejected rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records<T> {
    pub rows: Vec<T>,
    pub rejected: Vec<Rejected>,
    /// Number of rejected rows that are not stored, because [`REJECTED_MAX`] rows are already
    /// stored.
    pub omitted: u64,
}

impl<T> Records<T> {
    /// Adds a rejected row, or only counts it if [`REJECTED_MAX`] rows are stored.
    pub fn reject(&mut self, row: Rejected) {
        if self.rejected.len() < REJECTED_MAX {
            self.rejected.push(row);
        } else {
            self.omitted += 1;
        }
    }
}

/// One row of a securities table. A field is `None` if the file has no value for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecurityRow {
    pub line: u64,
    pub symbol: Symbol,
    pub name_en: Option<String>,
    pub name_cn: Option<String>,
    pub name_hk: Option<String>,
    pub exchange: Option<String>,
    pub currency: Option<String>,
    pub lot_size: Option<i64>,
    pub board: Option<String>,
    pub listing_date: Option<Date>,
    pub decimals: Option<u32>,
    pub total_shares: Option<i64>,
    pub circulating_shares: Option<i64>,
    pub hk_shares: Option<i64>,
    /// Earnings per share as decimal text, which is validated but stored verbatim.
    pub eps: Option<String>,
    /// Earnings per share of the last twelve months, in the form of `eps`.
    pub eps_ttm: Option<String>,
    /// Book value per share, in the form of `eps`.
    pub bps: Option<String>,
    /// Dividend yield, in the form of `eps`.
    pub dividend_yield: Option<String>,
    pub kind: Option<SecurityKind>,
    pub delisted_on: Option<Date>,
    /// First day on which the row's share counts and per-share figures apply. The other columns are
    /// undated.
    pub from: Option<Date>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRow {
    pub line: u64,
    pub symbol: Symbol,
    pub action: Action,
    /// Date on which the cash is paid, if the file has one.
    pub pay_date: Option<Date>,
}

/// Initial, maintenance and forced-sale margin factors of one security.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarginRow {
    pub line: u64,
    pub symbol: Symbol,
    pub im: MarginFactor,
    pub mm: MarginFactor,
    pub fm: MarginFactor,
}

/// Days on which a security is not traded, inclusive. Without a last day, the suspension lasts
/// until further notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspensionRow {
    pub line: u64,
    pub symbol: Symbol,
    pub from: Date,
    pub to: Option<Date>,
}

/// Receives a row: its line, its cells or the reason why they are unreadable, and its text.
pub(crate) type RowSink<'a> =
    dyn FnMut(u64, Result<Vec<Vec<u8>>, String>, String) -> Result<(), Problem> + 'a;

/// A table that can be read row by row, with every cell as text.
pub(crate) trait TextCells {
    fn each(&mut self, row: &mut RowSink<'_>) -> Result<(), Problem>;
}

#[derive(Debug)]
pub(crate) struct TextTable {
    pub lines: Lines,
    delimiter: u8,
    width: usize,
}

impl TextTable {
    pub(crate) fn new(lines: Lines, delimiter: u8, width: usize) -> TextTable {
        TextTable { lines, delimiter, width }
    }
}

impl TextCells for TextTable {
    fn each(&mut self, row: &mut RowSink<'_>) -> Result<(), Problem> {
        let mut cells = Cells::default();
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(()) };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let split = match cells.split(line, self.delimiter) {
                Err(OpenQuote) => Err("a quote is not closed on its line".to_owned()),
                Ok(()) if cells.len() < self.width => {
                    Err(format!("{} cells where the header has {}", cells.len(), self.width))
                }
                Ok(()) => Ok((0..cells.len()).map(|column| cells.get(line, column).to_vec()).collect()),
            };
            row(number, split, lossy(line))?;
        }
    }
}

pub(crate) fn securities(
    table: &mut dyn TextCells,
    known: &[(&'static str, usize)],
    options: &ReadOptions,
) -> Result<Records<SecurityRow>, Problem> {
    collect(table, known, |row, line| security(row, line, options))
}

pub(crate) fn actions(
    table: &mut dyn TextCells,
    known: &[(&'static str, usize)],
    options: &ReadOptions,
) -> Result<Records<ActionRow>, Problem> {
    collect(table, known, |row, line| action(row, line, options))
}

pub(crate) fn margins(
    table: &mut dyn TextCells,
    known: &[(&'static str, usize)],
    options: &ReadOptions,
) -> Result<Records<MarginRow>, Problem> {
    collect(table, known, |row, line| {
        let symbol = row.symbol(options)?;
        Ok(MarginRow { line, symbol, im: row.factor("im")?, mm: row.factor("mm")?, fm: row.factor("fm")? })
    })
}

pub(crate) fn suspensions(
    table: &mut dyn TextCells,
    known: &[(&'static str, usize)],
    options: &ReadOptions,
) -> Result<Records<SuspensionRow>, Problem> {
    collect(table, known, |row, line| {
        let symbol = row.symbol(options)?;
        let from = row.date("from")?.ok_or_else(|| "from is empty".to_owned())?;
        let to = row.date("to")?;
        if to.is_some_and(|to| to < from) {
            return Err("to is before from".to_owned());
        }
        Ok(SuspensionRow { line, symbol, from, to })
    })
}

fn collect<T>(
    table: &mut dyn TextCells,
    known: &[(&'static str, usize)],
    parse: impl Fn(&Named<'_>, u64) -> Result<T, String>,
) -> Result<Records<T>, Problem> {
    let mut records = Records { rows: Vec::new(), rejected: Vec::new(), omitted: 0 };
    table.each(&mut |line, cells, text| {
        if (records.rows.len() + records.rejected.len()) as u64 + records.omitted >= RECORDS_MAX as u64 {
            return Err(Problem::Records);
        }
        let mut symbol = None;
        let parsed = cells.and_then(|cells| {
            let named = Named { cells: &cells, known };
            symbol = named.text("symbol").ok().flatten();
            parse(&named, line)
        });
        match parsed {
            Ok(row) => records.rows.push(row),
            Err(reason) => records.reject(Rejected { line, symbol, text, reason }),
        }
        Ok(())
    })?;
    if records.rows.is_empty() && records.rejected.is_empty() {
        return Err(Problem::NoRows);
    }
    Ok(records)
}

/// The cells of one row, by column name. Blank cells are absent.
struct Named<'a> {
    cells: &'a [Vec<u8>],
    known: &'a [(&'static str, usize)],
}

impl Named<'_> {
    fn text(&self, name: &str) -> Result<Option<String>, String> {
        let column = self.known.iter().find(|(known, _)| *known == name).map(|(_, column)| *column);
        let Some(cell) = column.and_then(|column| self.cells.get(column)).filter(|cell| !cell.is_empty())
        else {
            return Ok(None);
        };
        let text = std::str::from_utf8(cell).map_err(|_| format!("{name} is not UTF-8"))?;
        // PostgreSQL cannot store NUL characters.
        if text.contains('\0') {
            return Err(format!("{name} has a NUL in it"));
        }
        if text.chars().count() > TEXT_MAX {
            return Err(format!("{name} is longer than {TEXT_MAX} characters"));
        }
        Ok(Some(text.to_owned()))
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, String> {
        let wrong = || format!("{name} is not a whole number of at least zero");
        self.text(name)?
            .map(|text| match parse_scaled(text.as_bytes(), 0) {
                Ok((value, true)) => i64::try_from(value).ok().filter(|value| *value >= 0).ok_or_else(wrong),
                _ => Err(wrong()),
            })
            .transpose()
    }

    fn decimal(&self, name: &str) -> Result<Option<String>, String> {
        let text = self.text(name)?;
        match text.as_ref().map(|text| parse_scaled(text.as_bytes(), 12)) {
            Some(Err(error)) => Err(format!("{name} is {error}")),
            _ => Ok(text),
        }
    }

    fn date(&self, name: &str) -> Result<Option<Date>, String> {
        let wrong = || format!("{name} is not a date: write YYYY-MM-DD");
        let Some(text) = self.text(name)? else { return Ok(None) };
        match parse_time(text.as_bytes(), &mut DayCount::new()) {
            Ok(RawTime::Date(date) | RawTime::Wall { date, seconds: 0 }) => Ok(Some(date)),
            Ok(RawTime::Number(number)) => date_of_number(number).map(Some).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    fn kind(&self) -> Result<Option<SecurityKind>, String> {
        let Some(text) = self.text("kind")? else { return Ok(None) };
        let known = SecurityKind::ALL.map(SecurityKind::as_str).join(", ");
        let wrong = || format!("kind {:?} is not one of {known}", cut(&text));
        SecurityKind::parse(&text).map(Some).ok_or_else(wrong)
    }

    fn symbol(&self, options: &ReadOptions) -> Result<Symbol, String> {
        parse_symbol(&self.text("symbol")?.unwrap_or_default(), Spelling::Plain, options.region)
    }

    fn factor(&self, name: &str) -> Result<MarginFactor, String> {
        let text = self.text(name)?.ok_or_else(|| format!("{name} is empty"))?;
        MarginFactor::parse(&text).map_err(|error| format!("{name} {:?} is {error}", cut(&text)))
    }

    fn amount(&self, name: &str, otherwise: Amount) -> Result<Amount, String> {
        let Some(text) = self.text(name)? else { return Ok(otherwise) };
        Amount::parse(&text).map_err(|error| format!("{name}: {error}"))
    }
}

fn security(row: &Named<'_>, line: u64, options: &ReadOptions) -> Result<SecurityRow, String> {
    let decimals = match row.integer("decimals")? {
        Some(decimals) if decimals > i64::from(market::DECIMALS_MAX) => {
            return Err(format!("decimals is above {}", market::DECIMALS_MAX));
        }
        decimals => decimals.and_then(|decimals| u32::try_from(decimals).ok()),
    };
    let lot_size = row.integer("lot_size")?;
    if lot_size == Some(0) {
        return Err("lot_size is zero".to_owned());
    }
    let (listing_date, delisted_on) = (row.date("listing_date")?, row.date("delisted_on")?);
    if let (Some(listed), Some(delisted)) = (listing_date, delisted_on)
        && delisted < listed
    {
        return Err("delisted_on is before listing_date".to_owned());
    }
    let row = SecurityRow {
        line,
        symbol: row.symbol(options)?,
        name_en: row.text("name_en")?,
        name_cn: row.text("name_cn")?,
        name_hk: row.text("name_hk")?,
        exchange: row.text("exchange")?,
        currency: row.text("currency")?,
        lot_size,
        board: row.text("board")?,
        listing_date,
        decimals,
        total_shares: row.integer("total_shares")?,
        circulating_shares: row.integer("circulating_shares")?,
        hk_shares: row.integer("hk_shares")?,
        eps: row.decimal("eps")?,
        eps_ttm: row.decimal("eps_ttm")?,
        bps: row.decimal("bps")?,
        dividend_yield: row.decimal("dividend_yield")?,
        kind: row.kind()?,
        delisted_on,
        from: row.date("from")?,
    };
    let shares = [row.total_shares, row.circulating_shares, row.hk_shares];
    let figures = [&row.eps, &row.eps_ttm, &row.bps, &row.dividend_yield];
    if row.from.is_some() && shares.iter().all(Option::is_none) && figures.iter().all(|text| text.is_none()) {
        return Err("from without shares or per-share figures: nothing takes effect on that day".to_owned());
    }
    Ok(row)
}

fn action(row: &Named<'_>, line: u64, options: &ReadOptions) -> Result<ActionRow, String> {
    let symbol = row.symbol(options)?;
    let ex_date = row.date("ex_date")?.ok_or_else(|| "ex_date is empty".to_owned())?;
    let split = match row.text("split")? {
        None => Amount::one(),
        Some(text) => parse_split(&text)?,
    };
    let action = Action {
        ex_date,
        cash: row.amount("cash", Amount::zero())?,
        split,
        bonus: row.amount("bonus", Amount::zero())?,
        rights: row.amount("rights", Amount::zero())?,
        rights_price: row.amount("rights_price", Amount::zero())?,
    };
    if !action.rights.is_zero() && action.rights_price.is_zero() {
        return Err("rights without a rights_price: shares for nothing are a bonus".to_owned());
    }
    if action.rights.is_zero() && !action.rights_price.is_zero() {
        return Err("a rights_price without rights".to_owned());
    }
    if action == Action::none(ex_date) {
        return Err("no effect: every amount is blank".to_owned());
    }
    let pay_date = row.date("pay_date")?;
    if pay_date.is_some_and(|pay_date| pay_date < ex_date) {
        return Err("pay_date is before ex_date".to_owned());
    }
    Ok(ActionRow { line, symbol, action, pay_date })
}

/// Truncates a cell to 40 characters for an error message.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Parses a split ratio (new shares per old share): `2`, `1/10`, `2:1` or `2-for-1`.
fn parse_split(text: &str) -> Result<Amount, String> {
    let lower = text.to_ascii_lowercase();
    let pair = ["-for-", " for ", ":"].iter().find_map(|between| lower.split_once(between));
    let fraction = match pair {
        Some((new, old)) => format!("{}/{}", new.trim(), old.trim()),
        None => lower,
    };
    let amount = Amount::parse(&fraction)
        .map_err(|_| format!("split: {text:?} is not a ratio: write 2, 2:1 or 1/10"))?;
    if amount.is_zero() {
        return Err("split is zero".to_owned());
    }
    Ok(amount)
}
