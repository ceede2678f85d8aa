//! The HTTP kit: what endpoints and pages are made of. A request ([`Call`]), who asks ([`proof`]), a refusal ([`Problem`]), answers as JSON,
//! packed or in pieces, cookies, and the state that the HTTP side shares ([`Site`]). Beside a row stands what clients are told about it ([`doc`]). It knows no endpoint and no page.

pub(crate) mod allowance;
mod bodies;
mod call;
mod claims;
pub(crate) mod cookies;
pub(crate) mod doc;
pub(crate) mod envelope;
pub(crate) mod fields;
mod listening;
pub(crate) mod named;
pub(crate) mod open;
pub(crate) mod packed;
pub(crate) mod pieces;
pub(crate) mod proof;
mod row;
mod site;
pub(crate) mod visible;

pub(crate) use call::{Answer, Call, RequestFacts, RequestNotes};
pub(crate) use envelope::Problem;
pub(crate) use listening::{Face, ListenerDocument, Listening};
pub(crate) use proof::{Me, as_operator};
pub(crate) use row::{Asks, Handler, Home, Row};
pub(crate) use site::{CONNECTIONS_EACH, Site};
