//! Bounded push queue of one connection. Connections share the encoded bytes of a push; only a
//! merged quote is encoded separately, when it is taken from the queue.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use market::{Symbol, Turnover};

use crate::prints::Growth;
use crate::push::{Board, Push, QuotePush, Tag};
use crate::registry::SubType;

/// Default maximum number of queued pushes. Allows two pushes of each type for 500 subscriptions.
pub const PUSHES_MAX: usize = 4_096;
/// Default maximum total size of the queued pushes, in bytes.
pub const BYTES_MAX: usize = 1 << 20;

const _: () = assert!(PUSHES_MAX >= 2 * 4 * 500);

/// An encoded push, shared by all connections that receive it.
#[derive(Clone, Debug)]
pub struct EncodedPush {
    /// `None` for a push of the world clock.
    symbol: Option<Symbol>,
    sub_type: SubType,
    sequence: i64,
    bytes: Bytes,
    quote: Option<EncodedQuote>,
    fingerprint: Fingerprint,
}

/// A hash of a security's symbol, computed once for all connections. The probability that two of
/// 500 securities have the same hash is 10⁻¹⁴; a quote might then get a wrong tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint(u64);

impl Fingerprint {
    fn of(symbol: &Symbol) -> Fingerprint {
        Fingerprint(BuildHasherDefault::<DefaultHasher>::default().hash_one(symbol))
    }
}

impl Hash for Fingerprint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// Returns a hash unchanged.
#[derive(Debug, Default)]
struct Unchanged(u64);

impl Hasher for Unchanged {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[derive(Clone, Debug)]
struct EncodedQuote {
    quote: QuotePush,
    /// The quote encoded with [`Tag::Eod`]. `None` unless the quote is tagged [`Tag::Normal`] and
    /// has no volume.
    eod: Option<Bytes>,
}

/// Unsent pushes of one connection.
///
/// A newer quote of a security replaces a queued quote with the same trading day, session and tag.
/// Trades and index quotes are never merged or dropped, because clients build candles from every
/// one of these pushes.
#[derive(Debug, Default)]
pub struct PushQueue {
    /// Freed when the queue becomes empty, because most connections have no queued pushes.
    waiting: VecDeque<Waiting>,
    /// Number of the first queued push. Pushes are numbered consecutively in queue order.
    first: u64,
    /// Queued quotes by security. A security without queued quotes has no entry. `None` until the
    /// queue is long enough for merging, and again when it is empty: a short queue needs no index.
    quotes: Option<HashMap<Symbol, WaitingQuotes>>,
    bytes: usize,
    /// Securities for which a quote with volume was sent on this connection.
    had_volume: HashSet<Fingerprint, BuildHasherDefault<Unchanged>>,
    /// Queue length at which the merging of quotes begins.
    merge_from: usize,
    limits: QueueLimits,
    /// First sequence number of discarded trades, by security.
    discarded: HashMap<Symbol, i64>,
}

/// Maximum number and total size of the queued pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueueLimits {
    pushes_max: usize,
    bytes_max: usize,
}

impl Default for QueueLimits {
    fn default() -> QueueLimits {
        QueueLimits { pushes_max: PUSHES_MAX, bytes_max: BYTES_MAX }
    }
}

#[derive(Debug)]
struct Waiting {
    push: Arc<EncodedPush>,
    tag: Tag,
    /// Total growth of the quotes that this push has replaced, or `None` if it has replaced no
    /// quote.
    replaced: Option<Box<Growth>>,
}

/// State of a security's queued quotes.
#[derive(Clone, Copy, Debug)]
struct WaitingQuotes {
    /// Queue number of the newest quote.
    newest: u64,
    /// Whether any of the quotes has volume. Remains set after the quote with volume was sent or
    /// replaced, as long as newer quotes are queued.
    has_volume: bool,
}

/// A push taken from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// An encoded push, whose bytes are shared with other connections.
    Shared { sub_type: SubType, bytes: Bytes },
    /// A quote merged from several pushes, which the caller must encode for this connection.
    Merged(QuotePush),
}

