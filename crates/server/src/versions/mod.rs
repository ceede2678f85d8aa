//! Dated versions of the API. Every change that clients can notice is a row in [`CHANGES`]. An
//! account pinned to a date gets the newest response with the later rows undone. Only three files
//! depend on API dates: `http/dated.rs` for HTTP requests, `dispatch/mod.rs` for long-connection
//! commands, and `trade_listeners.rs` for pushes. For an account without a date, the only cost is
//! one read of its terms.

mod changes;
mod document;
mod json;
mod message;

use access::{Account, Caller};
use bytes::Bytes;
use market::{Date, Symbol};
use prost::Message;
use serde_json::Value;
use wire::trade;

use changes::{Before, CHANGES, Change, Effect, Source};
pub(crate) use document::{InterfaceVersions, versions};

/// API date of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dated {
    as_of: Date,
}

/// A feature that is newer than the API date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was added on {since}, and this account is pinned to {as_of}")]
pub(crate) struct NotYet {
    since: Date,
    as_of: Date,
}

impl Dated {
    /// Returns the caller's API date, or `None` for the newest date. It is `None` for accounts
    /// without a date, and for this server's pages and the in-process command line, which support
    /// only the newest date.
    pub(crate) fn of(who: &Caller, account: &Account) -> Option<Dated> {
        let is_ours = who.is_browser() || who.is_in_process();
        account.terms.api_date.filter(|_| !is_ours).map(|as_of| Dated { as_of })
    }

    pub(crate) fn as_of(self) -> Date {
        self.as_of
    }

    /// Refuses an endpoint that did not exist at the API date. `path` is the row's path.
    pub(crate) fn endpoint(self, method: &str, path: &str) -> Result<(), NotYet> {
        self.refuse(|effect| match effect {
            Effect::Endpoints(endpoints) => endpoints.iter().any(|endpoint| endpoint.is(method, path)),
            _ => false,
        })
    }

    /// Refuses a quote gateway command that did not exist at the API date.
    pub(crate) fn command(self, number: u8) -> Result<(), NotYet> {
        self.refuse(|effect| matches!(effect, Effect::Commands(commands) if commands.contains(&number)))
    }

    /// Returns whether security lists have names in every language, rather than only in the
    /// language of the request.
    pub(crate) fn has_names_in_all_languages(self) -> bool {
        self.effects().any(|effect| matches!(effect, Effect::OneName))
    }

    /// Returns whether a value that was withdrawn later is still accepted in a body field.
    pub(crate) fn takes_withdrawn(self, field: &str, word: &str) -> bool {
        self.effects().any(|effect| {
            matches!(effect, Effect::Withdrawn { field: of, words, .. } if *of == field && words.contains(&word))
        })
    }

    /// Removes query parameters that did not exist at the API date. Returns `None` if the endpoint
    /// has no newer parameters.
    pub(crate) fn query(self, method: &str, path: &str, query: &str) -> Option<String> {
        let mut rest: Option<String> = None;
        for effect in self.effects() {
            if let Effect::Parameter { of, name } = effect
                && of.is(method, path)
            {
                let others = rest.as_deref().unwrap_or(query).split('&');
                let is_other = |pair: &&str| {
                    form_urlencoded::parse(pair.as_bytes()).next().is_none_or(|(found, _)| found != *name)
                };
                rest = Some(others.filter(is_other).collect::<Vec<_>>().join("&"));
            }
        }
        rest
    }

