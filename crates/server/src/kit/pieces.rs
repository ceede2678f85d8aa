//! Range requests. Parquet readers request a file's length, then its end, then the needed columns,
//! and all of these must come from the same response. A response that is read in ranges is
//! therefore cached for a short time, and charged only once.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use access::AccountId;
use bytes::Bytes;
use hyper::Method;
use hyper::header::{ACCEPT_RANGES, CONTENT_RANGE, ETAG, HeaderMap, HeaderValue, IF_RANGE, RANGE};
use market::Floors;

use super::call::{Answer, Call};
use super::envelope::{self, Problem};

/// Time until a cached response expires. Programs that read in ranges finish sooner.
const KEPT_FOR: Duration = Duration::from_secs(30);
/// Maximum number of cached responses.
const KEPT_MAX: usize = 32;
/// Maximum total size of the cached responses in bytes. The largest response has about two
/// megabytes.
const BYTES_MAX: usize = 32 << 20;
/// A cached response's budget is this many times its length, plus [`SMALL_MAX`] pieces of
/// [`PIECE_MIN`] bytes. Once the budget is spent, the next request is charged again.
const TIMES_MAX: usize = 3;
/// Minimum number of bytes by which a piece reduces the budget.
const PIECE_MIN: usize = 64 << 10;
/// Number of minimum-size pieces that the budget includes.
const SMALL_MAX: usize = 64;

/// A complete response, of which a range may be sent.
#[derive(Clone, Debug)]
pub(crate) struct WholeAnswer {
    pub(crate) body: Bytes,
    pub(crate) content_type: HeaderValue,
    /// Token of the next page.
    pub(crate) next: Option<String>,
    pub(crate) candles: usize,
    pub(crate) scope: AnswerScope,
}

/// Data visible to the account when the response was created. If the visible data has changed, the
/// cached response is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerScope {
    /// Whether the response may contain overnight candles.
    pub(crate) has_overnight: bool,
    /// Start of the visible history.
    pub(crate) floors: Floors,
}

/// Cache of responses that are read in ranges, newest last.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Mutex<VecDeque<CachedAnswer>>);

#[derive(Debug)]
struct CachedAnswer {
    whose: AccountId,
    question: String,
    at: Duration,
    whole: WholeAnswer,
    /// Remaining budget in bytes.
    left: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    All,
    Some(Range<usize>),
    /// The range begins after the end of the response.
    Nothing,
}

impl Pieces {
    pub(crate) fn find(&self, whose: AccountId, question: &str, now: Duration) -> Option<WholeAnswer> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |one: &&CachedAnswer| {
            one.whose == whose && one.question == question && now.saturating_sub(one.at) < KEPT_FOR
        };
        state.iter().rev().find(is_it).map(|one| one.whole.clone())
    }

    pub(crate) fn store(&self, whose: AccountId, question: String, now: Duration, whole: WholeAnswer) {
        if whole.body.len() > BYTES_MAX {
            return;
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.retain(|one| now.saturating_sub(one.at) < KEPT_FOR);
        let left =
            whole.body.len().saturating_mul(TIMES_MAX).saturating_add(SMALL_MAX.saturating_mul(PIECE_MIN));
        state.push_back(CachedAnswer { whose, question, at: now, whole, left });
        while state.len() > KEPT_MAX
            || state.iter().map(|one| one.whole.body.len()).sum::<usize>() > BYTES_MAX
        {
            state.pop_front();
        }
    }
}

impl Pieces {
    /// Charges a piece to the cached response's budget. A response with no budget left is evicted,
    /// so the next request for it is charged again.
    pub(crate) fn spend(&self, whose: AccountId, question: &str, bytes: usize) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.retain_mut(|one| {
            if one.whose != whose || one.question != question {
                return true;
            }
            one.left = one.left.saturating_sub(bytes.max(PIECE_MIN));
            one.left > 0
        });
    }
}

