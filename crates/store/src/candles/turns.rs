//! Turns of the threads that write ingested rows to one SQLite database. SQLite lets one transaction
//! write, and the others poll with growing pauses: a merge among steady appends would wait for
//! seconds. Threads of one process take turns instead, and a merge that waits is next.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::engine::Db;

#[derive(Debug, Default)]
pub(crate) struct WriteTurns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_taken: bool,
    /// Number of merges that wait.
    merges: usize,
}

/// A thread's turn, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct WriteTurn(Arc<WriteTurns>);

impl WriteTurns {
    /// Waits for the turn to append a batch; `None` if the database needs no turns, because it locks
    /// rows.
    pub(super) fn append(turns: &Arc<WriteTurns>, db: &Db) -> Option<WriteTurn> {
        (!db.is_remote()).then(|| turns.clone().take(|state| state.merges > 0))
    }

    /// Waits for the turn to merge batches, before further appends.
    pub(super) fn merge(turns: &Arc<WriteTurns>, db: &Db) -> Option<WriteTurn> {
        (!db.is_remote()).then(|| {
            turns.lock().merges += 1;
            let turn = turns.clone().take(|_| false);
            turns.lock().merges -= 1;
            turn
        })
    }

    fn take(self: Arc<WriteTurns>, yields: impl Fn(&State) -> bool) -> WriteTurn {
        let state = self.lock();
        let wait = self.changed.wait_while(state, |state| state.is_taken || yields(state));
        wait.unwrap_or_else(PoisonError::into_inner).is_taken = true;
        WriteTurn(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WriteTurn {
    fn drop(&mut self) {
        self.0.lock().is_taken = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_waiting_merge_is_next() {
        let turns = Arc::<WriteTurns>::default();
        let (order, ended) = mpsc::channel();
        let first = turns.clone().take(|_| false);
        turns.lock().merges = 1;
        let appends = [(); 3].map(|()| {
            let (turns, order) = (turns.clone(), order.clone());
            std::thread::spawn(move || {
                let _turn = turns.take(|state| state.merges > 0);
                order.send("append").unwrap();
            })
        });
        drop(first);
        // No append takes the free turn.
        let merge = turns.clone().take(|_| false);
        order.send("merge").unwrap();
        turns.lock().merges = 0;
        drop(merge);
        appends.into_iter().for_each(|append| append.join().unwrap());
        assert_eq!(ended.try_iter().collect::<Vec<_>>(), ["merge", "append", "append", "append"]);
    }
}