    /// Checks that a request body uses only features that existed at the API date. Otherwise
    /// returns the name of the newer feature as the error.
    pub(crate) fn body(self, method: &str, path: &str, body: &[u8]) -> Result<(), (String, NotYet)> {
        let concerns = |effect: &&Effect| match effect {
            Effect::Word { of, .. } | Effect::Fractions { of, .. } | Effect::OptionOrders { of, .. } => {
                of.iter().any(|endpoint| endpoint.is(method, path))
            }
            _ => false,
        };
        if !self.effects().any(|effect| concerns(&effect)) {
            return Ok(());
        }
        // The handler refuses invalid JSON.
        let Ok(fields) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        for change in self.later() {
            let refused = change.effects.iter().filter(concerns).find_map(|effect| match effect {
                Effect::Word { field, word, .. } if text(field) == *word => Some(format!("{field} {word}")),
                Effect::Fractions { field, .. } if fields.get(*field).is_some_and(json::has_fraction) => {
                    Some(format!("{field} with a fraction"))
                }
                Effect::OptionOrders { only, .. } if !only.contains(&text("order_type")) => {
                    let is_option = text("symbol").parse().is_ok_and(|symbol: Symbol| symbol.is_us_option());
                    is_option.then(|| format!("order_type {} of an option", text("order_type")))
                }
                _ => None,
            });
            if let Some(what) = refused {
                return Err((what, NotYet { since: change.date, as_of: self.as_of }));
            }
        }
        Ok(())
    }

    /// Converts a response body to its older format. Returns `None` if the body is unchanged.
    pub(crate) fn answer(self, method: &str, path: &str, body: &[u8]) -> Option<Bytes> {
        let is_it = |source: &Source| matches!(source, Source::Answer(of) if of.is(method, path));
        self.forms(is_it).next()?;
        let mut envelope: Value = serde_json::from_slice(body).ok()?;
        self.undo(envelope.get_mut("data")?, is_it);
        Some(envelope.to_string().into())
    }

    /// Converts a long-connection response body to its older format.
    pub(crate) fn response(self, command: u8, body: Vec<Bytes>) -> Vec<Bytes> {
        let mut paths = self.effects().filter_map(|effect| match effect {
            Effect::MessageField { command: of, path, .. } if *of == command => Some(*path),
            _ => None,
        });
        let Some(first) = paths.next() else { return body };
        let whole = message::without(&body.concat(), first);
        let whole = paths.fold(whole, |whole, path| message::without(&whole, path));
        vec![whole.into()]
    }

    /// Converts a trade gateway notification to its older format. Returns `None` if the event did
    /// not exist at the API date.
    pub(crate) fn notification(self, body: &Bytes) -> Option<Bytes> {
        let Ok(mut notification) = trade::Notification::decode(&**body) else { return Some(body.clone()) };
        let Ok(mut event) = serde_json::from_slice::<Value>(&notification.data) else {
            return Some(body.clone());
        };
        let name = event.get("event").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_later = |effect: &Effect| matches!(effect, Effect::Events(names) if names.contains(&&*name));
        if self.effects().any(is_later) {
            return None;
        }
        if let Some(data) = event.get_mut("data") {
            self.undo(data, |source| matches!(source, Source::Event(of) if *of == name));
        }
        notification.data = event.to_string().into_bytes();
        Some(notification.encode_to_vec().into())
    }

    /// Undoes later changes to the fields of one source, newest first.
    fn undo(self, data: &mut Value, is_it: impl Fn(&Source) -> bool) {
        for (names, before) in self.forms(is_it) {
            for name in names {
                json::undo(data, name, before);
            }
        }
    }

