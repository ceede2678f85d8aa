use std::sync::mpsc;

use super::*;

const ANN: Share = Share { who: Who::Account(AccountId(1)), at_once: 5 };
const BOB: Share = Share { who: Who::Account(AccountId(2)), at_once: 5 };

/// Creates requests that report their start and run until released.
struct Gate {
    begun: mpsc::Receiver<&'static str>,
    sender: mpsc::Sender<&'static str>,
}

impl Gate {
    fn new() -> Gate {
        let (sender, begun) = mpsc::channel();
        Gate { begun, sender }
    }

    fn job(&self, name: &'static str) -> (impl FnOnce() + Send + 'static, mpsc::Sender<()>) {
        let (open, opened) = mpsc::channel::<()>();
        let sender = self.sender.clone();
        let work = move || {
            // The receiver may have been dropped.
            sender.send(name).ok();
            opened.recv().ok();
        };
        (work, open)
    }

    async fn next(self) -> (Gate, &'static str) {
        tokio::task::spawn_blocking(move || {
            let name = self.begun.recv().unwrap();
            (self, name)
        })
        .await
        .unwrap()
    }
}

#[tokio::test]
async fn no_caller_exceeds_its_share_of_threads() {
    let workers = Workers::new(3);
    let mut gate = Gate::new();
    let mut open = Vec::new();
    let two = Share { at_once: workers.most_at_once(), ..ANN };
    let mut actual = Vec::new();
    for _ in 0..10 {
        let (work, opened) = gate.job("ann");
        open.push(opened);
        actual.push(workers.submit(two, work).unwrap());
    }
    for _ in 0..2 {
        (gate, _) = gate.next().await;
    }
    assert_eq!(workers.load(), Load { threads: 3, running: 2, waiting: 8, refused: 0 });
    // One thread is immediately available for another caller.
    let (work, opened) = gate.job("bob");
    let of_bob = workers.submit(BOB, work).unwrap();
    let (gate, name) = gate.next().await;
    assert_eq!(name, "bob");
    assert_eq!(workers.load().running, 3);
    drop((opened, open, gate));
    of_bob.await.unwrap();
    for actual in actual {
        actual.await.unwrap();
    }
}

#[tokio::test]
async fn callers_with_long_queues_alternate_with_others() {
    let workers = Workers::new(1);
    let mut gate = Gate::new();
    let (plug, pull) = gate.job("plug");
    let plugged = workers.submit(ANN, plug).unwrap();
    (gate, _) = gate.next().await;
    let (order, ordered) = mpsc::channel();
    let note = |name: &'static str| {
        let order = order.clone();
        move || order.send(name).unwrap()
    };
    let mut actual: Vec<_> = (0..300).map(|_| workers.submit(ANN, note("ann")).unwrap()).collect();
    for _ in 0..3 {
        actual.push(workers.submit(BOB, note("bob")).unwrap());
    }
    drop((pull, gate));
    plugged.await.unwrap();
    for actual in actual {
        actual.await.unwrap();
    }
    let order: Vec<_> = ordered.try_iter().collect();
    let last_of_bob = order.iter().rposition(|name| *name == "bob").unwrap();
    assert!(last_of_bob <= 6, "bob's three were served {last_of_bob} turns late");
    assert_eq!(order.len(), 303);
    // The thread still has to check for more work before it stops.
    while workers.load().running > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(workers.load(), Load { threads: 1, ..Load::default() });
}

#[tokio::test]
async fn queues_are_bounded_per_caller_and_in_total() {
    let workers = Workers::new(1);
    let mut gate = Gate::new();
    let (plug, pull) = gate.job("plug");
    let plugged = workers.submit(BOB, plug).unwrap();
    (gate, _) = gate.next().await;
    let mut actual = Vec::new();
    let fill = |number: i64, actual: &mut Vec<_>| {
        let share = Share { who: Who::Account(AccountId(number)), at_once: 5 };
        let taken = (0..WAITING_EACH + 1).map_while(|_| workers.submit(share, || ()).ok());
        let before = actual.len();
        actual.extend(taken);
        actual.len() - before
    };
    for number in 10..10 + (WAITING_MAX / WAITING_EACH) as i64 {
        assert_eq!(fill(number, &mut actual), WAITING_EACH);
    }
    assert_eq!(fill(99, &mut actual), 0, "nobody has room when all have too much");
    assert_eq!(workers.load().waiting, WAITING_MAX);
    assert_eq!(workers.load().refused, 17);
    // Work whose receiver was dropped is skipped.
    drop(actual);
    drop((pull, gate));
    plugged.await.unwrap();
    while workers.load().waiting > 0 {
        tokio::task::yield_now().await;
    }
    workers.submit(ANN, || ()).unwrap().await.unwrap();
}

#[tokio::test]
async fn a_panic_affects_one_request_and_abandoned_work_is_skipped() {
    let workers = Workers::new(1);
    assert!(workers.submit(ANN, || panic!("on purpose")).unwrap().await.is_err());
    assert_eq!(workers.submit(ANN, || 7).unwrap().await, Ok(7));
    let mut gate = Gate::new();
    let (plug, pull) = gate.job("plug");
    let plugged = workers.submit(ANN, plug).unwrap();
    (gate, _) = gate.next().await;
    drop(workers.submit(ANN, || unreachable!("nobody waits for it")).unwrap());
    drop((pull, gate));
    plugged.await.unwrap();
    assert_eq!(workers.submit(BOB, || 8).unwrap().await, Ok(8));
}

#[test]
fn the_default_number_of_threads_is_bounded() {
    assert!((THREADS_LEAST..=THREADS_MAX).contains(&threads_of_this_machine()));
}
