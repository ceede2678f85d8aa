//! Dated versions of the interface. Every change that clients can notice is a row in [`CHANGES`].
//! An account pinned to a date gets the newest response with the later rows undone. This happens in
//! three places, and no other code depends on dates: `http/dated.rs` for HTTP requests,
//! `dispatch.rs` for long-connection commands, `trade_listeners.rs` for pushes. An account without
//! a date only costs one read of its terms.

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
#[error("it was added on {since}, and this account is answered as of {as_of}")]
pub(crate) struct NotYet {
    since: Date,
    as_of: Date,
}

impl Dated {
    /// Returns the caller's API date, or `None` for the newest: for accounts without a date, and
    /// for this server's pages and the in-process command line, which support no other.
    pub(crate) fn of(who: &Caller, account: &Account) -> Option<Dated> {
        let is_ours = who.is_browser() || who.is_in_process();
        account.terms.api_date.filter(|_| !is_ours).map(|as_of| Dated { as_of })
    }

    pub(crate) fn as_of(self) -> Date {
        self.as_of
    }

    /// Refuses an endpoint that did not exist yet. `path` is the row's path.
    pub(crate) fn endpoint(self, method: &str, path: &str) -> Result<(), NotYet> {
        self.refuse(|effect| match effect {
            Effect::Endpoints(endpoints) => endpoints.iter().any(|endpoint| endpoint.is(method, path)),
            _ => false,
        })
    }

    /// Refuses a quote gateway command that did not exist yet.
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

    /// Removes query parameters that did not exist yet. Returns `None` if the endpoint has no newer
    /// parameters.
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
    /// returns the name of the newer one.
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

    /// Converts a response body to its older format. Returns `None` if it is unchanged.
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
    /// not exist yet.
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

    /// Returns the changes after the date, newest first.
    fn later(self) -> impl Iterator<Item = &'static Change> {
        CHANGES.iter().filter(move |change| change.date > self.as_of)
    }

    fn effects(self) -> impl Iterator<Item = &'static Effect> {
        self.later().flat_map(|change| change.effects)
    }
}

#[cfg(test)]
mod tests;
