use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;

use super::*;

fn push(body: &'static str) -> Push {
    Push { command: 18, body: Bytes::from_static(body.as_bytes()) }
}

fn bodies(reader: &MailboxReader) -> Vec<String> {
    std::iter::from_fn(|| reader.take()).map(|push| String::from_utf8(push.body.to_vec()).unwrap()).collect()
}

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn look(reader: &MailboxReader) -> Mail {
    reader.look(&Context::from_waker(Waker::noop()))
}

#[test]
fn pushes_are_taken_in_order() {
    let (mailbox, reader) = Mailbox::new();
    for body in ["a", "bb", "a"] {
        mailbox.put(push(body)).unwrap();
    }
    assert_eq!(look(&reader), Mail::Pushes { bytes: 4 });
    assert_eq!(reader.take().unwrap(), push("a"));
    mailbox.put(push("c")).unwrap();
    assert_eq!(bodies(&reader), ["bb", "a", "c"]);
    assert_eq!(look(&reader), Mail::Nothing);
}

#[test]
fn a_full_mailbox_closes_the_connection() {
    let (mailbox, reader) = Mailbox::new();
    for _ in 0..PUSHES_MAX {
        mailbox.put(push("x")).unwrap();
    }
    assert_eq!(look(&reader), Mail::Pushes { bytes: PUSHES_MAX });
    assert_eq!(mailbox.put(push("y")), Err(PushError::TooSlow));
    assert_eq!(mailbox.put(push("z")), Err(PushError::Gone));
    assert_eq!(look(&reader), Mail::Kick(Kick::TooSlow));
    assert!(reader.is_empty(), "nothing is kept for a connection that ends");
}

#[test]
fn bytes_are_bounded_except_for_a_single_push() {
    let large = |length| Push { command: 18, body: Bytes::from(vec![0; length]) };
    let (mailbox, reader) = Mailbox::new();
    mailbox.put(large(2 * BYTES_MAX)).unwrap();
    assert_eq!(reader.take().unwrap().body.len(), 2 * BYTES_MAX);
    mailbox.put(large(1)).unwrap();
    mailbox.put(large(BYTES_MAX - 1)).unwrap();
    assert_eq!(look(&reader), Mail::Pushes { bytes: BYTES_MAX });
    assert_eq!(mailbox.put(large(1)), Err(PushError::TooSlow));
    let (mailbox, _reader) = Mailbox::new();
    mailbox.put(large(BYTES_MAX)).unwrap();
    assert_eq!(mailbox.put(large(1)), Err(PushError::TooSlow));
}

#[test]
fn puts_fail_once_the_reader_is_shut_or_dropped() {
    let (mailbox, reader) = Mailbox::new();
    mailbox.put(push("a")).unwrap();
    reader.shut();
    assert_eq!(mailbox.put(push("b")), Err(PushError::Gone));
    assert_eq!(bodies(&reader), ["a"]);
    let (mailbox, reader) = Mailbox::new();
    mailbox.put(push("a")).unwrap();
    drop(reader);
    assert_eq!(mailbox.clone().put(push("b")), Err(PushError::Gone));
    assert!(lock(&mailbox.0).queue.is_none());
}

#[test]
fn the_first_close_reason_wins() {
    let (mailbox, reader) = Mailbox::new();
    mailbox.put(push("a")).unwrap();
    mailbox.close(Kick::Superseded);
    mailbox.close(Kick::Silent);
    assert_eq!(mailbox.put(push("b")), Err(PushError::Gone));
    assert_eq!(look(&reader), Mail::Kick(Kick::Superseded));
}

#[test]
fn a_connection_is_woken_once_for_several_puts() {
    let (mailbox, reader) = Mailbox::new();
    mailbox.put(push("a")).unwrap();
    let woken = Arc::<Woken>::default();
    let waker = woken.clone().into();
    let cx = Context::from_waker(&waker);
    assert_eq!(reader.look(&cx), Mail::Pushes { bytes: 1 });
    assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    for _ in 0..3 {
        mailbox.put(push("b")).unwrap();
    }
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    reader.look(&cx);
    reader.look(&cx);
    mailbox.close(Kick::Silent);
    assert_eq!(woken.0.load(Ordering::Relaxed), 2);
}

#[test]
fn an_empty_mailbox_is_small() {
    let (mailbox, reader) = Mailbox::new();
    assert!(size_of::<Mutex<State>>() <= 64, "{} bytes", size_of::<Mutex<State>>());
    mailbox.put(push("a")).unwrap();
    reader.take();
    assert!(lock(&mailbox.0).queue.is_none());
}
