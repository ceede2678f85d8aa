//! Lists alerts: `GET /v1/notify/reminders` as the SDKs know them, and `GET /v1/alerts` with their
//! firings.

use std::collections::BTreeMap;

use feed::{Condition, Frequency};
use market::{Market, Price, Symbol};
use schemars::JsonSchema;
use serde::Serialize;
use store::{AlertFiring, AlertRow, StoreError};

use super::{indicator_id, of_history, of_store, value_text};
use crate::alerts::{condition, frequency};
use crate::kit::doc::refusals::{BAD_REQUEST, LISTS_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::names::Names;
use crate::written::Instant;

pub(super) const REMINDERS: Doc =
    Doc::new(Tag::Account, "reminders", "List the account's price alerts by security, as the SDKs do")
        .answers(&[AnswerDoc::ok("All alerts, enabled or not", &[data::<Reminders>()])])
        .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

pub(super) const ALERTS: Doc =
    Doc::new(Tag::Account, "alerts", "List the account's price alerts, and the last ones that have fired")
        .answers(&[AnswerDoc::ok("All alerts, and at most 200 firings", &[data::<Alerts>()])])
        .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
struct Reminders {
    lists: Vec<Group>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AlertsOfSecurity")]
struct Group {
    /// Symbol, for SDKs since 5.
    symbol: String,
    /// Such as ST/HK/700, for earlier SDKs.
    counter_id: String,
    /// Symbol without its region.
    code: String,
    market: &'static str,
    name: String,
    /// Last price in regular hours; empty if the account may not see it or none is stored.
    price: String,
    /// Change since the previous close; empty like the price.
    chg: String,
    /// Change since the previous close in percent; empty like the price.
    p_chg: String,
    /// Always empty.
    product: &'static str,
    indicators: Vec<Item>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AlertItem")]
struct Item {
    /// Id of the alert as digits.
    id: String,
    /// Condition: 1 price rise, 2 price fall, 3 percent rise, 4 percent fall.
    indicator_id: &'static str,
    enabled: bool,
    /// 1 at most once a trading day, 2 every time, 3 once.
    frequency: u8,
    /// Always 0.
    scope: u8,
    /// The condition in English.
    text: String,
    /// Always 1.
    state: [u8; 1],
    value_map: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Alerts")]
struct Alerts {
    /// Oldest first.
    alerts: Vec<Alert>,
    /// Newest first.
    fired: Vec<Firing>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Alert {
    id: String,
    symbol: String,
    /// Name in the language of the request.
    name: String,
    /// price_rise, price_fall, percent_rise or percent_fall.
    condition: String,
    /// A price, or a percentage.
    value: String,
    /// daily, every_time or once.
    frequency: String,
    enabled: bool,
    /// Market time.
    created_at: Instant,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AlertFiring")]
struct Firing {
    /// Firings of an account are numbered from 1.
    number: i64,
    /// Id of the alert, which may have been removed since.
    alert: String,
    symbol: String,
    name: String,
    condition: String,
    value: String,
    /// Market time of the quote.
    at: Instant,
    /// The last price or, if only the day's high or low had reached the value, that price; empty
    /// without a right to the market.
    price: String,
}

pub(super) fn reminders(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    QueryParameters::parse(call.query, &[])?;
    let rows = site.core.access.database().alerts(admitted.account().id).map_err(of_store)?;
    let names = names(site, &admitted, rows.iter().map(|row| &row.symbol))?;
    let mut groups: BTreeMap<&Symbol, Vec<Item>> = BTreeMap::new();
    for row in &rows {
        if let Some(item) = Item::of(row) {
            groups.entry(&row.symbol).or_default().push(item);
        }
    }
    let mut lists = Vec::new();
    for (symbol, indicators) in groups {
        let [price, chg, p_chg] = prices(site, &admitted, symbol)?;
        let market = symbol.market();
        lists.push(Group {
            symbol: symbol.to_string(),
            counter_id: counter_id(symbol),
            code: symbol.ticker().to_owned(),
            market: market.as_str(),
            name: names.get(symbol),
            price,
            chg,
            p_chg,
            product: "",
            indicators,
        });
    }
    Ok(envelope::success(Reminders { lists }))
}

pub(super) fn alerts(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    QueryParameters::parse(call.query, &[])?;
    let (id, accounts) = (admitted.account().id, site.core.access.database());
    let rows = accounts.alerts(id).map_err(of_store)?;
    let firings = accounts.alert_firings(id, admitted.now()).map_err(of_store)?;
    let symbols = rows.iter().map(|row| &row.symbol).chain(firings.iter().map(|one| &one.symbol));
    let names = names(site, &admitted, symbols)?;
    let holds = |market: Market| admitted.permit.holds(market.into());
    let alert = |row: AlertRow| Alert {
        id: row.id.0.to_string(),
        name: names.get(&row.symbol),
        symbol: row.symbol.to_string(),
        condition: row.condition,
        value: value_text(row.value),
        frequency: row.frequency,
        enabled: row.is_enabled,
        created_at: Instant::utc(row.created_at),
    };
    let firing = |one: AlertFiring| Firing {
        number: one.number,
        alert: one.alert.0.to_string(),
        name: names.get(&one.symbol),
        condition: one.condition,
        value: value_text(one.value),
        at: Instant::utc(one.at),
        price: if holds(one.symbol.market()) { value_text(one.price) } else { String::new() },
        symbol: one.symbol.to_string(),
    };
    Ok(envelope::success(Alerts {
        alerts: rows.into_iter().map(alert).collect(),
        fired: firings.into_iter().map(firing).collect(),
    }))
}

impl Item {
    /// Returns an alert as the SDKs know it, or `None` if a later release has written it.
    fn of(row: &AlertRow) -> Option<Item> {
        let (condition, value) = (condition(&row.condition)?, value_text(row.value));
        let text = match condition {
            Condition::PriceRise => format!("price rises to {value}"),
            Condition::PriceFall => format!("price falls to {value}"),
            Condition::PercentRise => format!("price rises by {value}% on the day"),
            Condition::PercentFall => format!("price falls by {value}% on the day"),
        };
        Some(Item {
            id: row.id.0.to_string(),
            indicator_id: indicator_id(condition),
            enabled: row.is_enabled,
            frequency: match frequency(&row.frequency)? {
                Frequency::Daily => 1,
                Frequency::EveryTime => 2,
                Frequency::Once => 3,
            },
            scope: 0,
            text,
            state: [1],
            value_map: BTreeMap::from([(if condition.is_percent() { "chg" } else { "price" }, value)]),
        })
    }
}

/// Returns the last price, its change and the change in percent, or empty texts if the account may
/// not see them.
fn prices(site: &Site, admitted: &Admitted, symbol: &Symbol) -> Result<[String; 3], Problem> {
    let core = &site.core;
    let market = symbol.market();
    if !admitted.permit.holds(market.into()) {
        return Ok(Default::default());
    }
    let (floors, as_of) = (core.floors_of(admitted.account()).of(market), admitted.caller.as_of);
    let sessions = history::Sessions::Intraday;
    let quote = core.with_reader(|reader| core.history.quote(reader, symbol, sessions, floors, as_of));
    let Some(quote) = quote.map_err(of_history)? else { return Ok(Default::default()) };
    let (last, close) = (quote.regular.state.figures.last, quote.regular.prev_close);
    let text = |price: Price| price.text(quote.decimals).to_string();
    let change = last.0.saturating_sub(close.0);
    let percent = i128::from(change) * 100 * i128::from(market::PRICE_UNIT) / i128::from(close.0.max(1));
    let percent = Price(i64::try_from(percent).unwrap_or(0)).rounded(2).text(2).to_string();
    Ok([text(last), text(Price(change)), percent])
}

fn names<'a>(
    site: &Site,
    admitted: &Admitted,
    symbols: impl Iterator<Item = &'a Symbol>,
) -> Result<Names, Problem> {
    let names = site.core.with_reader(|reader| Names::of(symbols, admitted.caller.language, reader));
    names.map_err(|error: StoreError| {
        tracing::error!(%error, "cannot read the names of securities");
        Problem::internal()
    })
}

/// Returns the counter id of a security, from which the SDKs derive its symbol: an index has a code
/// that begins with a dot.
fn counter_id(symbol: &Symbol) -> String {
    let kind = if symbol.ticker().starts_with('.') { "IX" } else { "ST" };
    format!("{kind}/{}/{}", symbol.region().as_str(), symbol.ticker())
}
