//! Grids of a paper account of the local store.

use anyhow::anyhow;
use market::Symbol;
use serde_json::{Value, json};
use server::{grid_detail_document, grid_document, grid_symbol_document, grid_trigger_document};
use trading::{Command, Grid, GridId, GridRuleInput, Order, SubmitGrid, grid_symbol_info};

use super::books::to_failure;
use super::here::Here;
use super::questions::{GridChange, GridsQuestion};
use super::words::{GRID_NOT_FOUND, WHERE_GRIDS_ARE};
use crate::failure::Failure;

impl Here {
    pub(super) fn submit_grid(&mut self, request: &SubmitGrid) -> Result<Value, Failure> {
        let command = Command::SubmitGrid(Box::new(request.clone()));
        let done = self.books.order(&self.account, &command, None)?;
        let id = done.grid.ok_or_else(|| anyhow!("the grid was taken, but its id is not known"))?;
        Ok(json!({"order_id": id}))
    }

    pub(super) fn preview_grid(&mut self, request: &SubmitGrid) -> Result<Value, Failure> {
        Ok(serde_json::to_value(self.books.preview_grid(&self.account, request)?)?)
    }

    pub(super) fn replace_grid(&mut self, id: GridId, rule: &GridRuleInput) -> Result<(), Failure> {
        self.give(id, &Command::ReplaceGrid { id, rule: Box::new(rule.clone()) })
    }

    pub(super) fn change_grid(&mut self, id: GridId, change: GridChange) -> Result<(), Failure> {
        let command = match change {
            GridChange::Cancel => Command::CancelGrid { id },
            GridChange::Suspend => Command::SuspendGrid { id },
            GridChange::Restart => Command::RestartGrid { id },
        };
        self.give(id, &command)
    }

    fn give(&mut self, id: GridId, command: &Command) -> Result<(), Failure> {
        match self.books.order(&self.account, command, None) {
            Err(failure) if failure.to_string() == GRID_NOT_FOUND => Err(self.no_grid(id)),
            done => done.map(drop),
        }
    }

    pub(super) fn grid(&mut self, id: GridId) -> Result<Value, Failure> {
        let names = self.books.names()?;
        let document = self.books.look(&self.account, |seen| {
            let account = seen.reading.account;
            let document = |grid: &Grid| grid_detail_document(grid, account, &names(&grid.symbol));
            account.grid(id).map(document)
        })?;
        document.ok_or_else(|| self.no_grid(id))
    }

    pub(super) fn grid_explanation(&mut self, id: GridId) -> Result<Value, Failure> {
        let explanation = self.books.look(&self.account, |seen| paper::grid_explanation(seen.entries, id))?;
        Ok(serde_json::to_value(explanation.ok_or_else(|| self.no_grid(id))?)?)
    }

    /// Newest first.
    pub(super) fn grids(&mut self, question: &GridsQuestion) -> Result<Value, Failure> {
        let GridsQuestion { symbol, statuses } = question;
        let is_wanted = |grid: &&Grid| {
            symbol.as_ref().is_none_or(|symbol| grid.symbol == *symbol)
                && (statuses.is_empty() || statuses.contains(&grid.status))
        };
        let names = self.books.names()?;
        let document = |grid: &Grid| grid_document(grid, &names(&grid.symbol));
        let grids: Vec<Value> = self.books.look(&self.account, |seen| {
            seen.reading.account.grids().iter().rev().filter(is_wanted).map(document).collect()
        })?;
        Ok(json!({"grid_order": grids, "has_more": false}))
    }

    /// Newest first.
    pub(super) fn grid_triggers(&mut self, id: Option<GridId>) -> Result<Value, Failure> {
        let names = self.books.names()?;
        let triggers: Option<Vec<Value>> = self.books.look(&self.account, |seen| {
            let (account, view) = (seen.reading.account, &seen.reading.view);
            if let Some(id) = id {
                account.grid(id)?;
            }
            let is_wanted =
                |order: &&Order| order.grid.is_some_and(|origin| id.is_none_or(|id| origin.grid == id));
            let document = |order: &Order| {
                grid_trigger_document(order, view.mark(order.symbol()), &names(order.symbol()))
            };
            Some(account.orders().iter().rev().filter(is_wanted).map(document).collect())
        })?;
        let triggers = match (triggers, id) {
            (None, Some(id)) => return Err(self.no_grid(id)),
            (triggers, _) => triggers.unwrap_or_default(),
        };
        Ok(json!({"trigger_orders": triggers, "has_more": false}))
    }

    pub(super) fn grid_symbol(&mut self, symbol: &Symbol) -> Result<Value, Failure> {
        let info = self
            .books
            .look(&self.account, |seen| grid_symbol_info(seen.reading.account, &seen.reading.view, symbol))?;
        let info = info.map_err(|refusal| to_failure(refusal.into()))?;
        let names = self.books.names()?;
        Ok(grid_symbol_document(&info, &names(symbol)))
    }

    pub(super) fn agree_to_strategy(&mut self) -> Result<(), Failure> {
        self.books.order(&self.account, &Command::AgreeToStrategy, None).map(drop)
    }

    fn no_grid(&self, id: GridId) -> Failure {
        anyhow!("account {:?} has no grid {id}: {WHERE_GRIDS_ARE}", self.account.name).into()
    }
}
