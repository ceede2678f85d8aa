//! `GET /v1/inventory`: the stored data, with one row per security. A row has the security's series
//! and their start dates, the last price with the day's change and volume, recent closes, and the
//! number of missing days. The command line lists a local store by the same rules.

use std::collections::BTreeSet;

use history::{AsOf, CLOSES_MAX, History, HistoryError};
use market::{Date, FloorTable, Floors, Market, Price, Symbol};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::Reader;

use super::coverage::{DAYS_DEFAULT, earlier, today};
use super::listing::{self, DayCounts, HiddenDays, Listing, Sight, sort_by_gaps, sort_by_keys, unknown_word};
use crate::caller::Language;
use crate::command;
use crate::directory::{Directory, ListedSecurity};
use crate::kit::doc::refusals::{BAD_REQUEST, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Site};
use crate::list_cache::{COUNTED_MAX, ExpectedDays, ListFigures};
use crate::message::SYMBOLS_MAX;
use crate::refusal::Refusal;
use crate::written::Day;

const ROWS_MAX: u32 = 200;
const ROWS_DEFAULT: u32 = 50;
/// Maximum value of `offset`; larger than the number of securities in any market.
const OFFSET_MAX: u32 = 10_000_000;
// Guarantees that one request can compare every row of a page with the calendar.
const _: () = assert!(ROWS_MAX as usize <= COUNTED_MAX);
const _: () = assert!(CLOSES_MAX == 30 && SYMBOLS_MAX == 500);

const ORDERS: [&str; 7] = ["symbol", "name", "last", "change", "percent", "volume", "worst"];
const DIRECTIONS: [&str; 2] = ["asc", "desc"];
const ORDER: Parameter = Parameter::query(
    "order",
    Kind::OneOf(&ORDERS),
    "Sort by symbol, name, last price, change of the day, the same in percent, volume, or number of \
     missing days. Securities without the figure come last",
)
.or(Word::Text("symbol"));
const DIRECTION: Parameter = Parameter::query(
    "direction",
    Kind::OneOf(&DIRECTIONS),
    "Ascending or descending; default: asc for symbols and names, otherwise desc",
);

/// What the list is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Symbol,
    Name,
    Last,
    Change,
    Percent,
    Volume,
    /// Missing days, then partial days, then days since the last candle.
    Worst,
}

#[derive(Clone, Copy, Debug)]
struct Sorting {
    column: Column,
    is_ascending: bool,
}

impl Sorting {
    /// Returns `None` if the request has neither an order nor a direction.
    fn parse(named: &QueryParameters) -> Result<Option<Sorting>, Refusal> {
        let column = named.get("order").map(|text| match text {
            "symbol" => Ok(Column::Symbol),
            "name" => Ok(Column::Name),
            "last" => Ok(Column::Last),
            "change" => Ok(Column::Change),
            "percent" => Ok(Column::Percent),
            "volume" => Ok(Column::Volume),
            "worst" => Ok(Column::Worst),
            text => Err(unknown_word("order", text, &ORDERS.join(", "))),
        });
        let column = column.transpose()?;
        let is_text = matches!(column, None | Some(Column::Symbol | Column::Name));
        let is_ascending = match named.get("direction") {
            None => is_text,
            Some("asc") => true,
            Some("desc") => false,
            Some(text) => return Err(unknown_word("direction", text, &DIRECTIONS.join(" or "))),
        };
        let is_sorted = column.is_some() || named.get("direction").is_some();
        let column = column.unwrap_or(Column::Symbol);
        Ok(is_sorted.then_some(Sorting { column, is_ascending }))
    }

