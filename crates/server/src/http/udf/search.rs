//! `search`: finds securities by code or name, with their variants (adjustment, trading hours).

use market::Symbol;
use schemars::JsonSchema;
use serde::Serialize;
use store::{Security, StoreError};

use super::form::number;
use super::form::{LANG, OrError, TOKEN, WORDS, udf};
use super::symbols::{description, exchange, kind};
use super::ticker::Ticker;
use crate::caller::Caller;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Word};
use crate::kit::envelope::Problem;
use crate::kit::{Admitted, Call, Site};
use crate::refusal::Refusal;

/// Maximum number of rows.
const LIMIT_MAX: usize = 100;
/// Default number of rows.
const LIMIT_DEFAULT: usize = 30;
/// Maximum number of securities that are searched for a matching variant.
const LOOKED_AT_MAX: usize = 1_000;
const QUERY_CHARS_MAX: usize = 64;

pub(super) const SEARCH: Doc = udf("udfSearch", "Search securities by code or name")
    .parameters(&[
        Parameter::query(
            "query",
            Kind::TextUpTo(QUERY_CHARS_MAX),
            "Part of a code or name, optionally followed by @ and a variant",
        ),
        Parameter::query("type", Kind::Text, "stock or index"),
        Parameter::query("exchange", Kind::Text, "HK, US, SH, SZ, or the exchange of the security"),
        Parameter::query("limit", Kind::AtLeast(1), "At most 100 rows").or(Word::Number(30)),
        LANG,
    ])
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<Vec<UdfFound>>>()])]);
pub(super) const SEARCH_BY_KEY: Doc = SEARCH.also("udfSearchByKey", &[TOKEN]);

/// A security in one variant, such as forward-adjusted.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UdfFound {
    symbol: String,
    ticker: String,
    full_name: String,
    description: String,
    exchange: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

pub(super) fn answer(call: &Call<'_>, admitted: &Admitted, site: &Site) -> Result<Vec<UdfFound>, Problem> {
    let Admitted { caller, permit, .. } = admitted;
    let text = |name: &str| call.parameter_of(name).unwrap_or_default();
    let query: String = text("query").trim().chars().take(QUERY_CHARS_MAX).collect();
    let limit = number(call, "limit")?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX);
    let (wanted_kind, place) = (text("type"), text("exchange"));
    let is_wanted = |symbol: &Symbol| {
        permit.holds(symbol.market().into())
            && (place.is_empty() || place.eq_ignore_ascii_case(symbol.region().as_str()))
            && (wanted_kind.is_empty() || wanted_kind == kind(symbol))
    };
    let directory = site.directory(caller.as_of)?;
    let (words, manner) = parts(&query);
    let (found, _) = directory.search(words, is_wanted, LOOKED_AT_MAX);
    let symbols = found.into_iter().map(|one| &one.symbol);
    let ways = symbols
        .enumerate()
        .flat_map(|(rank, symbol)| Ticker::variants(symbol).into_iter().map(move |ticker| (rank, ticker)));
    let shown = ways.filter(|(rank, ticker)| is_shown(ticker, manner.as_deref(), *rank));
    let tickers: Vec<Ticker> = shown.map(|(_, ticker)| ticker).take(limit).collect();
    rows(&tickers, caller, site)
}

/// Splits a query into the search text and the variant after `@`.
fn parts(query: &str) -> (&str, Option<String>) {
    match query.split_once('@') {
        Some((words, manner)) => (words, Some(manner.to_ascii_lowercase())),
        None => (query, None),
    }
}

/// Returns whether a variant is listed. A query with `@` lists only matching variants. Otherwise,
/// all variants of the best match are listed, and only the plain variant of other matches.
fn is_shown(ticker: &Ticker, manner: Option<&str>, rank: usize) -> bool {
    let name = ticker.to_string();
    let mut words = name.split('@').skip(1);
    match manner {
        Some(manner) => words.any(|word| word.starts_with(manner)),
        None => rank == 0 || words.next().is_none(),
    }
}

fn rows(tickers: &[Ticker], caller: &Caller, site: &Site) -> Result<Vec<UdfFound>, Problem> {
    let read = site.core.with_reader(|reader| -> Result<Vec<UdfFound>, StoreError> {
        let view = reader.view();
        let row = |ticker: &Ticker| {
            let security = view.security(&ticker.symbol)?;
            let security = security.unwrap_or_else(|| Security::new(ticker.symbol.clone()));
            let name = ticker.to_string();
            Ok(UdfFound {
                symbol: name.clone(),
                ticker: name.clone(),
                full_name: name,
                description: description(ticker, &security, caller.language),
                exchange: exchange(&security).to_owned(),
                kind: kind(&ticker.symbol),
            })
        };
        tickers.iter().map(row).collect()
    });
    Ok(read.map_err(|error| {
        tracing::error!(%error, "cannot read securities");
        Refusal::Internal
    })?)
}