    /// Returns the fields of one source that have changed since the API date.
    fn forms(
        self,
        is_it: impl Fn(&Source) -> bool,
    ) -> impl Iterator<Item = (&'static [&'static str], Before)> {
        self.effects().filter_map(move |effect| match effect {
            Effect::Fields { of, names, before } if of.iter().any(&is_it) => Some((*names, *before)),
            _ => None,
        })
    }

    fn refuse(self, is_it: impl Fn(&Effect) -> bool) -> Result<(), NotYet> {
        match self.later().find(|change| change.effects.iter().any(&is_it)) {
            Some(change) => Err(NotYet { since: change.date, as_of: self.as_of }),
            None => Ok(()),
        }
    }

    /// Returns the changes after the API date, newest first.
    fn later(self) -> impl Iterator<Item = &'static Change> {
        CHANGES.iter().filter(move |change| change.date > self.as_of)
    }

    fn effects(self) -> impl Iterator<Item = &'static Effect> {
        self.later().flat_map(|change| change.effects)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dated(date: &str) -> Dated {
        Dated { as_of: date.parse().unwrap() }
    }

    #[test]
    fn rows_are_sorted_and_have_unique_dates() {
        assert!(CHANGES.windows(2).all(|two| two[0].date > two[1].date));
        assert!(CHANGES.iter().all(|change| !change.effects.is_empty()));
        assert_eq!(CHANGES.len(), 21, "the entries of the specification");
    }

    #[test]
    fn a_change_takes_effect_on_its_day() {
        let path = "/v1/statement/list";
        assert_eq!(dated("2026-03-30").endpoint("GET", path), Ok(()));
        let refused = dated("2026-03-29").endpoint("GET", path).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "it was added on 2026-03-30, and this account is pinned to 2026-03-29"
        );
        // Cancelling an order is an older endpoint than reading an order's details.
        let early = dated("2023-04-10");
        assert!(early.endpoint("GET", "/v1/trade/order").is_err());
        assert_eq!(early.endpoint("DELETE", "/v1/trade/order"), Ok(()));
        assert_eq!(early.endpoint("GET", "/v1/trade/order/today"), Ok(()));
        // An endpoint exists on its date, but not on the day before.
        for (date, path) in [
            ("2022-06-15", "/v1/quote/capital-flow"),
            ("2022-06-15", "/v1/quote/capital-distribution"),
            ("2023-11-03", "/v1/quote/history-candlesticks"),
            ("2026-03-25", "/v1/content/{symbol}/topics"),
            ("2026-03-25", "/content/{symbol}/topics"),
            ("2026-03-25", "/content/topics/mine"),
        ] {
            let day: Date = date.parse().unwrap();
            assert_eq!(Dated { as_of: day }.endpoint("GET", path), Ok(()), "{path}");
            assert!(Dated { as_of: day.yesterday().unwrap() }.endpoint("GET", path).is_err(), "{path}");
        }
        for (date, number, is_there) in [
            ("2023-11-02", 27, false),
            ("2023-11-03", 27, true),
            ("2022-06-14", 24, false),
            ("2022-06-15", 25, true),
            ("2000-01-01", 19, true),
        ] {
            assert_eq!(dated(date).command(number).is_ok(), is_there, "{date} {number}");
        }
    }

    #[test]
    fn names_in_security_lists_depend_on_the_api_date() {
        assert!(dated("2024-09-10").has_names_in_all_languages());
        assert!(!dated("2024-09-11").has_names_in_all_languages());
    }

    #[test]
    fn account_funds_lose_fields_added_later() {
        let body = json!({"code": 0, "message": "success", "data": {"list": [{
            "total_cash": "1", "net_assets": "2", "init_margin": "3", "maintenance_margin": "4", "buy_power": "5",
            "frozen_transaction_fees": [],
        }]}});
        let names = |date: &str| {
            let answer = dated(date).answer("GET", "/v1/asset/account", body.to_string().as_bytes());
            let answer =
                answer.map_or_else(|| body.clone(), |answer| serde_json::from_slice(&answer).unwrap());
            let row = answer["data"]["list"][0].as_object().unwrap();
            row.keys().cloned().collect::<Vec<_>>().join(" ")
        };
        for (date, wanted) in [
            (
                "2025-06-17",
                "buy_power frozen_transaction_fees init_margin maintenance_margin net_assets total_cash",
            ),
            ("2025-06-16", "buy_power init_margin maintenance_margin net_assets total_cash"),
            ("2024-05-05", "init_margin maintenance_margin net_assets total_cash"),
            ("2022-06-19", "total_cash"),
        ] {
            assert_eq!(names(date), wanted, "{date}");
        }
        assert_eq!(
            dated("2022-06-19").answer("GET", "/v1/asset/cashflow", body.to_string().as_bytes()),
            None
        );
    }

    #[test]
    fn parameters_newer_than_the_api_date_are_ignored() {
        let (path, query) = ("/v1/asset/account", "currency=USD&x=1&cur%72ency=HKD");
        assert_eq!(dated("2023-08-16").query("GET", path, query).as_deref(), Some("x=1"));
        assert_eq!(dated("2023-08-17").query("GET", path, query), None);
        assert_eq!(dated("2023-08-16").query("GET", "/v1/asset/stock", query), None);
    }

    #[test]
    fn values_newer_than_the_api_date_are_rejected() {
        let body = |fields: Value| fields.to_string().into_bytes();
        let overnight = body(json!({"symbol": "AAPL.US", "order_type": "LO", "outside_rth": "OVERNIGHT"}));
        let (what, _) = dated("2024-05-16").body("POST", "/v1/trade/order", &overnight).unwrap_err();
        assert_eq!(what, "outside_rth OVERNIGHT");
        assert_eq!(dated("2024-05-17").body("POST", "/v1/trade/order", &overnight), Ok(()));
        let option = body(json!({"symbol": "AAPL260116C200000.US", "order_type": "MO"}));
        let (what, _) = dated("2023-04-10").body("POST", "/v1/trade/order", &option).unwrap_err();
        assert_eq!(what, "order_type MO of an option");
        assert_eq!(dated("2023-04-11").body("POST", "/v1/trade/order", &option), Ok(()));
        let stock = body(json!({"symbol": "AAPL.US", "order_type": "MO"}));
        assert_eq!(dated("2023-04-10").body("POST", "/v1/trade/order", &stock), Ok(()));
        assert_eq!(dated("2023-04-10").body("POST", "/v1/trade/order", b"{"), Ok(()));
        let half = body(json!({"symbol": "AAPL.US", "order_type": "LO", "submitted_quantity": "0.5"}));
        let (what, _) = dated("2024-10-08").body("POST", "/v1/trade/order", &half).unwrap_err();
        assert_eq!(what, "submitted_quantity with a fraction");
        assert_eq!(dated("2024-10-09").body("POST", "/v1/trade/order", &half), Ok(()));
        let half = body(json!({"order_id": "7", "quantity": 1.5}));
        assert!(dated("2024-10-08").body("PUT", "/v1/trade/order", &half).is_err());
        let whole = body(json!({"symbol": "AAPL.US", "order_type": "LO", "submitted_quantity": "100.0"}));
        assert_eq!(dated("2024-10-08").body("POST", "/v1/trade/order", &whole), Ok(()));
    }

    #[test]
    fn pushes_lose_newer_fields_and_newer_events_are_not_sent() {
        let push = |event: Value| {
            let data = event.to_string().into_bytes();
            Bytes::from(trade::Notification { data, ..trade::Notification::default() }.encode_to_vec())
        };
        let read = |body: &Bytes| {
            let notification = trade::Notification::decode(&**body).unwrap();
            serde_json::from_slice::<Value>(&notification.data).unwrap()["data"].clone()
        };
        let order = push(json!({"event": "order_changed_lb", "data": {
            "executed_quantity": "1.5", "last_share": "0.5", "last_price": "9", "remark": "r",
        }}));
        for (date, wanted) in [
            (
                "2024-10-09",
                json!({"executed_quantity": "1.5", "last_share": "0.5", "last_price": "9", "remark": "r"}),
            ),
            (
                "2024-10-08",
                json!({"executed_quantity": "1", "last_share": "0", "last_price": "9", "remark": "r"}),
            ),
            ("2024-04-14", json!({"executed_quantity": "1", "remark": "r"})),
            ("2024-04-12", json!({"executed_quantity": "1"})),
        ] {
            assert_eq!(read(&dated(date).notification(&order).unwrap()), wanted, "{date}");
        }
        let grid = push(json!({"event": "gridtrading_order", "data": {}}));
        assert_eq!(dated("2026-08-13").notification(&grid), None);
        assert!(dated("2026-08-14").notification(&grid).is_some());
        let odd = Bytes::from_static(b"\xff");
        assert_eq!(dated("2020-01-01").notification(&odd), Some(odd.clone()));
    }
}
