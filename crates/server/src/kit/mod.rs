//! Building blocks for HTTP endpoints and pages: a request ([`Call`]), authentication
//! ([`credentials`]), a refusal ([`Problem`]), JSON, gzip and range responses, cookies, and the
//! shared HTTP state ([`Site`]). A route table row includes its part of the OpenAPI document
//! ([`doc`]). This module does not depend on any endpoint or page.

pub(crate) mod allowance;
mod call;
mod claims;
pub(crate) mod codes;
pub(crate) mod cookies;
pub(crate) mod counter;
pub(crate) mod credentials;
pub(crate) mod doc;
pub(crate) mod envelope;
pub(crate) mod fields;
pub(crate) mod json_fields;
pub(crate) mod json_text;
pub(crate) mod open;
mod pace;
pub(crate) mod packed;
pub(crate) mod paper_settings;
pub(crate) mod paths;
pub(crate) mod pieces;
pub(crate) mod query;
mod row;
mod site;
pub(crate) mod trader;

pub(crate) use call::{
    Answer, Call, CredentialTerms, GO_AGENT, Home, ListenerDocument, ListenerKind, Listening, PathValue,
    RequestFacts, RequestNotes,
};
pub(crate) use claims::Claim;
pub(crate) use credentials::{Admitted, Watcher};
pub(crate) use envelope::Problem;
pub(crate) use pace::RowPace;
pub(crate) use row::{Accepts, Audience, Auth, OpenHandler, Permitted, PermittedHandler, Row, RowBody};
pub(crate) use site::{CONNECTIONS_EACH, Site, StoreTotals, base_url};