    /// Sorts securities that are in symbol order, and returns how many are not compared yet.
    fn sort(
        self,
        found: &mut Vec<&ListedSecurity>,
        days: (Date, Date),
        sight: &Sight<'_>,
        admitted: &Admitted,
        site: &Site,
    ) -> Result<usize, HistoryError> {
        let Sorting { column, is_ascending } = self;
        let key: fn(&ListFigures) -> Option<i128> = match column {
            Column::Symbol => {
                if !is_ascending {
                    found.reverse();
                }
                return Ok(0);
            }
            Column::Name => {
                let language = admitted.caller.language;
                let names =
                    found.iter().map(|one| Some(name_in(one, language)).filter(|name| !name.is_empty()));
                let names: Vec<Option<&str>> = names.collect();
                sort_by_keys(found, names, is_ascending);
                return Ok(0);
            }
            Column::Worst => {
                return sort_by_gaps(found, days, sight, site, DayCounts::gaps, is_ascending);
            }
            Column::Last => |figures| Some(figures.last.0.into()),
            Column::Change => |figures| figures.change().map(i128::from),
            Column::Percent => ListFigures::ratio,
            Column::Volume => |figures| figures.volume.map(i128::from),
        };
        // Prices that the account may not see are not read, and decide no order.
        let (priced, mut unpriced): (Vec<&ListedSecurity>, Vec<&ListedSecurity>) =
            found.iter().partition(|one| admitted.permit.holds(one.symbol.market().into()));
        let floors = site.core.floors_of(admitted.account());
        let figures = site.figures.of(&site.core, floors, &priced, sight.as_of)?;
        let uncounted = figures.iter().filter(|figures| figures.is_none()).count();
        let keys = figures.iter().map(|figures| figures.as_ref()?.as_ref().and_then(key)).collect();
        *found = priced;
        sort_by_keys(found, keys, is_ascending);
        found.append(&mut unpriced);
        Ok(uncounted)
    }
}

/// Returns the name that pages show in a language.
fn name_in(one: &ListedSecurity, language: Language) -> &str {
    let (first, others) = match language {
        Language::En => (&one.name_en, [&one.name_cn, &one.name_hk]),
        Language::ZhCn => (&one.name_cn, [&one.name_hk, &one.name_en]),
        Language::ZhHk => (&one.name_hk, [&one.name_cn, &one.name_en]),
    };
    std::iter::once(first).chain(others).find(|name| !name.is_empty()).map_or("", String::as_str)
}

