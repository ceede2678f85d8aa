//! Rate limits for topics and replies. The caller passes the machine's time, in whole seconds.

use market::Timestamp;
use store::ReplyHistory;

/// Topic limits per account: the maximum number of topics, and the time window in seconds.
const TOPICS: [(usize, i64); 2] = [(3, MINUTE_S), (10, DAY_S)];
const MINUTE_S: i64 = 60;
const DAY_S: i64 = 86_400;
/// Number of replies to a topic that an account may write without waiting.
const FREE_REPLIES: u32 = 3;
/// Wait before each further reply to the same topic, in seconds. The last value applies to all
/// later replies.
const GAPS_S: [i64; 7] = [3, 5, 8, 13, 21, 34, 55];
/// Maximum number of replies per account within 24 hours, over all topics.
pub(crate) const REPLIES_A_DAY: u32 = 500;
const _: () = assert!(store::RECENT_TOPICS_MAX == 10);

/// Returns how many seconds an account must wait before it may write a topic, or `None` if it may
/// write now. `recent` holds the times of the account's last topics, newest first.
pub(crate) fn topic_wait(recent: &[Timestamp], now: Timestamp) -> Option<i64> {
    let waits = TOPICS.iter().filter_map(|(most, within)| {
        let first = recent.get(most.checked_sub(1)?)?;
        wait(*first, *within, now)
    });
    waits.max()
}

/// Returns how many seconds an account must wait before it may reply to a topic, or `None` if it
/// may reply now.
pub(crate) fn reply_wait(history: &ReplyHistory, now: Timestamp) -> Option<i64> {
    let gap = history.in_topic.checked_sub(FREE_REPLIES).and_then(|over| {
        let at = usize::try_from(over).unwrap_or(usize::MAX);
        GAPS_S.get(at).or(GAPS_S.last()).copied()
    });
    let after_last = gap.zip(history.last_in_topic).and_then(|(gap, last)| wait(last, gap, now));
    let of_day = history.far_back.and_then(|first| wait(first, DAY_S, now));
    after_last.max(of_day)
}

/// Returns how many seconds remain until `since + within`, or `None` if that time has passed. A
/// `since` in the future also returns `None`, because the clock must have been set back.
fn wait(since: Timestamp, within: i64, now: Timestamp) -> Option<i64> {
    let left = since.0.saturating_add(within).saturating_sub(now.0);
    (1..=within).contains(&left).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(1_800_000_000 + seconds)
    }

    #[test]
    fn topics_are_limited_per_minute_and_per_day() {
        let newest_first =
            |instants: &[i64]| instants.iter().rev().map(|second| at(*second)).collect::<Vec<_>>();
        for (written, now, expected) in [
            (&[][..], 0, None),
            (&[0, 1], 2, None),
            (&[0, 1, 2], 2, Some(58)),
            (&[0, 1, 2], 59, Some(1)),
            (&[0, 1, 2], 60, None),
            (&[0, 30, 59, 60], 60, Some(30)),
            (&[0, 100, 200, 300, 400, 500, 600, 700, 800, 900], 1_000, Some(85_400)),
            (&[0, 100, 200, 300, 400, 500, 600, 700, 800, 900], 86_400, None),
            // The clock was set back.
            (&[5_000, 5_001, 5_002], 0, None),
        ] {
            assert_eq!(topic_wait(&newest_first(written), at(now)), expected, "{written:?} at {now}");
        }
    }

    #[test]
    fn the_wait_between_replies_to_a_topic_grows() {
        let wait = |in_topic, passed| {
            let history =
                ReplyHistory { in_topic, last_in_topic: Some(at(0)), far_back: None, all_in_topic: in_topic };
            reply_wait(&history, at(passed))
        };
        assert_eq!([0, 1, 2].map(|count| wait(count, 0)), [None; 3]);
        let gaps: Vec<Option<i64>> = (3..12).map(|count| wait(count, 0)).collect();
        assert_eq!(gaps, [3, 5, 8, 13, 21, 34, 55, 55, 55].map(Some));
        assert_eq!([wait(3, 2), wait(3, 3), wait(9, 54), wait(9, 55)], [Some(1), None, Some(1), None]);
    }

    #[test]
    fn replies_are_limited_per_day() {
        let history =
            ReplyHistory { in_topic: 0, last_in_topic: None, far_back: Some(at(0)), all_in_topic: 0 };
        assert_eq!(reply_wait(&history, at(1_000)), Some(85_400));
        assert_eq!(reply_wait(&history, at(86_400)), None);
    }
}
