//! Price alerts: `/v1/notify/reminders` in the JSON format of the SDKs, and `GET /v1/alerts` with
//! the firings, which the SDKs do not know. An alert belongs to the account whose clock it follows:
//! in a world, to the account of the world.

mod change;
mod list;

use access::{AccountId, Scope};
use feed::Condition;
use history::HistoryError;
use market::Price;

use crate::kit::{Accepts, Admitted, Problem, Row, RowPace};
use crate::metrics::Task;
use crate::refusal::Refusal;

const REMINDERS: &str = "/v1/notify/reminders";
/// Maximum number of alerts of an account.
const ALERTS_MAX: u32 = 100;

pub(super) const ROUTES: &[Row] = &[
    limited(Row::get(REMINDERS, Accepts::Account, Scope::Quote, Task::Data, list::reminders))
        .doc(&list::REMINDERS),
    limited(Row::post(REMINDERS, Accepts::Account, Scope::Quote, Task::Data, change::add_or_update))
        .doc(&change::PUT),
    limited(Row::delete(REMINDERS, Accepts::Account, Scope::Quote, Task::Data, change::delete))
        .doc(&change::DELETE),
    limited(Row::get("/v1/alerts", Accepts::Account, Scope::Quote, Task::Data, list::alerts))
        .doc(&list::ALERTS),
];

/// A client may add an alert again within the second in which it has removed it.
const fn limited(row: Row) -> Row {
    row.own_region_only().paced(RowPace::Lists).orders()
}

/// Returns the number of a condition in the SDKs.
fn indicator_id(condition: Condition) -> &'static str {
    match condition {
        Condition::PriceRise => "1",
        Condition::PriceFall => "2",
        Condition::PercentRise => "3",
        Condition::PercentFall => "4",
    }
}

/// Returns a value without trailing zeros.
fn value_text(value: Price) -> String {
    let text = value.text(market::DECIMALS_MAX).to_string();
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the account whose alerts are changed, or an error if the account is read-only.
fn may_change(admitted: &Admitted) -> Result<AccountId, Problem> {
    let account = admitted.account();
    if account.terms.read_only { Err(Problem::read_only()) } else { Ok(account.id) }
}

fn wrong(text: impl Into<String>) -> Problem {
    let text = text.into();
    Problem::from(Refusal::BadQuery(text.clone())).detailed(text)
}

fn of_history(error: HistoryError) -> Problem {
    Refusal::from(error).into()
}

fn of_store(error: store::StoreError) -> Problem {
    Problem::from_access(error.into())
}
