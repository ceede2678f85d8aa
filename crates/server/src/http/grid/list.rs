//! `/v1/gridtrading/list`: lists grids by page and filter, or by id.

use market::Market;
use paper::{GridQuery, GridSort};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trading::{GridId, GridStatus};

use super::docs::{LIMIT, PAGE, REFUSALS, page};
use super::grid_row::GridRow;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, Word, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::{Query, unknown};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const LIST: Doc = Doc::new(Tag::Trade, "gridOrders", "Grids of the paper account")
    .parameters(&[
        PAGE,
        LIMIT,
        Parameter::query("market", Kind::OneOf(&MARKETS), ""),
        Parameter::query(
            "status",
            Kind::Text,
            "Performing, Suspended, Canceled or Expired; several separated by commas",
        ),
        Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK"),
        Parameter::query("sort_by", Kind::OneOf(&SORTS), "").or(Word::Text("created_at")),
        Parameter::query("sort_order", Kind::OneOf(&["asc", "desc"]), "").or(Word::Text("desc")),
    ])
    .answers(&[AnswerDoc::ok("One page of grids", &[data::<Grids>()])])
    .refuses(REFUSALS);

pub(super) const BY_IDS: Doc = Doc::new(Tag::Trade, "gridOrdersByIds", "Grids by id")
    .about("Grids are returned in the order of the ids. Unknown ids are skipped.")
    .body(&[Media::json::<Wanted>()])
    .answers(&[AnswerDoc::ok("The grids found", &[data::<FoundGrids>()])])
    .refuses(REFUSALS);

/// Maximum number of ids per request.
const IDS_MAX: usize = 100;
/// Market names that SDKs send. Grids exist only in the first two markets.
const MARKETS: [&str; 5] = ["HK", "US", "CN", "SG", "Crypto"];

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridOrderPage")]
pub(super) struct Grids {
    grid_order: Vec<GridRow>,
    has_more: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridOrders")]
pub(super) struct FoundGrids {
    grid_order: Vec<GridRow>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "GridOrderIds")]
#[serde(default)]
pub(super) struct Wanted {
    /// Ids of the requested grids, at most 100.
    order_ids: Vec<Field>,
}

/// Sort fields of the list.
const SORTS: [&str; 4] = ["created_at", "updated_at", "symbol", "total_profit_balance"];

/// Parses the filter and the sort order. Returns `None` if the requested market has no grids.
fn query_of(query: &Query) -> Result<Option<GridQuery>, Problem> {
    // SDKs join multiple values with commas. Repeating the parameter is equivalent.
    let words = query.all("status").flat_map(|text| text.split(',')).filter(|word| !word.is_empty());
    let statuses = words.map(|word| word.parse::<GridStatus>().map_err(|_| unknown("status", word)));
    let statuses = statuses.collect::<Result<Vec<_>, Problem>>()?;
    let sort = match query.get("sort_by") {
        None | Some("created_at") => GridSort::CreatedAt,
        Some("updated_at") => GridSort::UpdatedAt,
        Some("symbol") => GridSort::Symbol,
        Some("total_profit_balance") => GridSort::Profit,
        Some(other) => return Err(unknown("sort_by", other)),
    };
    let is_ascending = match query.get("sort_order") {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(other) => return Err(unknown("sort_order", other)),
    };
    let symbol = query.symbol()?;
    let market = match query.get("market") {
        None => None,
        Some(word) if MARKETS.contains(&word) => match Market::parse(word) {
            None => return Ok(None),
            market => market,
        },
        Some(other) => return Err(unknown("market", other)),
    };
    Ok(Some(GridQuery { market, statuses, symbol, sort, is_ascending }))
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let (wanted, (page, limit)) = (query_of(&query)?, page(&query)?);
    let Some(wanted) = wanted else {
        return Ok(envelope::success(Grids { grid_order: Vec::new(), has_more: false }));
    };
    let (mut grid_order, has_more) = trader.read(|reading| {
        let found = paper::grids(reading.account, &wanted, page, limit);
        Ok((found.rows.into_iter().map(GridRow::of).collect::<Vec<_>>(), found.has_more))
    })?;
    name_all(&trader, &mut grid_order)?;
    Ok(envelope::success(Grids { grid_order, has_more }))
}

pub(super) fn by_ids(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let wanted: Wanted = body(call)?;
    if wanted.order_ids.len() > IDS_MAX {
        return Err(Problem::trade_parameter(format!("more than {IDS_MAX} order_ids")));
    }
    let mut ids: Vec<GridId> = Vec::new();
    for field in &wanted.order_ids {
        // An invalid id matches no grid.
        let Some(id) = field.text("order_ids")?.and_then(|text| text.parse().ok()) else { continue };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let mut grid_order: Vec<GridRow> = trader.read(|reading| {
        let found = ids.iter().filter_map(|id| reading.account.grid(*id));
        Ok(found.map(GridRow::of).collect())
    })?;
    name_all(&trader, &mut grid_order)?;
    Ok(envelope::success(FoundGrids { grid_order }))
}

fn name_all(trader: &Trader<'_>, rows: &mut [GridRow]) -> Result<(), Problem> {
    let names = trader.names(rows.iter().map(GridRow::security))?;
    rows.iter_mut().for_each(|row| row.terms_mut().name(&names));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Option<GridQuery>, String> {
        query_of(&Query::parse(query).unwrap()).map_err(|problem| problem.into_parts().text)
    }

    #[test]
    fn only_the_sdk_filter_values_are_accepted() {
        let wanted =
            read("status=Performing%2CSuspended&status=Expired&market=HK&sort_order=asc").unwrap().unwrap();
        let all = [GridStatus::Performing, GridStatus::Suspended, GridStatus::Expired];
        assert_eq!((wanted.statuses.as_slice(), wanted.is_ascending), (all.as_slice(), true));
        assert_eq!(wanted.market, Some(Market::Hk));
        let plain = read("status=&sort_by=&market=").unwrap().unwrap();
        assert_eq!((plain.statuses.len(), plain.sort, plain.is_ascending), (0, GridSort::CreatedAt, false));
        assert!(read("market=Crypto").unwrap().is_none());
        for (query, words) in [
            ("status=Performing,Done", "status \"Done\" is not known"),
            ("market=hk", "market \"hk\" is not known"),
            ("sort_by=price", "sort_by \"price\" is not known"),
            ("sort_order=up", "sort_order \"up\" is not known"),
            ("symbol=700", "symbol \"700\" is not known"),
        ] {
            assert_eq!(read(query).unwrap_err(), words);
        }
        for word in SORTS {
            assert!(read(&format!("sort_by={word}")).is_ok(), "{word}");
        }
    }
}
