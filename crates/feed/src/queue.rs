//! The bounded push queue of one connection. Connections share the encoded bytes of a push; only
//! merged quotes are encoded for a single connection, when they leave the queue.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use market::{Symbol, Turnover};

use crate::prints::Growth;
use crate::push::{Board, Push, QuotePush, Tag};
use crate::registry::SubType;

/// Most waiting pushes: two for each type of 500 subscriptions.
pub const PUSHES_MAX: usize = 4_096;
/// Most bytes of waiting pushes.
pub const BYTES_MAX: usize = 1 << 20;

const _: () = assert!(PUSHES_MAX >= 2 * 4 * 500);

/// A push with its encoding, for any number of connections.
#[derive(Clone, Debug)]
pub struct EncodedPush {
    symbol: Symbol,
    sub_type: SubType,
    bytes: Bytes,
    quote: Option<EncodedQuote>,
}

#[derive(Clone, Debug)]
struct EncodedQuote {
    quote: QuotePush,
    /// The same push with [`Tag::Eod`]; only where some connections need it.
    eod: Option<Bytes>,
}

/// The waiting pushes of one connection.
///
/// Quotes of securities are merged: while one waits, a newer one of the same security, trading day,
/// session and tag takes its place. Trades and quotes of indices are never merged or dropped,
/// because clients build candles of each of them.
#[derive(Debug, Default)]
pub struct PushQueue {
    /// Freed when the queue becomes empty, like `quotes`: most connections have nothing waiting.
    waiting: VecDeque<Waiting>,
    /// The number of the first waiting push. Pushes are numbered in the order of the queue.
    first: u64,
    /// By security, where quotes wait.
    quotes: HashMap<Symbol, WaitingQuotes>,
    bytes: usize,
    /// Securities of which the client was sent a quote with volume, until the connection closes.
    had_volume: HashSet<Symbol>,
    /// Queue length from which quotes are merged.
    merge_from: usize,
}

#[derive(Debug)]
struct Waiting {
    push: Arc<EncodedPush>,
    tag: Tag,
    /// The growth of the pushes that this one has replaced.
    replaced: Option<Box<Growth>>,
}

/// The waiting quotes of one security.
#[derive(Clone, Copy, Debug)]
struct WaitingQuotes {
    /// The number of the newest one.
    newest: u64,
    /// Whether one of them has volume, or had while newer ones waited.
    has_volume: bool,
}

/// A push to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// Already encoded.
    Shared { sub_type: SubType, bytes: Bytes },
    /// For this connection alone: merged of several pushes.
    Merged(QuotePush),
}

/// The client reads too slowly, and its connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too slow: {waiting} pushes waiting")]
pub struct Full {
    pub waiting: usize,
}

impl EncodedPush {
    /// Encodes a push once for all connections. Quotes without volume are also encoded with
    /// [`Tag::Eod`], for the connections that need this tag (see [`PushQueue::push`]).
    pub fn new(push: Push, encode: impl Fn(&Push) -> Bytes) -> EncodedPush {
        let (symbol, sub_type, bytes) = (push.symbol().clone(), push.sub_type(), encode(&push));
        let quote = match push {
            Push::Trades(_) => None,
            Push::Quote(quote) => {
                let has_variant = quote.tag == Tag::Normal && quote.figures.volume == 0;
                let eod =
                    has_variant.then(|| encode(&Push::Quote(QuotePush { tag: Tag::Eod, ..quote.clone() })));
                Some(EncodedQuote { quote, eod })
            }
        };
        EncodedPush { symbol, sub_type, bytes, quote }
    }

    pub fn symbol(&self) -> &Symbol {
        &self.symbol
    }

    pub fn sub_type(&self) -> SubType {
        self.sub_type
    }

    fn quote(&self) -> Option<&QuotePush> {
        self.quote.as_ref().map(|encoded| &encoded.quote)
    }

    fn has_volume(&self) -> bool {
        self.quote().is_some_and(|quote| quote.figures.volume > 0)
    }
}

impl PushQueue {
    /// Creates a queue that merges quotes only while at least this many pushes are queued. A short
    /// queue does not show that the client is slow: the pushes of one instant are queued together.
    pub fn merging_from(merge_from: usize) -> PushQueue {
        PushQueue { merge_from, ..PushQueue::default() }
    }

