//! Tests of authentication and admission through the public API with a real database.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod accounts;
mod admission_cache;
mod admit;
mod fixture;
mod identify;
mod levels;
mod oauth;
mod paper_levels;
mod password_links;
mod people;
mod refused;
mod renew;
mod reports;
mod secrets;
mod sign_in_links;
mod sign_on;
mod subscriptions;
