//! Reads more candles than one answer can hold, in pages, in the direction of the query. Each page
//! is a separate plan that starts where the previous page ended.

use market::{Candles, Timestamp};
use store::Reader;

use crate::as_of::AsOf;
use crate::plan::{Plan, Take, selected};
use crate::query::{COUNT_MAX, HistoryError, Query};
use crate::read::{Answer, History};

/// Limits for callers that may get more than [`COUNT_MAX`] candles in one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    pub limit: usize,
    /// Continuation point returned with the previous answer.
    pub from: Option<Timestamp>,
}

/// Candles in ascending order of time, and the continuation point if there are more.
#[derive(Debug)]
pub struct Paged {
    pub answer: Answer,
    pub next: Option<Timestamp>,
}

/// Iterator over the pages of a query.
#[derive(Debug)]
pub struct Pages<'a> {
    history: &'a History,
    reader: &'a mut Reader,
    query: &'a Query,
    plan: Option<Plan>,
    as_of: AsOf,
}

impl History {
    /// Returns an iterator over all candles that a query selects, in pages of the plan's size.
    pub fn pages<'a>(
        &'a self,
        reader: &'a mut Reader,
        query: &'a Query,
        plan: Plan,
        as_of: AsOf,
    ) -> Pages<'a> {
        Pages { history: self, reader, query, plan: Some(plan), as_of }
    }

    /// Returns up to `limit` candles in one answer, made of as many pages as needed.
    pub fn paged(
        &self,
        reader: &mut Reader,
        query: &Query,
        Paging { limit, from }: Paging,
        as_of: AsOf,
    ) -> Result<Paged, HistoryError> {
        let venue = self.venue(&query.symbol);
        let (stamps, take) = selected(query, venue, as_of);
        let stamps = match (from, take) {
            (None, _) => stamps,
            (Some(at), Take::First(_)) => at.max(stamps.start)..stamps.end,
            (Some(at), Take::Last(_)) => stamps.start..at.min(stamps.end),
        };
        let first = Plan::over(query, venue, as_of, stamps, take.of(limit.min(COUNT_MAX)));
        let (mut answer, mut rest) = self.page(reader, query, &first, as_of)?;
        let mut rows = answer.candles.len();
        let mut pages = vec![std::mem::take(&mut answer.candles)];
        let next = loop {
            let Some(plan) = rest else { break None };
            // After the last page, one more candle is read to find out whether more candles exist.
            let left = limit.saturating_sub(rows);
            let plan = plan.keeping(left.clamp(1, COUNT_MAX));
            let (page, beyond) = self.page(reader, query, &plan, as_of)?;
            match (page.candles.is_empty(), left) {
                (true, _) => break None,
                (false, 0) => break Some(plan.begins_at()),
                (false, _) => {
                    rows += page.candles.len();
                    pages.push(page.candles);
                    rest = beyond;
                }
            }
        };
        answer.candles = in_order(pages, take);
        Ok(Paged { answer, next })
    }

    /// Returns the answer to a plan, and the plan of the next page if there may be one.
    fn page(
        &self,
        reader: &mut Reader,
        query: &Query,
        plan: &Plan,
        as_of: AsOf,
    ) -> Result<(Answer, Option<Plan>), HistoryError> {
        let answer = self.answer(reader, query, plan, as_of)?;
        let edges = answer.candles.time.first().zip(answer.candles.time.last());
        let rest = edges.and_then(|(first, last)| plan.next(Timestamp(*first), Timestamp(*last)));
        let venue = self.venue(&query.symbol);
        let beyond = rest.map(|stamps| Plan::over(query, venue, as_of, stamps, plan.take));
        Ok((answer, beyond))
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Answer, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let plan = self.plan.take()?;
        match self.history.page(self.reader, self.query, &plan, self.as_of) {
            Ok((answer, _)) if answer.candles.is_empty() => None,
            Ok((answer, beyond)) => {
                self.plan = beyond;
                Some(Ok(answer))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Concatenates the candles of pages in ascending order of time. The pages must be in the direction
/// of their query.
pub fn in_order(mut pages: Vec<Candles>, take: Take) -> Candles {
    if let Take::Last(_) = take {
        pages.reverse();
    }
    let mut candles = Candles::with_capacity(pages.iter().map(Candles::len).sum());
    pages.iter().for_each(|page| candles.append(page));
    candles
}
