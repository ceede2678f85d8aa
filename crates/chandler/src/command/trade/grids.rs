//! Requests about a paper account's grids.

use std::collections::HashSet;

use anyhow::anyhow;
use market::Symbol;
use serde_json::{Value, json};
use trading::{GridId, GridRuleInput, SubmitGrid, plain_price};

use super::questions::{Fields, PAGES_MAX, unseen};
use super::questions::{GridChange, GridsQuestion};
use crate::client::Client;
use crate::failure::Failure;
use crate::remote::field;
use crate::remote::session::ApiError;

/// Number of rows per page, which is the server's maximum.
const ROWS: usize = paper::GRID_PAGE_MAX;
/// The API's error message for an unknown grid.
const NOT_FOUND: &str = "grid order not found";

impl Client {
    /// Submits a grid and returns its ID.
    pub(crate) fn submit_grid(&self, request: &SubmitGrid) -> Result<Value, Failure> {
        let answer = self.post("/v1/gridtrading/submit", submitted(request));
        answer.map_err(|error| self.refused(error))
    }

    /// Returns whether a grid would be accepted, and at which levels it would trade.
    pub(crate) fn preview_grid(&self, request: &SubmitGrid) -> Result<Value, Failure> {
        let answer = self.preview_of("/v1/gridtrading/preview", submitted(request));
        answer.map_err(|error| self.refused(error))
    }

    pub(crate) fn replace_grid(&self, id: GridId, rule: &GridRuleInput) -> Result<(), Failure> {
        let body = json!({"order_id": id, "grid_trading_rule": rule_body(rule)});
        let answer = self.post("/v1/gridtrading/replace", body);
        answer.map(drop).map_err(|error| self.about_grid(id, error))
    }

    pub(crate) fn change_grid(&self, id: GridId, change: GridChange) -> Result<(), Failure> {
        let path = match change {
            GridChange::Cancel => "/v1/gridtrading/cancel",
            GridChange::Suspend => "/v1/gridtrading/suspend",
            GridChange::Restart => "/v1/gridtrading/restart",
        };
        let answer = self.post(path, json!({"order_id": id}));
        answer.map(drop).map_err(|error| self.about_grid(id, error))
    }

    /// Returns a grid with its orders and history, up to the server's limit per request. The
    /// response indicates whether there are more rows.
    pub(crate) fn grid(&self, id: GridId) -> Result<Value, Failure> {
        let answer = self.get(&format!("/v1/gridtrading/detail?order_id={id}&limit={ROWS}"), &[]);
        answer.map_err(|error| self.about_grid(id, error))
    }

    /// Returns the explanation of a grid's triggers and state.
    pub(crate) fn grid_explanation(&self, id: GridId) -> Result<Value, Failure> {
        let answer = self.get("/v1/gridtrading/why", &[("order_id", id.to_string())]);
        answer.map_err(|error| self.about_grid(id, error))
    }

    pub(crate) fn grids(&self, question: &GridsQuestion) -> Result<Value, Failure> {
        let GridsQuestion { symbol, statuses } = question;
        let mut parameters: Vec<(&str, String)> = Vec::new();
        parameters.extend(symbol.iter().map(|symbol| ("symbol", symbol.to_string())));
        if !statuses.is_empty() {
            let words: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
            parameters.push(("status", words.join(",")));
        }
        self.pages("/v1/gridtrading/list", &parameters, "grid_order", "order_id")
    }

    /// Returns the triggers of the given grid, or of all grids if `id` is `None`.
    pub(crate) fn grid_triggers(&self, id: Option<GridId>) -> Result<Value, Failure> {
        let path = "/v1/gridtrading/trigger_history_list";
        let Some(id) = id else { return self.pages(path, &[], "trigger_orders", "id") };
        let found = self.pages(path, &[("grid_order_id", id.to_string())], "trigger_orders", "id");
        found.map_err(
            |failure| {
                if failure.to_string().contains(NOT_FOUND) { self.no_grid(id) } else { failure }
            },
        )
    }

    /// Returns the inputs for a grid on a security: price, lot size and price steps.
    pub(crate) fn grid_symbol(&self, symbol: &Symbol) -> Result<Value, Failure> {
        self.read("/v1/orders/info", &[("symbol", symbol.to_string())])
    }

    /// Accepts the risk questionnaire for strategies.
    pub(crate) fn agree_to_strategy(&self) -> Result<(), Failure> {
        let body = json!({"type": "strategy", "items": {"agree": "true"}});
        let answer = self.post("/v1/record/questionnaire", body);
        answer.map(drop).map_err(|error| self.to_failure(error))
    }

