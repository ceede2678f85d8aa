//! Adds, changes and removes alerts: `POST` and `DELETE /v1/notify/reminders`.

use feed::{AlertRule, AlertState, Condition, Frequency};
use market::{Price, Symbol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{AlertId, AlertRow, NewAlert};

use super::{ALERTS_MAX, indicator_id, may_change, of_history, of_store, wrong};
use crate::alerts::{self, condition, condition_name, frequency, frequency_name};
use crate::command;
use crate::kit::allowance::may_see;
use crate::kit::doc::refusals::{BAD_REQUEST, LISTS_TOO_FAST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::envelope::{self, Empty};
use crate::kit::fields::echo;
use crate::kit::{Admitted, Answer, Call, Problem, Site};

pub(super) const PUT: Doc = Doc::new(Tag::Account, "putAlert", "Add a price alert, or change one")
    .about(
        "Without an id, an alert is added. With the id of an alert, the fields that are present replace those of \
         the alert, and it compares quotes from now on. An alert fires when its condition becomes true in \
         regular hours; a condition that is already true must become false first. An account may have at most \
         100 alerts.",
    )
    .body(&[Media::json::<PutBody>()])
    .answers(&[AnswerDoc::ok("The alert", &[data::<Put>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, LISTS_TOO_FAST]);

pub(super) const DELETE: Doc = Doc::new(Tag::Account, "deleteAlerts", "Remove price alerts")
    .about("Ids that the account does not have are ignored. They may be sent in the query instead.")
    .body(&[Media::json::<DeleteBody>()])
    .answers(&[AnswerDoc::ok("The alerts were removed", &[data::<Empty>()])])
    .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

/// A number that some SDKs send as text.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
enum Number {
    Number(serde_json::Number),
    Text(String),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AlertRequest")]
#[serde(default)]
pub(super) struct PutBody {
    /// Id of the alert to change; absent for a new alert.
    id: Option<Number>,
    /// Symbol such as 700.HK, or `counter_id` such as ST/HK/700; of new alerts only.
    symbol: Option<String>,
    /// Condition: 1 price rise, 2 price fall, 3 percent rise, 4 percent fall.
    indicator_id: Option<Number>,
    value_map: Option<Values>,
    /// 1 at most once a trading day, 2 every time, 3 once.
    frequency: Option<Number>,
    enabled: Option<bool>,
    /// Ignored.
    scope: Option<i64>,
    /// Ignored.
    state: Option<Vec<i64>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AlertValue")]
#[serde(default)]
struct Values {
    /// Price that the conditions 1 and 2 wait for.
    price: Option<Number>,
    /// Percentage since the previous close that the conditions 3 and 4 wait for, positive for both.
    chg: Option<Number>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "AlertRemoval")]
#[serde(default)]
pub(super) struct DeleteBody {
    ids: Option<Vec<Number>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AlertChanged")]
pub(super) struct Put {
    /// Id of the alert as digits.
    id: String,
}

impl Number {
    fn text(&self) -> String {
        match self {
            Number::Number(number) => number.to_string(),
            Number::Text(text) => text.trim().to_owned(),
        }
    }

    /// Returns the id of an alert. Invalid text maps to an id that no alert has.
    fn id(&self) -> AlertId {
        AlertId(self.text().parse().unwrap_or(0))
    }
}

pub(super) fn add_or_update(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let body: PutBody = call.json()?;
    may_change(&admitted)?;
    let id = match body.id.as_ref() {
        Some(id) => update(site, &admitted, id.id(), &body)?,
        None => add(site, &admitted, &body)?,
    };
    Ok(envelope::success(Put { id: id.0.to_string() }))
}

pub(super) fn delete(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let ids = removed(call)?.ok_or_else(|| wrong("ids required"))?;
    if ids.len() > usize::try_from(ALERTS_MAX).unwrap_or(usize::MAX) {
        return Err(wrong(format!("at most {ALERTS_MAX} ids in one request")));
    }
    let account = may_change(&admitted)?;
    let ids: Vec<AlertId> = ids.iter().map(Number::id).collect();
    site.core.access.database().remove_alerts(account, &ids).map_err(of_store)?;
    Ok(envelope::success(Empty {}))
}

/// Returns the ids of a removal. Newer SDKs send them in the query, and others in the body.
fn removed(call: &Call<'_>) -> Result<Option<Vec<Number>>, Problem> {
    if !call.body.is_empty() {
        let body: DeleteBody = call.json()?;
        return Ok(body.ids);
    }
    let pairs = form_urlencoded::parse(call.query.as_bytes());
    let texts: Vec<String> =
        pairs.filter(|(name, _)| name == "ids").map(|(_, value)| value.into_owned()).collect();
    let ids = texts.iter().flat_map(|text| text.split(',')).map(|id| Number::Text(id.to_owned()));
    Ok((!texts.is_empty()).then(|| ids.collect()))
}

fn add(site: &Site, admitted: &Admitted, body: &PutBody) -> Result<AlertId, Problem> {
    let text = body.symbol.as_deref().ok_or_else(|| wrong("symbol required"))?;
    let symbol = command::symbol(text)?;
    let condition = wanted_condition(body)?.ok_or_else(|| wrong("indicator_id required"))?;
    let value = wanted_value(body, condition)?.ok_or_else(|| missing_value(condition))?;
    let frequency = wanted_frequency(body)?.unwrap_or(Frequency::Once);
    may_see(&symbol, &admitted.caller, site)?;
    let rule = AlertRule { condition, value, frequency };
    let state = state_now(site, admitted, &symbol, &rule)?;
    let new = NewAlert {
        account: admitted.account().id,
        symbol,
        condition: condition_name(condition).to_owned(),
        value,
        frequency: frequency_name(frequency).to_owned(),
        created_at: admitted.now(),
        is_met: state.is_met,
        seen: state.seen.map(alerts::stored),
    };
    let added = site.core.access.database().add_alert(&new, ALERTS_MAX).map_err(of_store)?;
    added.ok_or_else(|| wrong(format!("an account has at most {ALERTS_MAX} alerts: delete one first")))
}

fn update(site: &Site, admitted: &Admitted, id: AlertId, body: &PutBody) -> Result<AlertId, Problem> {
    let accounts = site.core.access.database();
    // An alert may fire while it is changed. Then its new state is read and the change repeated.
    for _ in 0..3 {
        let rows = accounts.alerts(admitted.account().id).map_err(of_store)?;
        let row = rows.into_iter().find(|row| row.id == id);
        let row = row.ok_or_else(|| Problem::not_found().because("there is no such alert"))?;
        let changed = changed(site, admitted, row, body)?;
        if accounts.change_alert(&changed).map_err(of_store)? {
            return Ok(id);
        }
    }
    Err(Problem::conflict("the alert was changed at the same time: try again"))
}

/// Returns an alert with the requested changes. Its condition is compared with the current price.
fn changed(site: &Site, admitted: &Admitted, row: AlertRow, body: &PutBody) -> Result<AlertRow, Problem> {
    let later_release = || wrong("this alert was made by a later release");
    let old = condition(&row.condition).ok_or_else(later_release)?;
    let condition = wanted_condition(body)?.unwrap_or(old);
    let value = match wanted_value(body, condition)? {
        Some(value) => value,
        None if condition.is_percent() == old.is_percent() => row.value,
        None => return Err(missing_value(condition)),
    };
    let frequency = match wanted_frequency(body)? {
        Some(frequency) => frequency,
        None => frequency(&row.frequency).ok_or_else(later_release)?,
    };
    let rule = AlertRule { condition, value, frequency };
    let state = state_now(site, admitted, &row.symbol, &rule)?;
    Ok(AlertRow {
        condition: condition_name(condition).to_owned(),
        value,
        frequency: frequency_name(frequency).to_owned(),
        is_enabled: body.enabled.unwrap_or(row.is_enabled),
        is_met: state.is_met,
        seen: state.seen.map(alerts::stored),
        fired_on: None,
        ..row
    })
}

/// Returns the state of an alert that begins at the caller's time.
fn state_now(
    site: &Site,
    admitted: &Admitted,
    symbol: &Symbol,
    rule: &AlertRule,
) -> Result<AlertState, Problem> {
    let as_of = admitted.caller.as_of;
    let history = &site.core.history;
    let seen = site.core.with_reader(|reader| alerts::quote(history, reader, symbol, as_of));
    let seen = seen.map_err(of_history)?;
    Ok(AlertState::new(rule, seen.map(|(quote, _)| quote), seen.and_then(|(_, close)| close)))
}

fn wanted_condition(body: &PutBody) -> Result<Option<Condition>, Problem> {
    let Some(text) = body.indicator_id.as_ref().map(Number::text) else { return Ok(None) };
    let found = Condition::ALL.into_iter().find(|condition| indicator_id(*condition) == text);
    found.map(Some).ok_or_else(|| wrong(format!("indicator_id {:?} is not 1, 2, 3 or 4", echo(&text))))
}

fn wanted_frequency(body: &PutBody) -> Result<Option<Frequency>, Problem> {
    let Some(text) = body.frequency.as_ref().map(Number::text) else { return Ok(None) };
    match text.as_str() {
        "1" => Ok(Some(Frequency::Daily)),
        "2" => Ok(Some(Frequency::EveryTime)),
        "3" => Ok(Some(Frequency::Once)),
        _ => Err(wrong(format!("frequency {:?} is not 1, 2 or 3", echo(&text)))),
    }
}

fn wanted_value(body: &PutBody, condition: Condition) -> Result<Option<Price>, Problem> {
    let Some(values) = &body.value_map else { return Ok(None) };
    let number = if condition.is_percent() { &values.chg } else { &values.price };
    let Some(text) = number.as_ref().map(Number::text) else { return Ok(None) };
    let value = Price::parse(&text).ok().filter(|value| value.0 > 0);
    let name = if condition.is_percent() { "chg" } else { "price" };
    value.map(Some).ok_or_else(|| wrong(format!("{name} {:?} is not a positive number", echo(&text))))
}

fn missing_value(condition: Condition) -> Problem {
    wrong(if condition.is_percent() { "value_map.chg required" } else { "value_map.price required" })
}