/// The queue is full because the client reads too slowly. The caller must close the connection.
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
        let sequence = push.sequence();
        let quote = match push {
            Push::Trades(_) => None,
            Push::Quote(quote) => {
                let has_variant = quote.tag == Tag::Normal && quote.figures.volume == 0;
                let eod =
                    has_variant.then(|| encode(&Push::Quote(QuotePush { tag: Tag::Eod, ..quote.clone() })));
                Some(EncodedQuote { quote, eod })
            }
        };
        let fingerprint = Fingerprint::of(&symbol);
        EncodedPush { symbol: Some(symbol), sub_type, sequence, bytes, quote, fingerprint }
    }

    /// Returns a push of the world clock in the form of a quote. It is never merged, so a client
    /// receives every movement.
    pub fn of_clock(bytes: Bytes) -> EncodedPush {
        let fingerprint = Fingerprint(0);
        EncodedPush { symbol: None, sub_type: SubType::Quote, sequence: 0, bytes, quote: None, fingerprint }
    }

    /// Returns the security, or `None` for a push of the world clock.
    pub fn symbol(&self) -> Option<&Symbol> {
        self.symbol.as_ref()
    }

    pub fn sub_type(&self) -> SubType {
        self.sub_type
    }

    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// Returns the encoded push. A connection may get a variant with another tag.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
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

    /// Sets the maximum number and total size of the queued pushes.
    pub fn with_limits(self, pushes_max: usize, bytes_max: usize) -> PushQueue {
        PushQueue { limits: QueueLimits { pushes_max, bytes_max }, ..self }
    }

    /// Adds a push, or merges it with a queued one. After an error the queue is unchanged.
    ///
    /// A quote without volume is tagged [`Tag::Eod`] if a quote with volume for the same security
    /// was sent or is queued. Clients read volume 0 as "unchanged", and would otherwise show the
    /// previous day's volume.
    pub fn push(&mut self, push: &Arc<EncodedPush>) -> Result<(), Full> {
        if self.quotes.is_none() && self.waiting.len() >= self.merge_from {
            self.quotes = Some(self.index());
        }
        let waiting = Waiting { push: push.clone(), tag: self.tag(push), replaced: None };
        let full = Full { waiting: self.waiting.len() };
        let added = waiting.bytes().len();
        let place = self.replaceable(&waiting);
        if let Some(older) = place.and_then(|place| self.waiting.get_mut(place)) {
            let bytes = self.bytes.saturating_sub(older.bytes().len()).saturating_add(added);
            if bytes > self.limits.bytes_max {
                return Err(full);
            }
            *older = Waiting { replaced: Some(Box::new(older.growth())), ..waiting };
            self.bytes = bytes;
            let quotes = self.quotes.as_mut().zip(push.symbol());
            if let Some(quotes) = quotes.and_then(|(quotes, symbol)| quotes.get_mut(symbol)) {
                quotes.has_volume |= push.has_volume();
            }
            return Ok(());
        }
        let QueueLimits { pushes_max, bytes_max } = self.limits;
        if self.waiting.len() >= pushes_max || self.bytes.saturating_add(added) > bytes_max {
            return Err(full);
        }
        if let Some(quotes) = &mut self.quotes {
            note(quotes, push, self.first + self.waiting.len() as u64);
        }
        self.bytes += added;
        self.waiting.push_back(waiting);
        Ok(())
    }

    /// Returns the first sequence number of trades that were queued but not sent, by security.
    pub fn unsent_trades(&self) -> HashMap<Symbol, i64> {
        let mut unsent = self.discarded.clone();
        for waiting in self.waiting.iter().filter(|waiting| waiting.push.sub_type == SubType::Trades) {
            if let Some(symbol) = waiting.push.symbol() {
                unsent.entry(symbol.clone()).or_insert(waiting.push.sequence);
            }
        }
        unsent
    }

    /// Frees the queued pushes, which will not be sent. The sequence numbers of unsent trades
    /// remain available.
    pub fn discard(&mut self) {
        let (discarded, limits, merge_from) = (self.unsent_trades(), self.limits, self.merge_from);
        *self = PushQueue { discarded, limits, merge_from, ..PushQueue::default() };
    }

    /// Removes and returns the next push, or `None` if the queue is empty.
    pub fn pop(&mut self) -> Option<Outgoing> {
        let waiting = self.waiting.pop_front()?;
        if let (Some(quotes), Some(symbol)) = (&mut self.quotes, waiting.push.symbol())
            && quotes.get(symbol).is_some_and(|quotes| quotes.newest == self.first)
        {
            quotes.remove(symbol);
        }
        self.first += 1;
        self.bytes = self.bytes.saturating_sub(waiting.bytes().len());
        if waiting.push.has_volume() {
            self.had_volume.insert(waiting.push.fingerprint);
        }
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
            self.quotes = None;
        }
        Some(waiting.outgoing())
    }

    /// Removes the queued pushes for which `is_subscribed` returns false. The symbol of a push of
    /// the world clock is `None`.
    pub fn retain(&mut self, is_subscribed: impl Fn(Option<&Symbol>, SubType) -> bool) {
        self.waiting.retain(|waiting| is_subscribed(waiting.push.symbol(), waiting.push.sub_type));
        self.bytes = self.waiting.iter().map(|waiting| waiting.bytes().len()).sum();
        self.quotes = self.quotes.is_some().then(|| self.index());
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the total size of the queued pushes, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn index(&self) -> HashMap<Symbol, WaitingQuotes> {
        let mut quotes = HashMap::new();
        for (number, waiting) in (self.first..).zip(&self.waiting) {
            note(&mut quotes, &waiting.push, number);
        }
        quotes
    }

    fn tag(&self, push: &EncodedPush) -> Tag {
        let Some(EncodedQuote { quote, eod: Some(_) }) = &push.quote else {
            return push.quote().map_or(Tag::Normal, |quote| quote.tag);
        };
        let is_waiting = match &self.quotes {
            Some(quotes) => quotes.get(&quote.symbol).is_some_and(|quotes| quotes.has_volume),
            None => {
                self.waiting.iter().any(|of| of.push.has_volume() && of.push.symbol() == Some(&quote.symbol))
            }
        };
        if is_waiting || self.had_volume.contains(&push.fingerprint) { Tag::Eod } else { Tag::Normal }
    }

    /// Returns the index of the queued quote that `newer` replaces, or `None` if `newer` must be
    /// appended. Only a security's newest quote can be replaced, because replacing an older quote
    /// would send sequence numbers out of order.
    fn replaceable(&self, newer: &Waiting) -> Option<usize> {
        if self.waiting.len() < self.merge_from {
            return None;
        }
        let quote = newer.push.quote().filter(|quote| quote.board == Board::Security)?;
        let number = self.quotes.as_ref()?.get(&quote.symbol)?.newest;
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let older = self.waiting.get(place)?;
        let other = older.push.quote()?;
        let is_same = (other.day, other.session, older.tag) == (quote.day, quote.session, newer.tag);
        is_same.then_some(place)
    }
}

/// Records a quote as the newest of its security. `number` must be greater than all earlier queue
/// numbers. Ignores pushes that are not quotes.
fn note(quotes: &mut HashMap<Symbol, WaitingQuotes>, push: &EncodedPush, number: u64) {
    let (Some(symbol), true) = (push.symbol(), push.quote.is_some()) else { return };
    let before = quotes.get(symbol).is_some_and(|quotes| quotes.has_volume);
    let quote = WaitingQuotes { newest: number, has_volume: before || push.has_volume() };
    quotes.insert(symbol.clone(), quote);
}

impl Waiting {
    /// Returns the encoding with this connection's tag. The encoding of a merged quote may differ
    /// in length by a few digits, which the byte limit ignores.
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
