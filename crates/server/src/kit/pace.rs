//! The rate limit of a row.

use super::allowance;
use super::call::Answer;
use super::credentials::Admitted;
use super::envelope::Problem;
use super::site::Site;
use crate::caller::Caller;
use crate::command;
use crate::lifting;

/// The rate limit that the requests of a row count against, by account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowPace {
    /// None of its own.
    Unlimited,
    /// That of searches, of what is stored and of coverage. An account without a rate limit has none here either.
    Search,
    /// That of watchlists and lists of securities. An account without a rate limit has none here either, nor a person at a page, where one
    /// click is several requests.
    Lists,
    /// That of requests about orders and assets. It is the service's: an account without a rate limit has none here either. A person
    /// at a page asks for several things at once and is exempt.
    Trade,
    /// The same where all of an account's journal is read: a person at a page has a limit of their own.
    Journal,
    /// That of requests about topics. Writing them has limits of its own, which are kept with the topics.
    Community,
    /// The general limit of quote commands, which the route counts (`route.rs`), for long connections too.
    Calls,
    /// The account's window of history requests. The route counts them: one request may be worth several. Every answer has headers
    /// that say what is left.
    History,
}

impl RowPace {
    pub(crate) const fn of(pace: command::Pace) -> RowPace {
        match pace {
            command::Pace::Calls => RowPace::Calls,
            command::Pace::History => RowPace::History,
        }
    }

    /// Counts a request, or refuses it with the time to wait. An operator is told how to lift the limit, if it can be lifted.
    pub(crate) fn pass(self, admitted: &Admitted, site: &Site) -> Result<(), Problem> {
        self.count(admitted, site).map_err(|problem| {
            let words =
                if self == RowPace::Community { None } else { lifting::words(admitted.who(), &site.core) };
            match words {
                Some(words) => problem.because(&words),
                None => problem,
            }
        })
    }

    /// Counts further requests for the work of one that was answered. Where there is no room for all of them, the next request waits.
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

    /// The answer, with headers that say what is left.
    pub(crate) fn tell(
        self,
        answer: Result<Answer, Problem>,
        caller: &Caller,
        site: &Site,
    ) -> Result<Answer, Problem> {
        if self != RowPace::History {
            return answer;
        }
        let mut answer = answer.unwrap_or_else(Problem::answer);
        allowance::tell(&mut answer, caller, site);
        Ok(answer)
    }
}
