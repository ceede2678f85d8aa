//! Changed candles that wait to be stored, and the batch that is being stored. A batch has a number
//! and is sent again until it is stored, so it is stored once.

use std::collections::BTreeMap;

use history::ingest::CandleInput;
use market::{Candle, Grain, Symbol, Timestamp};

use super::{Delivered, Delivery, Sink};

/// Maximum number of rows in a batch.
const BATCH_MAX: usize = 2_000;
/// Maximum time between two attempts to store a batch: 1, 2, 4 … 60 seconds.
const RETRY_MAX_MS: i64 = 60_000;

#[derive(Debug)]
pub(super) struct Outbox {
    source: String,
    /// The newest version of each changed candle.
    changed: BTreeMap<(Symbol, Timestamp), CandleInput>,
    unsent: Option<Delivery>,
    last_seq: Option<i64>,
    failures: u32,
    not_before_ms: i64,
}

impl Outbox {
    pub(super) fn new(mirror: &str) -> Outbox {
        Outbox {
            source: format!("mirror-{mirror}"),
            changed: BTreeMap::new(),
            unsent: None,
            last_seq: None,
            failures: 0,
            not_before_ms: 0,
        }
    }

    /// Adds a candle. `is_final` is `Some(false)` while pushes may still change it.
    pub(super) fn add(&mut self, symbol: &Symbol, candle: Candle, is_final: Option<bool>) {
        let row = CandleInput { symbol: symbol.clone(), grain: Grain::Minute, candle, is_final };
        self.changed.insert((symbol.clone(), candle.time), row);
    }

    pub(super) fn len(&self) -> usize {
        self.changed.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.unsent.is_none()
    }

    /// Sends the next batch. Returns the number of stored rows, or why the batch is not stored yet.
    pub(super) fn send(&mut self, sink: &dyn Sink, now_ms: i64) -> Result<usize, String> {
        if self.is_empty() || now_ms < self.not_before_ms {
            return Ok(0);
        }
        let delivery = match self.unsent.take() {
            Some(unsent) => unsent,
            None => self.next(now_ms),
        };
        let count = delivery.rows.len();
        match sink.put(&delivery) {
            Delivered::Stored => {
                self.last_seq = Some(delivery.seq);
                self.failures = 0;
                Ok(count)
            }
            Delivered::OutOfOrder => {
                self.last_seq = None;
                let seq = now_ms.max(delivery.seq.saturating_add(1));
                self.unsent = Some(Delivery { seq, gap: true, ..delivery });
                Ok(0)
            }
            Delivered::NotYet(reason) => {
                let pause = 1_000_i64.checked_shl(self.failures).unwrap_or(RETRY_MAX_MS).min(RETRY_MAX_MS);
                self.failures = self.failures.saturating_add(1).min(16);
                self.not_before_ms = now_ms + pause;
                self.unsent = Some(delivery);
                Err(reason)
            }
        }
    }

    /// The numbers of a process begin with its time, which is higher than the last number of an
    /// earlier process, because a process sends less than a batch per millisecond.
    fn next(&mut self, now_ms: i64) -> Delivery {
        let mut rows = Vec::new();
        while rows.len() < BATCH_MAX
            && let Some((_, row)) = self.changed.pop_first()
        {
            rows.push(row);
        }
        let source = self.source.clone();
        match self.last_seq {
            Some(last) => Delivery { source, seq: last.saturating_add(1), gap: false, rows },
            None => Delivery { source, seq: now_ms, gap: true, rows },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;

    use market::{Price, Session, Turnover};

    use super::*;

    /// Records the number, the gap and the volumes of each batch.
    struct Answers(RefCell<VecDeque<Delivered>>, RefCell<Vec<(i64, bool, Vec<i64>)>>);

    impl Sink for Answers {
        fn put(&self, delivery: &Delivery) -> Delivered {
            let volumes = delivery.rows.iter().map(|row| row.candle.volume).collect();
            self.1.borrow_mut().push((delivery.seq, delivery.gap, volumes));
            self.0.borrow_mut().pop_front().unwrap_or(Delivered::Stored)
        }
    }

    fn candle(minute: i64, volume: i64) -> Candle {
        let price = Price(1_000_000);
        Candle {
            time: Timestamp(minute * 60),
            open: price,
            high: price,
            low: price,
            close: price,
            volume,
            turnover: Turnover(0),
            session: Session::Intraday,
        }
    }

    #[test]
    fn a_batch_is_sent_until_it_is_stored_and_later_changes_wait() {
        let not_yet = Delivered::NotYet("busy".to_owned());
        let answers = [not_yet.clone(), not_yet, Delivered::Stored, Delivered::OutOfOrder];
        let sink = Answers(RefCell::new(answers.into()), RefCell::default());
        let (mut outbox, symbol) = (Outbox::new("up"), "700.HK".parse().unwrap());
        outbox.add(&symbol, candle(1, 1), None);
        outbox.add(&symbol, candle(1, 2), None);
        assert_eq!(outbox.send(&sink, 5_000), Err("busy".to_owned()));
        outbox.add(&symbol, candle(1, 3), None);
        assert_eq!(outbox.send(&sink, 5_500), Ok(0), "it waits a second");
        assert_eq!(outbox.send(&sink, 6_000), Err("busy".to_owned()));
        assert_eq!(outbox.send(&sink, 8_000), Ok(1));
        // Another process has used the next number.
        assert_eq!(outbox.send(&sink, 8_100), Ok(0));
        assert_eq!(outbox.send(&sink, 8_200), Ok(1));
        outbox.add(&symbol, candle(2, 4), None);
        assert_eq!(outbox.send(&sink, 8_300), Ok(1));
        assert!(outbox.is_empty());
        let first = || (5_000, true, vec![2]);
        let seen = sink.1.into_inner();
        assert_eq!(seen[..3], [first(), first(), first()]);
        assert_eq!(seen[3..], [(5_001, false, vec![3]), (8_100, true, vec![3]), (8_101, false, vec![4])]);
    }
}