/// Returns whether the client reads the response in ranges.
pub(crate) fn is_piecewise(call: &Call<'_>) -> bool {
    *call.method == Method::HEAD || call.headers.contains_key(RANGE)
}

/// Returns the response to the request, which may be a range of `whole`, and the number of candles
/// that it counts as.
pub(crate) fn cut(
    whole: &WholeAnswer,
    method: &Method,
    headers: &HeaderMap,
) -> Result<(Answer, usize), Problem> {
    let (body, mark) = (&whole.body, mark(&whole.body));
    let text = |value: String| HeaderValue::from_str(&value).map_err(|_| Problem::internal());
    let part = if *method == Method::HEAD || is_outdated(headers, &mark) {
        Part::All
    } else {
        headers
            .get(RANGE)
            .and_then(|range| range.to_str().ok())
            .map_or(Part::All, |range| part(range, body.len()))
    };
    let length = body.len();
    let candles = if *method == Method::HEAD { 0 } else { share(whole.candles, &part, length) };
    let mut answer = match part {
        Part::All => envelope::respond(200, whole.content_type.clone(), body.clone()),
        Part::Some(range) => {
            let report = text(format!("bytes {}-{}/{length}", range.start, range.end.saturating_sub(1)))?;
            let mut answer = envelope::respond(206, whole.content_type.clone(), body.slice(range));
            answer.headers_mut().insert(CONTENT_RANGE, report);
            answer
        }
        Part::Nothing => {
            let mut answer = Problem::unsatisfiable(length).answer();
            answer.headers_mut().insert(CONTENT_RANGE, text(format!("bytes */{length}"))?);
            answer
        }
    };
    answer.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    answer.headers_mut().insert(ETAG, text(mark)?);
    Ok((answer, candles))
}

/// Returns a part's number of candles, proportional to its bytes. The numbers of contiguous parts
/// add up to the total of the response.
fn share(candles: usize, part: &Part, length: usize) -> usize {
    let until = |end: usize| candles.saturating_mul(end).checked_div(length).unwrap_or_default();
    match part {
        Part::All => candles,
        Part::Some(range) => until(range.end).saturating_sub(until(range.start)),
        Part::Nothing => 0,
    }
}

/// Returns whether the client has pieces of another response (`If-Range`).
fn is_outdated(headers: &HeaderMap, mark: &str) -> bool {
    headers.get(IF_RANGE).is_some_and(|known| known.as_bytes() != mark.as_bytes())
}

fn mark(body: &Bytes) -> String {
    format!("\"{:x}-{:08x}\"", body.len(), crc32fast::hash(body))
}

