//! Queries for grids, their orders and their history. Results are sorted newest first by default.

use market::{Market, Symbol};
use trading::{Account, Grid, GridHistoryRow, GridId, GridStatus, Order};

/// Selects grids. A field that is `None` selects all grids.
#[derive(Clone, Debug, Default)]
pub struct GridQuery {
    pub market: Option<Market>,
    /// Statuses to select; empty for all statuses.
    pub statuses: Vec<GridStatus>,
    pub symbol: Option<Symbol>,
    pub sort: GridSort,
    pub is_ascending: bool,
}

/// Sort key of a grid list. Grids with equal keys are sorted by creation time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GridSort {
    #[default]
    CreatedAt,
    UpdatedAt,
    Symbol,
    Profit,
}

/// One page of a list, and whether more rows follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridPage<T> {
    pub rows: Vec<T>,
    pub has_more: bool,
}

/// Maximum number of rows in a page.
pub const GRID_PAGE_MAX: usize = 1_000;

impl<T> GridPage<T> {
    /// Returns page number `page`, counted from 1, with `limit` rows per page.
    fn of(rows: impl Iterator<Item = T>, page: usize, limit: usize) -> GridPage<T> {
        let limit = limit.clamp(1, GRID_PAGE_MAX);
        let mut rows = rows.skip(page.saturating_sub(1).saturating_mul(limit));
        let page: Vec<T> = rows.by_ref().take(limit).collect();
        GridPage { rows: page, has_more: rows.next().is_some() }
    }
}

/// Returns one page of the account's grids that match a query.
pub fn grids<'a>(account: &'a Account, query: &GridQuery, page: usize, limit: usize) -> GridPage<&'a Grid> {
    let is_meant = |grid: &&Grid| {
        query.market.is_none_or(|market| grid.market() == market)
            && (query.statuses.is_empty() || query.statuses.contains(&grid.status))
            && query.symbol.as_ref().is_none_or(|symbol| grid.symbol == *symbol)
    };
    // The grids are sorted oldest first, and the stable sort preserves this order among ties.
    let mut found: Vec<&Grid> = account.grids().iter().filter(is_meant).collect();
    match query.sort {
        GridSort::CreatedAt => {}
        GridSort::UpdatedAt => found.sort_by_key(|grid| grid.updated_at),
        GridSort::Symbol => found.sort_by_cached_key(|grid| grid.symbol.clone()),
        GridSort::Profit => found.sort_by_key(|grid| grid.profit),
    }
    if !query.is_ascending {
        found.reverse();
    }
    GridPage::of(found.into_iter(), page, limit)
}

/// An order created by a grid, together with that grid.
#[derive(Clone, Copy, Debug)]
pub struct GridOrder<'a> {
    pub grid: &'a Grid,
    pub order: &'a Order,
}

/// Returns one page of the orders created by one grid, or by all grids if `grid` is `None`. The
/// page is empty if the grid does not exist.
pub fn grid_orders(
    account: &Account,
    grid: Option<GridId>,
    page: usize,
    limit: usize,
) -> GridPage<GridOrder<'_>> {
    match grid {
        Some(id) => {
            let of_grid = account.grid(id).into_iter().flat_map(|grid| {
                let orders = grid.orders.iter().rev().filter_map(move |id| account.order(*id));
                orders.map(move |order| GridOrder { grid, order })
            });
            GridPage::of(of_grid, page, limit)
        }
        None => {
            let made = account.orders().iter().rev().filter_map(|order| {
                let grid = account.grid(order.grid?.grid)?;
                Some(GridOrder { grid, order })
            });
            GridPage::of(made, page, limit)
        }
    }
}

/// Returns the newest history rows of a grid. If `before` is given, returns only rows with smaller
/// numbers.
pub fn grid_history(grid: &Grid, before: Option<u64>, limit: usize) -> GridPage<&GridHistoryRow> {
    let rows = grid.history.iter().rev().filter(|row| before.is_none_or(|before| row.number < before));
    GridPage::of(rows, 1, limit)
}