    /// Adds a push, or merges it with a waiting one. After an error the queue is unchanged.
    ///
    /// A quote without volume is tagged [`Tag::Eod`] if one with volume of the same security was
    /// sent or is waiting: clients read volume 0 as "unchanged", and would show the volume of the
    /// day before.
    pub fn push(&mut self, push: &Arc<EncodedPush>) -> Result<(), Full> {
        let waiting = Waiting { push: push.clone(), tag: self.tag(push), replaced: None };
        let full = Full { waiting: self.waiting.len() };
        let added = waiting.bytes().len();
        let place = self.replaceable(&waiting);
        if let Some(older) = place.and_then(|place| self.waiting.get_mut(place)) {
            let bytes = self.bytes.saturating_sub(older.bytes().len()).saturating_add(added);
            if bytes > BYTES_MAX {
                return Err(full);
            }
            *older = Waiting { replaced: Some(Box::new(older.growth())), ..waiting };
            self.bytes = bytes;
            if let Some(quotes) = self.quotes.get_mut(&push.symbol) {
                quotes.has_volume |= push.has_volume();
            }
            return Ok(());
        }
        if self.waiting.len() >= PUSHES_MAX || self.bytes.saturating_add(added) > BYTES_MAX {
            return Err(full);
        }
        note(&mut self.quotes, push, self.first + self.waiting.len() as u64);
        self.bytes += added;
        self.waiting.push_back(waiting);
        Ok(())
    }

    /// Takes the next push.
    pub fn pop(&mut self) -> Option<Outgoing> {
        let waiting = self.waiting.pop_front()?;
        if self.quotes.get(&waiting.push.symbol).is_some_and(|quotes| quotes.newest == self.first) {
            self.quotes.remove(&waiting.push.symbol);
        }
        self.first += 1;
        self.bytes = self.bytes.saturating_sub(waiting.bytes().len());
        if waiting.push.has_volume() && !self.had_volume.contains(&waiting.push.symbol) {
            self.had_volume.insert(waiting.push.symbol.clone());
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
            self.quotes = HashMap::new();
        }
        Some(waiting.outgoing())
    }

    /// Removes the waiting pushes of subscriptions that have ended.
    pub fn retain(&mut self, is_subscribed: impl Fn(&Symbol, SubType) -> bool) {
        self.waiting.retain(|waiting| is_subscribed(&waiting.push.symbol, waiting.push.sub_type));
        self.bytes = self.waiting.iter().map(|waiting| waiting.bytes().len()).sum();
        self.quotes = HashMap::new();
        for (number, waiting) in (self.first..).zip(&self.waiting) {
            note(&mut self.quotes, &waiting.push, number);
        }
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Bytes of the waiting pushes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn tag(&self, push: &EncodedPush) -> Tag {
        let Some(EncodedQuote { quote, eod: Some(_) }) = &push.quote else {
            return push.quote().map_or(Tag::Normal, |quote| quote.tag);
        };
        let is_waiting = self.quotes.get(&quote.symbol).is_some_and(|quotes| quotes.has_volume);
        if is_waiting || self.had_volume.contains(&quote.symbol) { Tag::Eod } else { Tag::Normal }
    }

    /// The place of the waiting push that a newer one replaces. Only a security's newest quote can
    /// be replaced: in the place of an older one, the newer sequence number would leave first.
    fn replaceable(&self, newer: &Waiting) -> Option<usize> {
        if self.waiting.len() < self.merge_from {
            return None;
        }
        let quote = newer.push.quote().filter(|quote| quote.board == Board::Security)?;
        let number = self.quotes.get(&quote.symbol)?.newest;
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let older = self.waiting.get(place)?;
        let other = older.push.quote()?;
        let is_same = (other.day, other.session, older.tag) == (quote.day, quote.session, newer.tag);
        is_same.then_some(place)
    }
}

/// Notes a push with the highest number so far as the newest of its security, if it is a quote.
fn note(quotes: &mut HashMap<Symbol, WaitingQuotes>, push: &EncodedPush, number: u64) {
    if push.quote.is_none() {
        return;
    }
    let before = quotes.get(&push.symbol).is_some_and(|quotes| quotes.has_volume);
    let quote = WaitingQuotes { newest: number, has_volume: before || push.has_volume() };
    quotes.insert(push.symbol.clone(), quote);
}

impl Waiting {
    /// The bytes with this connection's tag. Merging changes their length by a few digits, which
    /// are not counted.
    fn bytes(&self) -> &Bytes {
        let eod = self.push.quote.as_ref().and_then(|encoded| encoded.eod.as_ref());
        match (self.tag, eod) {
            (Tag::Eod, Some(eod)) => eod,
            _ => &self.push.bytes,
        }
    }

    fn growth(&self) -> Growth {
        let own = self.push.quote().map_or(Growth::default(), |quote| quote.growth);
        let replaced = self.replaced.as_deref().copied().unwrap_or_default();
        Growth {
            volume: own.volume.saturating_add(replaced.volume),
            turnover: Turnover(own.turnover.0.saturating_add(replaced.turnover.0)),
        }
    }

    fn outgoing(self) -> Outgoing {
        match (self.push.quote(), &self.replaced) {
            (Some(quote), Some(replaced)) if **replaced != Growth::default() => {
                Outgoing::Merged(QuotePush { growth: self.growth(), tag: self.tag, ..quote.clone() })
            }
            _ => Outgoing::Shared { sub_type: self.push.sub_type, bytes: self.bytes().clone() },
        }
    }
}
