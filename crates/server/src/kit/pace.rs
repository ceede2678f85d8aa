//! Rate limits of route table rows.

use super::allowance;
use super::call::Answer;
use super::credentials::Admitted;
use super::envelope::Problem;
use super::site::Site;
use crate::caller::Caller;
use crate::command;
use crate::limit_hint;

/// The per-account rate limit that a row's requests count against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowPace {
    /// No rate limit.
    Unlimited,
    /// Limit on searches, inventory and coverage. Accounts without a rate limit are exempt.
    Search,
    /// Limit on watchlists and security lists. Accounts without a rate limit are exempt. Browser
    /// sessions are exempt too, because one click sends several requests.
    Lists,
    /// Limit on requests for orders and assets. Accounts without a rate limit are exempt. Browser
    /// sessions are exempt too, because a page sends several requests concurrently.
    Trade,
    /// Like `Trade`, for requests that read an account's whole journal. Browser sessions have a
    /// separate limit.
    Journal,
    /// Limit on community requests. Posting has separate limits in the crate `social`.
    Community,
    /// The general limit on quote commands, shared with long connections and counted in `route.rs`.
    Calls,
    /// The account's history request window, counted in `route.rs`. A request may be charged as
    /// several. Every response has headers with the remaining allowance.
    History,
}

impl RowPace {
    pub(crate) const fn of(pace: command::Pace) -> RowPace {
        match pace {
            command::Pace::Calls => RowPace::Calls,
            command::Pace::History => RowPace::History,
        }
    }

    /// Counts a request, or refuses it with the time to wait. For an operator, the refusal also
    /// shows how to lift the limit, if that is possible.
    pub(crate) fn pass(self, admitted: &Admitted, site: &Site) -> Result<(), Problem> {
        self.count(admitted, site).map_err(|problem| {
            let words =
                if self == RowPace::Community { None } else { limit_hint::text(admitted.who(), &site.core) };
            match words {
                Some(words) => problem.because(&words),
                None => problem,
            }
        })
    }

    /// Counts additional requests for expensive work that was already done. If the limit is
    /// reached, the next request is refused.
    pub(crate) fn charge(self, admitted: &Admitted, site: &Site, requests: u32) {
        for _ in 0..requests {
            if self.count(admitted, site).is_err() {
                return;
            }
        }
    }

    fn count(self, admitted: &Admitted, site: &Site) -> Result<(), Problem> {
        let account = admitted.account();
        match self {
            // In-process callers have no rate limits. The check is here because handlers also call
            // `charge`.
            _ if admitted.who().is_in_process() => Ok(()),
            RowPace::Community => site.may_converse(account.id).map_err(Problem::too_many_community_calls),
            RowPace::Search | RowPace::Trade | RowPace::Journal | RowPace::Lists
                if account.terms.rate_rule() == access::RateRule::Unlimited =>
            {
                Ok(())
            }
            RowPace::Search => site.may_search(account.id).map_err(Problem::too_many_searches),
            RowPace::Trade | RowPace::Lists if admitted.who().is_browser() => Ok(()),
            RowPace::Lists => site.may_list(account.id).map_err(Problem::too_many_list_calls),
            RowPace::Journal if admitted.who().is_browser() => {
                site.may_read_journal(account.id).map_err(Problem::too_many_journal_reads)
            }
            RowPace::Trade | RowPace::Journal => {
                site.may_trade(account.id).map_err(Problem::too_many_trade_calls)
            }
            RowPace::Unlimited | RowPace::Calls | RowPace::History => Ok(()),
        }
    }

    /// Adds headers with the remaining allowance to a response.
    pub(crate) fn add_headers(
        self,
        answer: Result<Answer, Problem>,
        caller: &Caller,
        site: &Site,
    ) -> Result<Answer, Problem> {
        if self != RowPace::History {
            return answer;
        }
        let mut answer = answer.unwrap_or_else(Problem::answer);
        allowance::add_headers(&mut answer, caller, site);
        Ok(answer)
    }
}
