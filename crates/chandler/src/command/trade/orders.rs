//! Requests about a paper account's orders, executions, cash and statements.

use std::collections::{HashMap, HashSet};

use anyhow::anyhow;
use market::Date;
use serde_json::{Value, json};
use trading::{Attached, Changes, Currency, OrderId, Terms, plain_price};

use super::questions::{
    Between, CashQuestion, Fields, OrdersQuestion, PAGES_MAX, StatementsQuestion, TradesQuestion, digits,
    unseen,
};
use super::shown::rows;
use crate::client::Client;
use crate::failure::Failure;
use crate::field_flags::in_flags;
use crate::output::printable;
use crate::remote::field;
use crate::remote::session::ApiError;

const ORDER: &str = "/v1/trade/order";
const PREVIEW: &str = "/v1/trade/order/preview";
/// Number of rows per page of the cash flow.
const CASH_ROWS: usize = 1_000;
/// Time range, in Unix seconds, for requests that need one: 1970 to 2100. Without a range a server
/// searches only 90 days, and a start of 0 is treated as absent.
const ALWAYS: (i64, i64) = (1, 4_102_444_800);
/// The API's error message for an unknown order.
const NOT_FOUND: &str = "order not found";

impl Client {
    /// Submits an order. Returns the order's ID and, if it can be read, the order's state.
    pub(crate) fn submit(&self, terms: &Terms) -> Result<Value, Failure> {
        let answer = self.post(ORDER, submitted(terms)).map_err(|error| self.refused_order(error, terms))?;
        let id = field(&answer, "order_id").clone();
        // The state is optional, because the order has been accepted even if this request fails.
        let known = id.as_str().and_then(|id| self.get(ORDER, &[("order_id", id.to_owned())]).ok());
        let of = |name: &str| known.as_ref().map(|order| field(order, name).clone());
        let mut submitted = match (of("status"), of("msg")) {
            (Some(status), Some(msg)) => json!({"order_id": id, "status": status, "msg": msg}),
            _ => json!({"order_id": id}),
        };
        if let (Value::Object(fields), Value::Bool(true)) = (&mut submitted, field(&answer, "repeated")) {
            fields.insert("repeated".to_owned(), true.into());
        }
        Ok(submitted)
    }

    /// Returns the expected result and cost of an order.
    pub(crate) fn preview(&self, terms: &Terms) -> Result<Value, Failure> {
        self.preview_of(PREVIEW, submitted(terms)).map_err(|error| self.to_failure(error))
    }

    /// Converts a server's rejection of an order into a message for the user. The message includes
    /// the failed check with its numbers, which a preview of the same order returns.
    fn refused_order(&self, error: ApiError, terms: &Terms) -> Failure {
        let (Client::Remote(session), ApiError::Refused { status: 400, message, .. }) = (self, &error) else {
            return self.to_failure(error);
        };
        let preview = self.preview_of(PREVIEW, submitted(terms)).unwrap_or_default();
        let reason = field(&preview, "reason");
        match (field(reason, "text").as_str(), field(reason, "words").as_str()) {
            (Some(text), Some(words)) if text == message => {
                anyhow!("{}: {}", session.url.as_str(), in_flags(&printable(words))).into()
            }
            _ => self.to_failure(error),
        }
    }

    /// Converts an error about an order into a message for the user, with a hint if the order does
    /// not exist.
    fn about(&self, id: OrderId, error: ApiError) -> Failure {
        match &error {
            ApiError::Refused { message, .. } if message == NOT_FOUND => anyhow!(
                "{} has no order {id}: `chandler order list` shows today's, `--history` those of earlier days",
                self.whose()
            )
            .into(),
            _ => self.to_failure(error),
        }
    }

    pub(crate) fn replace(&self, id: OrderId, changes: &Changes) -> Result<(), Failure> {
        self.put(ORDER, replaced(id, changes)).map(drop).map_err(|error| self.about(id, error))
    }

    pub(crate) fn cancel(&self, id: OrderId) -> Result<(), Failure> {
        let answer = self.delete(&format!("{ORDER}?order_id={id}"));
        answer.map(drop).map_err(|error| self.about(id, error))
    }

    pub(crate) fn order(&self, id: OrderId) -> Result<Value, Failure> {
        self.get(ORDER, &[("order_id", id.to_string())]).map_err(|error| self.about(id, error))
    }

