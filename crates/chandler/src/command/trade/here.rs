//! A paper account of the local store, answered with the documents that a server would send.

use access::Account;
use anyhow::anyhow;
use market::{Date, Price, Symbol};
use paper::{Seen, StatementId, StatementList};
use serde_json::{Value, json};
use server::{
    cash_flow_document, execution_document, funds_document, order_detail_document, order_document,
    positions_document,
};
use trading::ledger::{CashFlow, cash_flows};
use trading::{
    Changes, Command, CostMethod, Currency, Fill, Order, OrderId, Position, Terms, exact_price, is_today,
};

use super::books::{Books, to_failure};
use super::questions::{CashQuestion, OrdersQuestion, StatementsQuestion, TradesQuestion, digits};
use super::words::{NOT_FOUND, WHERE_ORDERS_ARE};
use crate::context::CommandContext;
use crate::failure::Failure;

pub(crate) struct Here {
    pub(super) books: Books,
    pub(super) account: Account,
}

impl Here {
    pub(super) fn open(context: &CommandContext, name: Option<&str>) -> Result<Here, Failure> {
        let books = Books::open(context)?;
        let account = books.account(name)?;
        Ok(Here { books, account })
    }

    pub(super) fn submit(&mut self, terms: &Terms) -> Result<Value, Failure> {
        let command = Command::submit(terms.clone());
        let done = self.books.order(&self.account, &command, terms.client_request_id.as_deref())?;
        let id = done.order.ok_or_else(|| anyhow!("the order was taken, but its id is not known"))?;
        let order = self.found(id)?;
        let mut answer = json!({"order_id": id, "status": order.status(), "msg": order.msg});
        if let Some(fields) = answer.as_object_mut().filter(|_| done.is_repeated) {
            fields.insert("repeated".to_owned(), true.into());
        }
        Ok(answer)
    }

    pub(super) fn preview(&mut self, terms: &Terms) -> Result<Value, Failure> {
        Ok(serde_json::to_value(self.books.preview(&self.account, terms)?)?)
    }

    pub(super) fn replace(&mut self, id: OrderId, changes: &Changes) -> Result<(), Failure> {
        let command = Command::Replace { id, changes: Box::new(changes.clone()) };
        self.books.order(&self.account, &command, None).map(drop)
    }

    pub(super) fn cancel(&mut self, id: OrderId) -> Result<(), Failure> {
        match self.books.order(&self.account, &Command::Cancel { id }, None) {
            Err(failure) if failure.to_string() == NOT_FOUND => Err(self.no_order(id)),
            done => done.map(drop),
        }
    }

    pub(super) fn order(&mut self, id: OrderId) -> Result<Value, Failure> {
        let order = self.found(id)?;
        let name = self.books.names()?(order.symbol());
        Ok(order_detail_document(&order, &name, self.books.paper.tables()))
    }

    pub(super) fn explanation(&mut self, id: OrderId) -> Result<Value, Failure> {
        let explanation = self.books.look(&self.account, |seen| paper::explained(seen, id))?;
        Ok(serde_json::to_value(explanation.ok_or_else(|| self.no_order(id))?)?)
    }

    /// Newest first.
    pub(super) fn orders(&mut self, question: &OrdersQuestion) -> Result<Value, Failure> {
        let OrdersQuestion { symbol, statuses, side, history } = question;
        let is_wanted = |order: &&Order| {
            symbol.as_ref().is_none_or(|symbol| order.symbol() == symbol)
                && (statuses.is_empty() || statuses.contains(&order.status()))
                && side.is_none_or(|side| order.terms.side == side)
                && history.is_none_or(|between| between.holds(order.submitted_at))
        };
        let names = self.books.names()?;
        let document = |order: &Order| order_document(order, &names(order.symbol()));
        let orders: Vec<Value> = self.books.look(&self.account, |seen| {
            let view = &seen.reading.view;
            let of_day = |order: &&Order| is_today(order, view) == history.is_none();
            seen.reading
                .account
                .orders()
                .iter()
                .rev()
                .filter(of_day)
                .filter(is_wanted)
                .map(document)
                .collect()
        })?;
        Ok(match history {
            Some(_) => json!({"has_more": false, "orders": orders}),
            None => json!({"orders": orders}),
        })
    }

    /// Newest first.
    pub(super) fn trades(&mut self, question: &TradesQuestion) -> Result<Value, Failure> {
        let TradesQuestion { symbol, order: wanted, history } = question;
        let is_wanted = |order: &&Order| {
            symbol.as_ref().is_none_or(|symbol| order.symbol() == symbol)
                && wanted.is_none_or(|id| order.id == id)
        };
        let trades: Vec<Value> = self.books.look(&self.account, |seen| {
            let dates = seen.reading.view.dates;
            let mut fills: Vec<(&Order, &Fill)> = Vec::new();
            for order in seen.reading.account.orders().iter().filter(is_wanted) {
                let today = dates.of(order.market());
                let is_in = |fill: &&Fill| match history {
                    None => fill.day >= today,
                    Some(between) => fill.day < today && between.holds(fill.at),
                };
                fills.extend(order.fills.iter().filter(is_in).map(|fill| (order, fill)));
            }
            fills.sort_by_key(|(order, fill)| std::cmp::Reverse((fill.at, order.id, fill.number)));
            fills.into_iter().map(|(order, fill)| execution_document(order, fill)).collect()
        })?;
        Ok(match history {
            Some(_) => json!({"has_more": false, "trades": trades}),
            None => json!({"trades": trades}),
        })
    }

