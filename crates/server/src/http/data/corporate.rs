//! `GET /v1/quote/dividends`, `…/details` and `GET /v1/quote/company-act`: stored corporate actions
//! in the JSON format of the SDKs. Fields that are not stored, such as record dates, are empty.

use market::adjust::Amount;
use market::{Date, DateSpan, Symbol};
use schemars::JsonSchema;
use serde::Serialize;
use store::StoredAction;

use super::securities::{failed, visible};
use crate::command;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

/// Maximum number of actions per response. Older actions are omitted.
const ACTIONS_MAX: usize = 2_000;
/// Number of days after the ex-date in which an action is marked as recent.
const RECENT_DAYS: i64 = 30;

const SYMBOL: Parameter = Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK").required();

pub(super) const DIVIDENDS: Doc =
    Doc::new(Tag::Candles, "dividends", "Cash dividends with an ex-date up to today, newest first")
        .parameters(&[SYMBOL])
        .answers(&[AnswerDoc::ok("At most 2,000, newest first", &[data::<Dividends>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND]);

pub(super) const DIVIDEND_DETAILS: Doc =
    Doc::new(Tag::Candles, "dividendDetails", "Same as /v1/quote/dividends: no further details are stored")
        .parameters(&[SYMBOL])
        .answers(&[AnswerDoc::ok("At most 2,000, newest first", &[data::<Dividends>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND]);

pub(super) const COMPANY_ACTS: Doc =
    Doc::new(Tag::Candles, "companyActs", "Corporate actions with an ex-date up to today, newest first")
        .parameters(&[SYMBOL])
        .answers(&[AnswerDoc::ok("At most 2,000, newest first", &[data::<CompanyActs>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND]);

#[derive(Debug, Serialize, JsonSchema)]
struct Dividends {
    list: Vec<Dividend>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Dividend {
    symbol: String,
    /// Id derived from the ex-date and the position among the actions of that day.
    id: String,
    desc: String,
    /// Not stored; always empty.
    record_date: &'static str,
    /// Ex-date such as 2026-06-01.
    ex_date: String,
    /// Payment date such as 2026-06-15; empty if unknown.
    payment_date: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CompanyActs {
    items: Vec<CompanyAct>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CompanyAct {
    id: String,
    /// Ex-date in the form 20260601.
    date: String,
    /// Ex-date in the form 2026-06-01.
    date_str: String,
    date_type: &'static str,
    /// Time zone of the market.
    date_zone: &'static str,
    /// Kind of the action: dividend, split, bonus or rights.
    act_type: &'static str,
    act_desc: String,
    /// Equal to `act_type`.
    action: &'static str,
    /// Whether the ex-date is within the last 30 days.
    recent: bool,
    is_delay: bool,
    delay_content: &'static str,
    live: (),
}

/// One part of a corporate action, such as its dividend or its split.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    kind: &'static str,
    words: String,
}

/// Data for describing a security's stored actions whose ex-date has passed, newest action first.
struct PastActions {
    symbol: Symbol,
    currency: String,
    zone: &'static str,
    today: Date,
    actions: Vec<(String, StoredAction)>,
}

impl PastActions {
    fn of(call: &Call<'_>, site: &Site, admitted: &Admitted) -> Result<PastActions, Problem> {
        let symbol: Symbol = command::symbol(&call.parameter_of("symbol").unwrap_or_default())?;
        let (security, _) = visible(&symbol, site, admitted)?;
        let zone = site.core.history.venue(&symbol).zone();
        let today = zone.date(admitted.now());
        let read = site.core.with_reader(|reader| reader.view().stored_actions(&symbol));
        let mut actions: Vec<(String, StoredAction)> = Vec::new();
        let mut place = 0;
        for stored in read.map_err(failed)?.into_iter().filter(|stored| stored.action.ex_date <= today) {
            let is_same_day =
                actions.last().is_some_and(|(_, last)| last.action.ex_date == stored.action.ex_date);
            place = if is_same_day { place + 1 } else { 1 };
            actions.push((format!("{}{place:02}", compact(stored.action.ex_date)), stored));
        }
        actions.reverse();
        actions.truncate(ACTIONS_MAX);
        let currency = security.currency.unwrap_or_else(|| symbol.market().currency().to_owned());
        Ok(PastActions { symbol, currency, zone: zone.name(), today, actions })
    }
}

pub(super) fn dividends(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let past = PastActions::of(call, site, &admitted)?;
    let paid = past.actions.iter().filter(|(_, stored)| stored.action.cash != Amount::ZERO);
    let list = paid.map(|(id, stored)| Dividend {
        symbol: past.symbol.to_string(),
        id: id.clone(),
        desc: cash_words(stored, &past.currency),
        record_date: "",
        ex_date: stored.action.ex_date.to_string(),
        payment_date: stored.pay_date.map(|date| date.to_string()).unwrap_or_default(),
    });
    Ok(envelope::success(Dividends { list: list.collect() }))
}

pub(super) fn company_acts(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let past = PastActions::of(call, site, &admitted)?;
    let earliest = past.today.checked_sub(DateSpan::new().days(RECENT_DAYS)).unwrap_or(Date::MIN);
    let mut items = Vec::new();
    for (id, stored) in &past.actions {
        let date = stored.action.ex_date;
        items.extend(parts(stored, &past.currency).into_iter().map(|Part { kind, words }| CompanyAct {
            id: format!("{id}-{kind}"),
            date: compact(date),
            date_str: date.to_string(),
            date_type: "Ex-date",
            date_zone: past.zone,
            act_type: kind,
            act_desc: words,
            action: kind,
            recent: date >= earliest,
            is_delay: false,
            delay_content: "",
            live: (),
        }));
    }
    Ok(envelope::success(CompanyActs { items }))
}

fn compact(date: Date) -> String {
    date.strftime("%Y%m%d").to_string()
}

fn cash_words(stored: &StoredAction, currency: &str) -> String {
    format!("Cash dividend of {} {currency} per share", stored.action.cash)
}

/// Splits an action into its dividend, split, bonus and rights parts.
fn parts(stored: &StoredAction, currency: &str) -> Vec<Part> {
    let action = &stored.action;
    let part = |is_there: bool, kind: &'static str, words: String| is_there.then_some(Part { kind, words });
    [
        part(action.cash != Amount::ZERO, "dividend", cash_words(stored, currency)),
        part(
            action.split != Amount::ONE,
            "split",
            format!("Split: {} new shares per old share", action.split),
        ),
        part(
            action.bonus != Amount::ZERO,
            "bonus",
            format!("Bonus issue of {} shares per share", action.bonus),
        ),
        part(
            action.rights != Amount::ZERO,
            "rights",
            format!("Rights to {} shares per share at {} {currency}", action.rights, action.rights_price),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use market::Action;

    use super::*;

    #[test]
    fn each_part_of_an_action_is_described() {
        let amount = |text: &str| Amount::parse(text).unwrap();
        let action = Action {
            ex_date: "2026-06-01".parse().unwrap(),
            cash: amount("5.3"),
            split: amount("2"),
            bonus: Amount::ZERO,
            rights: amount("3/10"),
            rights_price: amount("100"),
        };
        let report: Vec<String> = parts(&action.into(), "HKD").into_iter().map(|part| part.words).collect();
        assert_eq!(
            report,
            [
                "Cash dividend of 5.3 HKD per share",
                "Split: 2 new shares per old share",
                "Rights to 0.3 shares per share at 100 HKD",
            ]
        );
    }
}