    /// Returns the explanation of an order.
    pub(crate) fn explanation(&self, id: OrderId) -> Result<Value, Failure> {
        let answer = self.get("/v1/trade/order/why", &[("order_id", id.to_string())]);
        answer.map_err(|error| self.about(id, error))
    }

    pub(crate) fn orders(&self, question: &OrdersQuestion) -> Result<Value, Failure> {
        let OrdersQuestion { symbol, statuses, side, history } = question;
        let mut parameters: Vec<(&str, String)> = Vec::new();
        parameters.extend(symbol.iter().map(|symbol| ("symbol", symbol.to_string())));
        parameters.extend(statuses.iter().map(|status| ("status", status.to_string())));
        parameters.extend(side.iter().map(|side| ("side", side.to_string())));
        let Some(between) = history else { return self.read("/v1/trade/order/today", &parameters) };
        let (start, mut end) = ends(*between);
        let mut orders: Vec<Value> = Vec::new();
        let (mut seen, mut has_more) = (HashSet::new(), true);
        for _ in 0..PAGES_MAX {
            let range = [("start_at", start.to_string()), ("end_at", end.to_string())];
            let answer =
                self.read("/v1/trade/order/history", &[parameters.as_slice(), range.as_slice()].concat())?;
            has_more = field(&answer, "has_more").as_bool() == Some(true);
            let news = unseen(&answer, "orders", "order_id", &mut seen);
            // Orders are listed newest first, so the next request ends at the oldest order's
            // submission time.
            let oldest: Option<i64> =
                news.last().and_then(|order| field(order, "submitted_at").as_str()?.parse().ok());
            orders.extend(news);
            match oldest {
                Some(at) if has_more => end = at,
                _ => break,
            }
        }
        Ok(json!({"has_more": has_more, "orders": orders}))
    }

    pub(crate) fn trades(&self, question: &TradesQuestion) -> Result<Value, Failure> {
        let TradesQuestion { symbol, order, history } = question;
        let mut parameters: Vec<(&str, String)> = Vec::new();
        parameters.extend(symbol.iter().map(|symbol| ("symbol", symbol.to_string())));
        parameters.extend(order.iter().map(|id| ("order_id", id.to_string())));
        let Some(between) = history else { return self.read("/v1/trade/execution/today", &parameters) };
        let (start, end) = ends(*between);
        parameters.extend([("start_at", start.to_string()), ("end_at", end.to_string())]);
        let mut trades: Vec<Value> = Vec::new();
        let mut seen = HashSet::new();
        for page in 1..=PAGES_MAX {
            let paged = [parameters.as_slice(), &[("page", page.to_string())]].concat();
            let answer = self.read("/v1/trade/execution/history", &paged)?;
            let news = unseen(&answer, "trades", "trade_id", &mut seen);
            // A page without new rows is the last page.
            let is_last = news.is_empty() || field(&answer, "has_more").as_bool() != Some(true);
            trades.extend(news);
            if is_last {
                break;
            }
        }
        Ok(json!({"has_more": false, "trades": trades}))
    }

    pub(crate) fn cash_flow(&self, question: &CashQuestion) -> Result<Value, Failure> {
        let CashQuestion { symbol, between } = question;
        let (start, end) = ends(*between);
        let mut list: Vec<Value> = Vec::new();
        for page in 1..=PAGES_MAX {
            let mut parameters = vec![
                ("start_time", start.to_string()),
                ("end_time", end.to_string()),
                ("page", page.to_string()),
                ("size", CASH_ROWS.to_string()),
            ];
            parameters.extend(symbol.iter().map(|symbol| ("symbol", symbol.to_string())));
            let answer = self.read("/v1/asset/cashflow", &parameters)?;
            let rows = rows(&answer, "list");
            list.extend_from_slice(rows);
            if rows.len() < CASH_ROWS {
                break;
            }
        }
        Ok(json!({"list": list}))
    }