    /// Newest first.
    pub(super) fn cash_flow(&mut self, question: &CashQuestion) -> Result<Value, Failure> {
        let CashQuestion { symbol, between } = question;
        let rows: Vec<Value> = self.books.look(&self.account, |seen| {
            let Seen { reading, entries } = seen;
            // Entries before the first request are dated with it; an account that was only prepared
            // begins now.
            let began = reading.account.began().unwrap_or(reading.view.at);
            let flows = entries.iter().flat_map(cash_flows);
            let dated = flows.map(|flow| CashFlow { at: flow.at.or(Some(began)), ..flow });
            let wanted = dated.filter(|flow| {
                flow.at.is_some_and(|at| between.holds(at))
                    && symbol.as_ref().is_none_or(|symbol| flow.symbol.as_ref() == Some(symbol))
            });
            let mut rows: Vec<Value> = wanted.map(|flow| cash_flow_document(&flow)).collect();
            rows.reverse();
            rows
        })?;
        Ok(json!({"list": rows}))
    }

    /// With fields that the interface's list lacks: the known price, and the value of the position
    /// at it.
    pub(super) fn positions(&mut self, symbols: &[Symbol]) -> Result<Value, Failure> {
        let names = self.books.names()?;
        self.books.look(&self.account, |seen| {
            let (account, view) = (seen.reading.account, &seen.reading.view);
            let mut document = positions_document(account, symbols, &names);
            let rows = document.pointer_mut("/list/0/stock_info").and_then(Value::as_array_mut);
            for row in rows.into_iter().flatten() {
                let symbol: Option<Symbol> =
                    row.get("symbol").and_then(Value::as_str).and_then(|text| text.parse().ok());
                let held = symbol.and_then(|symbol| Some((account.position(&symbol)?, view.mark(&symbol))));
                if let (Some((position, mark)), Some(fields)) = (held, row.as_object_mut()) {
                    fields.extend(valued(position, mark, account.settings().cost));
                }
            }
            document
        })
    }

    pub(super) fn assets(&mut self, currency: Option<Currency>) -> Result<Value, Failure> {
        let report = self.books.look(&self.account, |seen| {
            let (account, view) = (seen.reading.account, &seen.reading.view);
            trading::report(account, view, currency)
        })?;
        let report = report.map_err(|refusal| to_failure(refusal.into()))?;
        Ok(funds_document(&report))
    }

    pub(super) fn statements(&mut self, question: &StatementsQuestion) -> Result<Value, Failure> {
        let seen = self.books.statements(&self.account, &listed(question))?;
        let row = |of: &StatementId| {
            let dt = digits(of.date);
            let (kind, account) = (of.kind.number(), self.account.id.0);
            json!({"dt": dt, "file_key": format!("/statement_data/data/lb/{kind}/{dt:08}/{account}.json")})
        };
        Ok(json!({"list": seen.listed.iter().map(row).collect::<Vec<_>>()}))
    }

    /// The newest of a kind, or that of a date; `None` if it does not exist.
    pub(super) fn statement(
        &mut self,
        question: &StatementsQuestion,
        date: Option<Date>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        // There may be any number of newer ones than that of a date.
        let limit = if date.is_some() { u32::MAX } else { question.limit };
        let seen = self.books.statements(&self.account, &StatementList { limit, ..listed(question) })?;
        let of = seen.listed.iter().find(|of| date.is_none_or(|date| of.date == date)).copied();
        of.map_or(Ok(None), |of| self.books.statement(&self.account, of, &seen))
    }

    fn found(&mut self, id: OrderId) -> Result<Order, Failure> {
        let order = self.books.look(&self.account, |seen| seen.reading.account.order(id).cloned())?;
        order.ok_or_else(|| self.no_order(id))
    }

    fn no_order(&self, id: OrderId) -> Failure {
        anyhow!("account {:?} has no order {id}: {WHERE_ORDERS_ARE}", self.account.name).into()
    }
}

fn listed(question: &StatementsQuestion) -> StatementList {
    let StatementsQuestion { kind, from, limit } = *question;
    StatementList { kind, from: from.unwrap_or(Date::ZERO), skip: 0, limit }
}

/// The last price of a position and its value; null if the price is unknown.
fn valued(position: &Position, mark: Option<Price>, method: CostMethod) -> Vec<(String, Value)> {
    let price = mark.map(|mark| exact_price(mark, position.decimals).to_string());
    let gain = mark.map(|mark| position.unrealised(mark, method).text().to_string());
    let worth = position.value(mark, method).text().to_string();
    [
        ("last_price", price.unwrap_or_default()),
        ("market_value", worth),
        ("unrealised", gain.unwrap_or_default()),
    ]
    .map(|(name, text)| (name.to_owned(), Value::String(text)))
    .into()
}
