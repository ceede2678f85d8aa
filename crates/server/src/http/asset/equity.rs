//! `GET /v1/asset/equity`: the account's value at the end of each day. No SDK calls this endpoint.

use paper::Equity;

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, RowPace, Site, envelope};

pub(super) const EQUITY: Doc = Doc::new(
    Tag::Trade,
    "equity",
    "What the account was worth at the end of each day, in HKD",
)
.about(
    "A date is over at 09:00 in Hong Kong on the day after, when it has ended in the US too. Holdings count at the closes of the \
     date, the last point at the prices of now.",
)
.parameters(&[Parameter::query("days", Kind::Between(1, DAYS_MAX), "How many dates back from now")
    .or(Word::Number(DAYS_DEFAULT))])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<Equity>()])])
.refuses(REFUSALS);

pub(super) const DAYS_DEFAULT: u32 = 366;
/// Maximum number of calendar days, about eight years.
pub(super) const DAYS_MAX: u32 = 3_000;

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let days = Query::parse(call.query)?.number("days", (1, DAYS_MAX), DAYS_DEFAULT)?;
    let (left, equity) = trader.ask(|account| {
        let left = account.equity_left()?;
        account.catch_up()?;
        Ok((left, account.equity(days)?))
    })?;
    RowPace::Journal.charge(&admitted, site, further_requests(left).saturating_add(days / DAYS_EACH));
    Ok(envelope::success(equity))
}

/// Number of journal entries that count as one more request against the rate limit.
const ENTRIES_EACH: u64 = 5_000;
const DAYS_EACH: u32 = 1_000;
/// Upper bound of the extra requests charged; the rate limit is 30 requests per window.
const FURTHER_MAX: u64 = 20;

/// Returns the number of extra requests to charge for a request that read `entries` journal
/// entries.
pub(super) fn further_requests(entries: u64) -> u32 {
    u32::try_from((entries / ENTRIES_EACH).min(FURTHER_MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_many_entries_counts_as_more_requests() {
        for (entries, further) in [(0, 0), (4_999, 0), (5_000, 1), (12_000, 2), (u64::MAX, 20)] {
            assert_eq!(further_requests(entries), further, "{entries} entries");
        }
    }
}