    /// Returns the positions with current prices. The response of the API's position list has no
    /// prices.
    pub(crate) fn positions(&self, symbols: &[market::Symbol]) -> Result<Value, Failure> {
        let parameters: Vec<(&str, String)> =
            symbols.iter().map(|symbol| ("symbol", symbol.to_string())).collect();
        let mut document = self.read("/v1/asset/stock", &parameters)?;
        let portfolio = self.read("/v1/asset/portfolio", &[])?;
        let priced: HashMap<&str, &Value> = rows(&portfolio, "positions")
            .iter()
            .filter_map(|row| Some((field(row, "symbol").as_str()?, row)))
            .collect();
        let held = document.pointer_mut("/list/0/stock_info").and_then(Value::as_array_mut);
        for row in held.into_iter().flatten() {
            let known = row.get("symbol").and_then(Value::as_str).and_then(|symbol| priced.get(symbol));
            if let (Some(known), Some(fields)) = (known, row.as_object_mut()) {
                for (name, theirs) in
                    [("last_price", "price"), ("market_value", "market_value"), ("unrealised", "unrealised")]
                {
                    let text = field(known, theirs).as_str().unwrap_or_default();
                    fields.insert(name.to_owned(), text.into());
                }
            }
        }
        Ok(document)
    }

    pub(crate) fn assets(&self, currency: Option<Currency>) -> Result<Value, Failure> {
        let parameters: Vec<(&str, String)> =
            currency.iter().map(|currency| ("currency", currency.to_string())).collect();
        self.read("/v1/asset/account", &parameters)
    }
}

/// Returns both bounds in Unix seconds. An open bound is replaced, because with a single bound a
/// server searches only 90 days.
fn ends(between: Between) -> (i64, i64) {
    (between.start.map_or(ALWAYS.0, |at| at.0), between.end.map_or(ALWAYS.1, |at| at.0))
}

/// Returns the request body for a new order.
fn submitted(terms: &Terms) -> Value {
    let mut body = Fields::default();
    body.text("symbol", Some(&terms.symbol));
    body.text("side", Some(terms.side));
    body.text("order_type", Some(terms.order_type));
    body.text("submitted_quantity", Some(terms.quantity));
    body.text("time_in_force", Some(terms.time_in_force));
    body.text("submitted_price", terms.price.map(plain_price));
    body.text("trigger_price", terms.trigger_price.map(plain_price));
    body.text("limit_offset", terms.limit_offset.map(plain_price));
    body.text("trailing_amount", terms.trailing_amount.map(plain_price));
    body.text("trailing_percent", terms.trailing_percent);
    body.text("expire_date", terms.expire_date);
    body.text("outside_rth", terms.outside_rth);
    body.text("monitor_price", terms.monitor_price.map(plain_price));
    body.text("remark", Some(&terms.remark).filter(|remark| !remark.is_empty()));
    body.text("client_request_id", terms.client_request_id.as_ref());
    body.number("limit_depth_level", Some(i64::from(terms.depth_level)).filter(|level| *level != 0));
    body.number("trigger_count", Some(i64::from(terms.trigger_count)).filter(|count| *count != 0));
    body.number("delayed_until", terms.delayed_until.map(|at| at.0));
    if let Some(attached) = &terms.attached {
        body.0.insert("attached_params".to_owned(), Value::Object(attached_params(attached).0));
    }
    Value::Object(body.0)
}

fn attached_params(attached: &Attached) -> Fields {
    let mut body = Fields::default();
    body.text("attached_order_type", Some(attached.kind));
    body.text("profit_taker_price", attached.profit_taker_price.map(plain_price));
    body.text("stop_loss_price", attached.stop_loss_price.map(plain_price));
    body.text("profit_taker_submit_price", attached.profit_taker_submit_price.map(plain_price));
    body.text("stop_loss_submit_price", attached.stop_loss_submit_price.map(plain_price));
    body.text("activate_order_type", attached.order_type);
    body.text("time_in_force", attached.time_in_force);
    body.text("activate_rth", attached.outside_rth);
    body.number("expire_time", attached.expire_time.map(|at| at.0));
    body
}