    /// Reads all pages of a list, up to [`PAGES_MAX`], and returns the distinct rows.
    fn pages(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        list: &str,
        row_id: &str,
    ) -> Result<Value, Failure> {
        let mut rows: Vec<Value> = Vec::new();
        let (mut seen, mut has_more) = (HashSet::new(), true);
        for page in 1..=PAGES_MAX {
            let paging = [("page", page.to_string()), ("limit", ROWS.to_string())];
            let answer = self.read(path, &[parameters, paging.as_slice()].concat())?;
            let news = unseen(&answer, list, row_id, &mut seen);
            has_more = field(&answer, "has_more").as_bool() == Some(true);
            // A page without new rows is the last page.
            let is_last = news.is_empty() || !has_more;
            rows.extend(news);
            if is_last {
                break;
            }
        }
        Ok(json!({list: rows, "has_more": has_more}))
    }

    /// Converts an error about a grid into a message for the user, with a hint if the grid does not
    /// exist.
    fn about_grid(&self, id: GridId, error: ApiError) -> Failure {
        match &error {
            ApiError::Refused { message, .. } if message == NOT_FOUND => self.no_grid(id),
            _ => self.refused(error),
        }
    }

    fn no_grid(&self, id: GridId) -> Failure {
        anyhow!("{} has no grid {id}: `chandler grid list` shows them", self.whose()).into()
    }
}

/// Returns the request body for a new grid.
fn submitted(request: &SubmitGrid) -> Value {
    let SubmitGrid { symbol, settlement_currency, rule } = request;
    let mut body = Fields::default();
    body.text("symbol", Some(symbol));
    body.text("settlement_currency", *settlement_currency);
    body.0.insert("grid_trading_rule".to_owned(), rule_body(rule));
    Value::Object(body.0)
}

fn rule_body(rule: &GridRuleInput) -> Value {
    let mut body = Fields::default();
    for (name, price) in [
        ("submitted_base_price", rule.submitted_base_price),
        ("upper_limit_price", rule.upper_limit_price),
        ("lower_limit_price", rule.lower_limit_price),
        ("trigger_spread_up", rule.trigger_spread_up),
        ("trigger_spread_down", rule.trigger_spread_down),
    ] {
        body.text(name, price.map(plain_price));
    }
    body.text("trigger_percent_up", rule.trigger_percent_up);
    body.text("trigger_percent_down", rule.trigger_percent_down);
    body.text("trigger_quantity", rule.trigger_quantity);
    body.text("upper_limit_quantity", rule.upper_limit_quantity);
    body.text("lower_limit_quantity", rule.lower_limit_quantity);
    body.text("grid_order_type_up", rule.grid_order_type_up.as_ref());
    body.text("grid_order_type_down", rule.grid_order_type_down.as_ref());
    for (name, number) in [
        ("trigger_price_type", rule.trigger_price_type),
        ("upper_limit_event", rule.upper_limit_event),
        ("lower_limit_event", rule.lower_limit_event),
        ("trigger_sell_depth", rule.trigger_sell_depth),
        ("trigger_buy_depth", rule.trigger_buy_depth),
        ("rth", rule.rth),
        ("time_in_force", rule.time_in_force),
        ("expire_time", rule.expire_time),
    ] {
        body.number(name, number);
    }
    for (name, is_on) in
        [("multiple_trigger", rule.multiple_trigger), ("support_shortsell", rule.support_shortsell)]
    {
        body.0.extend(is_on.map(|is_on| (name.to_owned(), Value::Bool(is_on))));
    }
    Value::Object(body.0)
}

#[cfg(test)]
mod tests {
    use trading::{Quantity, parse_price};

    use super::*;

    #[test]
    fn a_body_has_only_the_given_fields() {
        let rule = GridRuleInput {
            submitted_base_price: Some(parse_price("300").unwrap()),
            trigger_price_type: Some(1),
            trigger_spread_up: Some(parse_price("0.4").unwrap()),
            trigger_quantity: Some(Quantity::whole(100)),
            multiple_trigger: Some(true),
            time_in_force: Some(0),
            ..GridRuleInput::default()
        };
        let requested = SubmitGrid { symbol: "700.HK".parse().unwrap(), settlement_currency: None, rule };
        let body = json!({"symbol": "700.HK", "grid_trading_rule": {
            "submitted_base_price": "300", "trigger_price_type": 1, "trigger_spread_up": "0.4", "trigger_quantity": "100",
            "multiple_trigger": true, "time_in_force": 0,
        }});
        assert_eq!(submitted(&requested), body);
    }
}