/// Parses a `Range` header. Invalid ranges are ignored. Multiple ranges are ignored too, because a
/// server may answer them with the whole body.
fn part(range: &str, length: usize) -> Part {
    let Some((first, last)) = range.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-'))
    else {
        return Part::All;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<usize>().unwrap_or(usize::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Part::All,
        (Some(first), _) if first >= length && (last.is_empty() || number(last).is_some()) => Part::Nothing,
        (Some(first), Some(last)) => Part::Some(first..last.saturating_add(1).min(length)),
        (Some(first), None) if last.is_empty() => Part::Some(first..length),
        (None, Some(0)) if first.is_empty() => Part::Nothing,
        (None, Some(count)) if first.is_empty() => Part::Some(length.saturating_sub(count)..length),
        _ => Part::All,
    }
}

#[cfg(test)]
mod tests {
    use market::FloorTable;

    use super::*;

    #[test]
    fn a_range_is_parsed_as_the_standard_requires() {
        let some = |range: Range<usize>| Part::Some(range);
        for (range, wanted) in [
            ("bytes=0-0", some(0..1)),
            ("bytes=2-5", some(2..6)),
            ("bytes=2-500", some(2..10)),
            ("bytes=2-", some(2..10)),
            ("bytes=-4", some(6..10)),
            ("bytes=-400", some(0..10)),
            ("bytes=9-99999999999999999999999", some(9..10)),
            ("bytes=10-", Part::Nothing),
            ("bytes=10-12", Part::Nothing),
            ("bytes=-0", Part::Nothing),
            ("bytes=5-2", Part::All),
            ("bytes=0-1,4-5", Part::All),
            ("bytes=-", Part::All),
            ("bytes=+1-2", Part::All),
            ("bytes=1-x", Part::All),
            ("lines=1-2", Part::All),
            ("", Part::All),
        ] {
            assert_eq!(part(range, 10), wanted, "{range}");
        }
    }

    fn whole(bytes: usize) -> WholeAnswer {
        let content_type = HeaderValue::from_static("text/csv");
        let scope = AnswerScope { has_overnight: false, floors: FloorTable::NONE.of(market::Market::Hk) };
        WholeAnswer { body: vec![0; bytes].into(), content_type, next: None, candles: 7, scope }
    }

    #[test]
    fn candle_counts_of_ranges_add_up() {
        let whole = whole(100);
        let candles = |method: Method, range: Option<&str>| {
            let range = range.map(|range| (RANGE, HeaderValue::from_str(range).unwrap()));
            cut(&whole, &method, &HeaderMap::from_iter(range)).unwrap().1
        };
        assert_eq!((candles(Method::GET, None), candles(Method::HEAD, None)), (7, 0));
        let parts = ["bytes=0-9", "bytes=10-49", "bytes=50-98", "bytes=-1"];
        assert_eq!(parts.map(|range| candles(Method::GET, Some(range))).iter().sum::<usize>(), 7);
        assert_eq!(candles(Method::GET, Some("bytes=100-")), 0);
        assert_eq!(candles(Method::HEAD, Some("bytes=0-9")), 0);
    }

    #[test]
    fn a_response_is_cached_per_account_and_query() {
        let (pieces, second) = (Pieces::default(), Duration::from_secs(1));
        pieces.store(AccountId(1), "a".to_owned(), second, whole(7));
        let found = |whose: i64, question: &str, now: Duration| {
            pieces.find(AccountId(whose), question, now).map(|whole| whole.body.len())
        };
        assert_eq!(found(1, "a", second), Some(7));
        assert_eq!(found(1, "b", second), None);
        assert_eq!(found(2, "a", second), None);
        assert_eq!(found(1, "a", second + KEPT_FOR), None);
    }

    #[test]
    fn a_response_is_charged_again_once_its_budget_is_spent() {
        let large = 1 << 20;
        for (piece, times) in [(large, 7), (2 * PIECE_MIN, 56), (0, 112)] {
            let pieces = Pieces::default();
            pieces.store(AccountId(1), "a".to_owned(), Duration::ZERO, whole(large));
            pieces.store(AccountId(2), "a".to_owned(), Duration::ZERO, whole(large));
            let mut given = 0;
            while pieces.find(AccountId(1), "a", Duration::ZERO).is_some() {
                pieces.spend(AccountId(1), "a", piece);
                given += 1;
            }
            assert_eq!(given, times, "pieces of {piece}");
            assert!(pieces.find(AccountId(2), "a", Duration::ZERO).is_some(), "another's is not touched");
        }
    }

    #[test]
    fn the_cache_is_limited_in_number_and_bytes() {
        let pieces = Pieces::default();
        for number in 0..100 {
            pieces.store(AccountId(1), number.to_string(), Duration::ZERO, whole(1));
        }
        assert_eq!(pieces.0.lock().unwrap().len(), KEPT_MAX);
        assert!(pieces.find(AccountId(1), "99", Duration::ZERO).is_some());
        pieces.store(AccountId(1), "large".to_owned(), Duration::ZERO, whole(BYTES_MAX));
        assert_eq!(pieces.0.lock().unwrap().len(), 1);
        pieces.store(AccountId(1), "too large".to_owned(), Duration::ZERO, whole(BYTES_MAX + 1));
        assert!(pieces.find(AccountId(1), "too large", Duration::ZERO).is_none());
    }
}