pub(super) const LIST: Doc = Doc::new(Tag::Candles, "inventory", "Stored data, one row per security")
    .about(
        "Limited to the account's markets and history range; operators see everything. The default order is \
         by symbol, or by relevance if there is a query.",
    )
    .parameters(&[
        listing::QUERY,
        listing::MARKET,
        ORDER,
        DIRECTION,
        Parameter::query("symbols", Kind::Text, "Only these, at most 500 symbols, separated by commas")
            .such_as("700.HK,AAPL.US"),
        Parameter::query("offset", Kind::Between(0, OFFSET_MAX), "Number of securities to skip")
            .or(Word::Number(0)),
        Parameter::query("limit", Kind::Between(1, ROWS_MAX), "Maximum number of securities")
            .or(Word::Number(ROWS_DEFAULT)),
    ])
    .answers(&[AnswerDoc::ok("The securities", &[data::<Inventory>()])])
    .refuses(&[BAD_REQUEST, TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
struct Inventory {
    /// First day of the range in which missing and partial days are counted.
    start: Day,
    end: Day,
    rows: Vec<StoredSecurity>,
    /// Number of securities on all pages.
    total: usize,
    /// Number of securities whose figures or gaps have not been read yet, which are listed last. Each
    /// request reads some of them. Always 0 in the order of symbols or names.
    uncounted: usize,
    /// Whether the store has no candles at all. False if candles are stored but the account sees no
    /// matching security.
    store_is_empty: bool,
    /// Value of `offset` for the next page; null on the last page.
    next: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StoredSecurity {
    symbol: String,
    name_en: String,
    name_cn: String,
    name_hk: String,
    market: &'static str,
    /// Imported series of regular hours, shortest period first.
    series: Vec<StoredSeries>,
    /// Last price in regular hours; null if there is no price or the account may not see it.
    last: Option<String>,
    /// Close of the day before, as in a quote; null if there is no price, or it is not that of a quote.
    prev_close: Option<String>,
    /// Volume of the day, as in a quote.
    volume: Option<i64>,
    /// Adjusted closes of the last 30 days, oldest first.
    closes: Vec<String>,
    /// Number of trading days in the range, from the security's first day to its last.
    expected: u32,
    /// Number of trading days without candles.
    missing: u32,
    /// Number of trading days with only some of their candles.
    partial: u32,
    /// Number of trading days in the range after the security's last day. They are not counted as
    /// missing.
    after_last: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StoredSeries {
    /// Candle period, such as 1m or day.
    period: String,
    /// Date of the first candle.
    first: Day,
    /// Date of the last candle.
    last: Day,
    /// Number of candles; null if the account may not see all of them.
    candles: Option<u64>,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(
        call.query,
        &["query", "market", "order", "direction", "symbols", "offset", "limit"],
    )?;
    let (listing, sorting) = (Listing::parse(&named)?, Sorting::parse(&named)?);
    let only = only(&named)?;
    let offset = number(&named, "offset", 0, OFFSET_MAX, 0)?;
    let limit = number(&named, "limit", 1, ROWS_MAX, ROWS_DEFAULT)?;
    let end = today(site, &admitted.caller);
    let days = (earlier(end, DAYS_DEFAULT)?, end);
    let (sight, directory) = (Sight::of(&admitted, site), site.directory(admitted.caller.as_of)?);
    let mut found = listing.found(&directory, &sight, sorting.is_some());
    if let Some(only) = only {
        found.retain(|one| only.contains(&one.symbol));
    }
    let uncounted = match sorting {
        Some(sorting) => sorting.sort(&mut found, days, &sight, &admitted, site).map_err(Refusal::from)?,
        None => 0,
    };
    let page: Vec<&ListedSecurity> = found.iter().skip(offset).take(limit).copied().collect();
    let rows = stored(&page, days, &sight, &admitted, site).map_err(Refusal::from)?;
    let through = offset.saturating_add(page.len());
    Ok(envelope::success(Inventory {
        start: Day(days.0),
        end: Day(days.1),
        rows,
        total: found.len(),
        uncounted,
        store_is_empty: directory.is_empty(),
        next: (!page.is_empty() && through < found.len()).then_some(through),
    }))
}

/// Returns the requested symbols, or `None` for all.
fn only(named: &QueryParameters) -> Result<Option<BTreeSet<Symbol>>, Refusal> {
    let Some(text) = named.get("symbols") else { return Ok(None) };
    let texts: Vec<&str> = text.split(',').filter(|text| !text.is_empty()).collect();
    if texts.len() > SYMBOLS_MAX {
        return Err(Refusal::BadQuery(format!("symbols has more than {SYMBOLS_MAX} symbols")));
    }
    texts.into_iter().map(command::symbol).collect::<Result<_, _>>().map(Some)
}

fn number(
    named: &QueryParameters,
    name: &str,
    least: u32,
    most: u32,
    otherwise: u32,
) -> Result<usize, Refusal> {
    Ok(usize::try_from(named.number(name, least..=most, otherwise)?).unwrap_or(usize::MAX))
}

fn stored(
    page: &[&ListedSecurity],
    days: (Date, Date),
    sight: &Sight<'_>,
    admitted: &Admitted,
    site: &Site,
) -> Result<Vec<StoredSecurity>, HistoryError> {
    let core = &site.core;
    let letters = site.coverage.of(core, days, page, sight.as_of)?;
    let of_account = core.floors_of(admitted.account());
    core.with_reader(|reader| {
        let mut rows = Vec::with_capacity(page.len());
        for (one, letters) in page.iter().zip(letters) {
            let market = one.symbol.market();
            let view = SecurityView {
                floors: sight.floors(market),
                // A price is a quote, so operators also need the quote right to see it.
                price_floors: admitted.permit.holds(market.into()).then(|| of_account.of(market)),
                start: days.0,
                as_of: sight.as_of,
            };
            rows.push(StoredSecurity::of(one, &letters.unwrap_or_default(), view, &core.history, reader)?);
        }
        Ok(rows)
    })
}

/// The part of a security's data that is visible to the caller.
#[derive(Clone, Copy, Debug)]
struct SecurityView {
    floors: Floors,
    /// Floors for the last price; `None` if the price is hidden.
    price_floors: Option<Floors>,
    /// The date of the first coverage letter.
    start: Date,
    as_of: AsOf,
}

impl StoredSecurity {
    fn of(
        one: &ListedSecurity,
        letters: &str,
        view: SecurityView,
        history: &History,
        reader: &mut Reader,
    ) -> Result<StoredSecurity, HistoryError> {
        let SecurityView { floors, price_floors, start, as_of } = view;
        let symbol = &one.symbol;
        let ranges = history::stored_ranges(
            &reader.snapshot_of(symbol)?,
            history.venue(symbol),
            symbol,
            floors,
            as_of,
        )?;
        let (quote, closes) = match price_floors {
            Some(floors) => (
                history.list_quote(reader, symbol, floors, as_of)?,
                history.recent_closes(reader, symbol, floors, as_of)?,
            ),
            None => (None, Vec::new()),
        };
        let decimals = quote.as_ref().map_or(0, |quote| quote.decimals);
        let text = |price: Price| price.text(decimals).to_string();
        let day = quote.as_ref().and_then(|quote| quote.day);
        let series = ranges.into_iter().map(|range| StoredSeries {
            period: range.period.to_string(),
            first: Day(range.first),
            last: Day(range.last),
            candles: range.rows,
        });
        let DayCounts { missing, partial, after_last, expected } =
            DayCounts::of(letters, HiddenDays::of(start, floors));
        Ok(StoredSecurity {
            symbol: symbol.as_str().to_owned(),
            name_en: one.name_en.clone(),
            name_cn: one.name_cn.clone(),
            name_hk: one.name_hk.clone(),
            market: symbol.market().as_str(),
            series: series.collect(),
            last: quote.map(|quote| text(quote.last)),
            prev_close: day.map(|day| text(day.prev_close)),
            volume: day.map(|day| day.volume),
            closes: closes.into_iter().map(text).collect(),
            expected,
            missing,
            partial,
            after_last,
        })
    }
}

/// Inventory of a local store, for programs that opened the store themselves.
#[derive(Debug)]
pub struct StoreInventory<'a> {
    history: &'a History,
    as_of: AsOf,
    directory: Directory,
    days: (Date, Date),
    expected: ExpectedDays<'a>,
}

impl<'a> StoreInventory<'a> {
    pub fn open(
        reader: &mut Reader,
        history: &'a History,
        as_of: AsOf,
    ) -> Result<StoreInventory<'a>, HistoryError> {
        let directory = Directory::read(reader, history, as_of)?;
        let end = history.venues().of(Market::Hk).zone().date(as_of.now());
        // The start may be before the earliest representable date. In that case the range is one
        // day.
        let days = (earlier(end, DAYS_DEFAULT).unwrap_or(end), end);
        let expected = ExpectedDays::of(history, days, as_of);
        Ok(StoreInventory { history, as_of, directory, days, expected })
    }

    /// Returns whether no security has candles.
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// Returns the symbols that match `query`, best match first. An empty query matches all
    /// symbols, in symbol order. `market` restricts the result to one market.
    pub fn matches(&self, query: &str, market: Option<Market>) -> Vec<&Symbol> {
        let is_wanted = |symbol: &Symbol| market.is_none_or(|wanted| wanted == symbol.market());
        self.directory.matches(query, is_wanted).into_iter().map(|one| &one.symbol).collect()
    }

    /// Returns the sort key of a security's gaps: missing days, then partial days, then days since
    /// the last candle.
    pub fn gaps(&self, reader: &mut Reader, symbol: &Symbol) -> Result<(u32, u32, u32), HistoryError> {
        let letters = self.expected.letters(reader, symbol)?;
        Ok(DayCounts::of(&letters, HiddenDays::default()).gaps())
    }

    /// Returns a security as JSON, in the format of `/v1/inventory`.
    pub fn document(&self, reader: &mut Reader, symbol: &Symbol) -> Result<Value, HistoryError> {
        let Some(one) = self.directory.find(symbol) else {
            return Err(HistoryError::UnknownSecurity(symbol.clone()));
        };
        let letters = self.expected.letters(reader, symbol)?;
        // The command line shows all stored data, so no floors apply.
        let floors = FloorTable::NONE.of(symbol.market());
        let (start, as_of) = (self.days.0, self.as_of);
        let view = SecurityView { floors, price_floors: Some(floors), start, as_of };
        let report = StoredSecurity::of(one, &letters, view, self.history, reader)?;
        // Cannot fail: all fields are strings and numbers.
        Ok(serde_json::to_value(report).unwrap_or_default())
    }
}
