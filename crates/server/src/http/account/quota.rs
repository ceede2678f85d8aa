//! An account's quota and usage: `GET /v1/quota` and `POST /v1/quota/preview`.

use std::collections::HashSet;

use access::Permit;
use market::Symbol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::kit::Site;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call};
use crate::quota_document::QuotaDocument;
use crate::refusal::Refusal;
use crate::written::Day;

/// Maximum number of symbols in a preview. The default quota of the highest level is no larger.
const PREVIEW_MAX: usize = 3_000;
/// Maximum number of characters of an invalid symbol to echo in the response.
const ECHO_MAX: usize = 40;

pub(super) const SHOW: Doc = Doc::new(
    Tag::Account,
    "quota",
    "Quota used this month, with the account's level, its reason and its next change",
)
.parameters(&[Parameter::query("account", Kind::Text, "Name of another account; requires the operator role")])
.answers(&[AnswerDoc::ok("Quota for the current month", &[data::<QuotaDocument>()])])
.refuses(&[NOT_FOUND]);

pub(super) const PREVIEW: Doc =
    Doc::new(Tag::Account, "quotaPreview", "Preview the quota cost of securities; nothing is charged")
        .body(&[Media::json::<Preview>()])
        .answers(&[AnswerDoc::ok("The symbols by outcome, and the total cost", &[data::<Cost>()])])
        .refuses(&[BAD_REQUEST, TOO_FAST]);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QuotaPreviewRequest")]
struct Preview {
    #[schemars(length(max = PREVIEW_MAX))]
    symbols: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "QuotaPreview")]
struct Cost {
    /// Number of securities that would be charged.
    cost: usize,
    fits: bool,
    new: Vec<String>,
    /// Securities already charged this month, which cost nothing until the month ends.
    already: Vec<String>,
    /// Symbols without stored candles: requests for them are refused and not charged.
    unknown: Vec<String>,
    /// Symbols in markets for which the account has no right.
    no_access: Vec<String>,
    /// Strings that are not valid symbols.
    invalid: Vec<String>,
    used: u32,
    limit: u32,
    remaining: u32,
    remaining_after: u32,
    resets: Day,
}

pub(super) fn show(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let id = match call.parameter_of("account") {
        Some(name) => whose(&name, &admitted, site)?,
        None => admitted.account().id,
    };
    site.core.tally(id, admitted.caller.as_of).map_err(Problem::from_paper)?;
    // Spending the permit records a pending level change, so that the response includes it.
    site.core.access.spend(admitted.permit, site.core.machine_now()).map_err(Refusal::from)?;
    let now = admitted.caller.quota_time;
    let quota = site.core.access.quota(id, now).map_err(Problem::from_access)?;
    Ok(envelope::success(QuotaDocument::of(&quota.ok_or_else(Problem::not_found)?, now)))
}

/// Returns the id of the named account. Only operators may read another account's quota, or learn
/// whether the account exists.
fn whose(name: &str, me: &Admitted, site: &Site) -> Result<access::AccountId, Problem> {
    if name == me.account().name {
        return Ok(me.account().id);
    }
    me.as_operator(site)?;
    let account = site.core.access.account_called(name).map_err(Problem::from_access)?;
    account.map(|account| account.id).ok_or_else(Problem::not_found)
}

/// Returns the quota cost of a list of securities. Charges nothing, and does not count against the
/// history rate limit.
pub(super) fn preview(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let Admitted { caller, permit, .. } = admitted;
    let Preview { symbols } = call.json()?;
    if symbols.len() > PREVIEW_MAX {
        let text = format!("a preview accepts at most {PREVIEW_MAX} symbols, not {}", symbols.len());
        return Err(Refusal::TooMany(text).into());
    }
    let sorted = SortedSymbols::of(&symbols, &caller, &permit, site)?;
    let (id, now) = (permit.account().id, caller.now());
    let preview = site.core.access.preview(id, &sorted.good, now).map_err(Problem::from_access)?;
    let preview = preview.ok_or_else(Problem::not_found)?;
    let names = |symbols: &[Symbol]| symbols.iter().map(|one| one.as_str().to_owned()).collect::<Vec<_>>();
    let (cost, remaining) = (preview.new.len(), preview.usage.remaining());
    let left = u32::try_from(cost).ok().and_then(|cost| remaining.checked_sub(cost));
    Ok(envelope::success(Cost {
        cost,
        fits: left.is_some(),
        new: names(&preview.new),
        already: names(&preview.counted),
        unknown: names(&sorted.unknown),
        no_access: names(&sorted.no_access),
        invalid: sorted.invalid,
        used: preview.usage.used,
        limit: preview.usage.limit,
        remaining,
        remaining_after: left.unwrap_or(0),
        resets: Day(preview.usage.resets),
    }))
}

/// Symbols of a preview, grouped by the outcome that a request for the symbol would have.
#[derive(Default)]
struct SortedSymbols {
    good: Vec<Symbol>,
    unknown: Vec<Symbol>,
    no_access: Vec<Symbol>,
    invalid: Vec<String>,
}

impl SortedSymbols {
    fn of(texts: &[String], caller: &Caller, permit: &Permit, site: &Site) -> Result<SortedSymbols, Problem> {
        let version = site.core.version_check()?;
        let (mut sorted, mut seen) = (SortedSymbols::default(), HashSet::new());
        for text in texts {
            let Ok(symbol) = text.parse::<Symbol>() else {
                sorted.invalid.push(text.chars().take(ECHO_MAX).collect());
                continue;
            };
            if !seen.insert(symbol.clone()) {
                continue;
            }
            match site.core.known(&symbol, version, caller.as_of) {
                Ok(()) if permit.holds(symbol.market().into()) => sorted.good.push(symbol),
                Ok(()) => sorted.no_access.push(symbol),
                Err(Refusal::BadQuery(_) | Refusal::NoQuotes(_)) => sorted.unknown.push(symbol),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(sorted)
    }
}