/// Returns the request body for a replacement.
fn replaced(id: OrderId, changes: &Changes) -> Value {
    let mut body = Fields::default();
    body.text("order_id", Some(id));
    body.text("quantity", Some(changes.quantity));
    body.text("price", changes.price.map(plain_price));
    body.text("trigger_price", changes.trigger_price.map(plain_price));
    body.text("limit_offset", changes.limit_offset.map(plain_price));
    body.text("trailing_amount", changes.trailing_amount.map(plain_price));
    body.text("trailing_percent", changes.trailing_percent);
    body.text("monitor_price", changes.monitor_price.map(plain_price));
    body.text("remark", changes.remark.as_ref());
    body.number("limit_depth_level", changes.depth_level.map(i64::from));
    body.number("trigger_count", changes.trigger_count.map(i64::from));
    if let Some(attached) = &changes.attached {
        let mut fields = attached_params(&attached.attached);
        fields.text("profit_taker_id", attached.profit_taker_id);
        fields.text("stop_loss_id", attached.stop_loss_id);
        fields.text("main_id", attached.main_id);
        fields.text("quantity", attached.quantity);
        if attached.cancel_all {
            fields.0.insert("cancel_all_attached".to_owned(), true.into());
        }
        body.0.insert("attached_params".to_owned(), Value::Object(fields.0));
    }
    Value::Object(body.0)
}

impl Client {
    pub(crate) fn statements(&self, question: &StatementsQuestion) -> Result<Value, Failure> {
        let limit = ("limit", question.limit.to_string());
        self.read("/v1/statement/list", &[statement_parameters(question), vec![limit]].concat())
    }

    /// Returns the content of the statement for `date`, or of the newest statement if `date` is
    /// `None`. `None` if there is no such statement.
    pub(crate) fn statement(
        &self,
        question: &StatementsQuestion,
        date: Option<Date>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let Some(key) = self.statement_key(question, date)? else { return Ok(None) };
        self.statement_file(key).map(Some)
    }

    /// Returns the key of a statement. Searches page by page, because many newer statements may be
    /// listed first.
    fn statement_key(
        &self,
        question: &StatementsQuestion,
        date: Option<Date>,
    ) -> Result<Option<String>, Failure> {
        for page in 1..=PAGES_MAX {
            let paging = vec![("page", page.to_string()), ("page_size", question.limit.to_string())];
            let list = self.read("/v1/statement/list", &[statement_parameters(question), paging].concat())?;
            let listed = rows(&list, "list");
            let is_it = |row: &&Value| date.is_none_or(|date| field(row, "dt") == &json!(digits(date)));
            if let Some(key) = listed.iter().find(is_it).and_then(|row| field(row, "file_key").as_str()) {
                return Ok(Some(key.to_owned()));
            }
            if date.is_none() || u32::try_from(listed.len()).is_ok_and(|count| count < question.limit) {
                break;
            }
        }
        Ok(None)
    }
}

fn statement_parameters(question: &StatementsQuestion) -> Vec<(&'static str, String)> {
    let kind = ("statement_type", question.kind.number().to_string());
    let from = question.from.map(|from| ("start_date", digits(from).to_string()));
    std::iter::once(kind).chain(from).collect()
}

#[cfg(test)]
mod tests {
    use market::Price;
    use trading::{AttachedType, OrderType, Quantity, Side};

    use super::*;

    #[test]
    fn a_body_has_only_the_given_fields() {
        let symbol = "700.HK".parse().unwrap();
        let mut terms = Terms::new(symbol, Side::Buy, OrderType::Limit, Quantity::whole(200));
        terms.price = Some(Price(306 * market::PRICE_UNIT));
        let plain = json!({
            "symbol": "700.HK", "side": "Buy", "order_type": "LO", "submitted_quantity": "200", "time_in_force": "Day",
            "submitted_price": "306",
        });
        assert_eq!(submitted(&terms), plain);
        terms.remark = "lamp".to_owned();
        terms.depth_level = -1;
        let body = submitted(&terms);
        assert_eq!((&body["remark"], &body["limit_depth_level"]), (&json!("lamp"), &json!(-1)));
        let attached = Attached {
            stop_loss_price: Some(Price(300 * market::PRICE_UNIT)),
            ..Attached::new(AttachedType::StopLoss)
        };
        terms.attached = Some(Box::new(attached.clone()));
        let params = json!({"attached_order_type": "STOP_LOSS", "stop_loss_price": "300"});
        assert_eq!(submitted(&terms)["attached_params"], params);
        let changes = Changes { quantity: Quantity::whole(300), ..Changes::default() };
        assert_eq!(
            replaced(OrderId::of(7, 1), &changes),
            json!({"order_id": "7000000001", "quantity": "300"})
        );
    }
}
