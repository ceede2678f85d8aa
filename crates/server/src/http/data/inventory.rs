//! `GET /v1/inventory`: the stored data, with one row per security. A row has the security's series
//! and their start dates, the last price, and the number of missing days. The command line lists a
//! local store by the same rules.

use history::{AsOf, History, HistoryError};
use market::{Date, FloorTable, Floors, Market, Symbol};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::Reader;

use super::coverage::{DAYS_DEFAULT, earlier, today};
use super::listing::{self, DayCounts, HiddenDays, Listing, Order, Sight, worst_first};
use crate::coverage_cache::{COUNTED_MAX, ExpectedDays};
use crate::directory::{Directory, ListedSecurity};
use crate::kit::doc::refusals::{BAD_REQUEST, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Site};
use crate::refusal::Refusal;
use crate::written::Day;

const ROWS_MAX: u32 = 200;
const ROWS_DEFAULT: u32 = 50;
/// Maximum value of `offset`; larger than the number of securities in any market.
const OFFSET_MAX: u32 = 10_000_000;
// Guarantees that one request can compare every row of a page with the calendar.
const _: () = assert!(ROWS_MAX as usize <= COUNTED_MAX);

pub(super) const LIST: Doc = Doc::new(Tag::Candles, "inventory", "Stored data, one row per security")
    .about(
        "Limited to the account's markets and history range; operators see everything. The default order is \
         by symbol, or by relevance if there is a query.",
    )
    .parameters(&[
        listing::QUERY,
        listing::MARKET,
        listing::ORDER,
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
    /// Number of securities not yet compared with the calendar, which are listed last. Each request
    /// compares some of them. Always 0 unless the list is sorted worst first.
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
    let named = QueryParameters::parse(call.query, &["query", "market", "order", "offset", "limit"])?;
    let listing = Listing::parse(&named)?;
    let offset = number(&named, "offset", 0, OFFSET_MAX, 0)?;
    let limit = number(&named, "limit", 1, ROWS_MAX, ROWS_DEFAULT)?;
    let end = today(site, &admitted.caller);
    let days = (earlier(end, DAYS_DEFAULT)?, end);
    let (sight, directory) = (Sight::of(&admitted, site), site.directory(admitted.caller.as_of)?);
    let mut found = listing.found(&directory, &sight);
    let uncounted = match listing.order {
        Some(Order::Worst) => {
            worst_first(&mut found, days, &sight, site, DayCounts::gaps).map_err(Refusal::from)?
        }
        Some(Order::Symbol) | None => 0,
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
        let last = match price_floors {
            Some(floors) => history.last_price(reader, symbol, floors, as_of)?,
            None => None,
        };
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
            last: last.map(|(price, decimals)| price.text(decimals).to_string()),
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
