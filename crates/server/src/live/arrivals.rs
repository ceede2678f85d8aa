//! Publishes ingested rows under the machine clock. Every node computes the same pushes from the
//! committed batches, with which their sequence numbers are stored.

use std::collections::{HashMap, HashSet};

use feed::{
    Board, Clock, Due, Figures, Growth, Minute, PRINTS_MAX, Phase, Published, Push, QuotePush, Sequence, Tag,
    TradeStatus, Traded, Update, corrected, end_of_day, single_trades,
};
use history::ingest::{Commit, CommittedCandle, CommittedTrade, Effect};
use history::{AsOf, History, HistoryError, status_changes, trade_status};
use market::{Candle, Date, Grain, Session, Symbol, Timestamp, Trade, TradeHours, Trades, Turnover, Venue};
use store::Reader;

use crate::suspect::Suspect;

const MICROSECONDS: i64 = 1_000_000;
const LANES: usize = Session::ALL.len();

/// The published state of subscribed securities.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// The last published batch.
    pub(crate) through: Option<i64>,
    /// The last sequence number reserved for the published batches.
    pub(crate) numbered: i64,
    securities: HashMap<Symbol, Security>,
}

#[derive(Debug)]
struct Security {
    board: Board,
    status: TradeStatus,
    /// The newest minute of each session, by session code.
    lanes: [Option<Lane>; LANES],
    /// The newest minute of each session in the state of clients, if it differs from the stored
    /// candle, because clients received single trades that the candle may not include, or a candle
    /// that does not continue these trades.
    traded: [Option<Traded>; LANES],
    /// The last day whose daily candle was published at or after the end of the day.
    day: Option<Date>,
    /// The last quote of a daily candle.
    daily: Option<QuotePush>,
    /// The last sequence number reserved for the pushes of the security; 0 if none is reserved.
    number: i64,
}

/// The newest minute of a session.
#[derive(Clone, Debug)]
struct Lane {
    /// The session's figures without this minute.
    before: Option<Figures>,
    minute: Minute,
    published: Published,
    /// The last quote of this session.
    last: QuotePush,
    /// Whether the minute has no candle and is folded from single trades.
    is_traded: bool,
}

/// Returns the sequence numbers that precede the pushes of a row in a batch.
pub(crate) fn numbers(commit: &Commit, row: usize) -> Sequence {
    let last = commit.numbers(row).start().saturating_sub(1);
    Sequence { quote: last, trades: last }
}

/// Returns the sequence number that precedes a push that is due at an instant without a batch. Such
/// pushes have lower numbers than the batches of the same second.
fn number_at(at: Timestamp) -> i64 {
    at.0.saturating_mul(MICROSECONDS).saturating_sub(2)
}

impl Arrivals {
    /// Creates a state without securities that begins after a batch. `last` is this batch.
    pub(crate) fn after(through: i64, last: Option<&Commit>) -> Arrivals {
        let numbered = last.map_or(0, last_number);
        Arrivals { through: Some(through), numbered, securities: HashMap::new() }
    }

    /// Removes securities without subscribers.
    pub(crate) fn forget(&mut self, symbols: &[Symbol]) {
        self.securities.retain(|symbol, _| symbols.binary_search(symbol).is_ok());
    }

    /// Reads the current state of a security that gets its first subscriber.
    pub(crate) fn load(
        &mut self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<(), HistoryError> {
        if !self.securities.contains_key(symbol) {
            let security = Security::read(history, reader, symbol, now)?;
            self.securities.insert(symbol.clone(), security);
        }
        Ok(())
    }

    /// Returns the number of a security's last push, or the number that the push would have had if
    /// the security had subscribers. The number is the same on every server. Returns `None` if no
    /// row of the security was ingested.
    pub(crate) fn number(&self, symbol: &Symbol) -> Option<i64> {
        self.securities.get(symbol).map(|security| security.number).filter(|number| *number > 0)
    }

    /// Returns the last quote of a security in the sessions for which `sees` returns true.
    pub(crate) fn last(&self, symbol: &Symbol, sees: impl Fn(Session) -> bool) -> Option<QuotePush> {
        let security = self.securities.get(symbol)?;
        let last = security.quotes().filter(|quote| sees(quote.session) && quote.sequence > 0);
        let status = security.status;
        last.max_by_key(|quote| quote.sequence).map(|last| QuotePush { status, ..last.clone() })
    }

    /// Returns the state of a security's current minute or day at an instant, in the sessions for
    /// which `sees` returns true. The sequence number of a state that was not pushed is 0.
    pub(crate) fn running(
        &self,
        venue: &Venue,
        symbol: &Symbol,
        at: Timestamp,
        sees: impl Fn(Session) -> bool,
    ) -> Option<QuotePush> {
        let security = self.securities.get(symbol)?;
        let minutes = security.lanes.iter().flatten().filter(|lane| at < lane.minute.acts_at());
        let daily = security.daily.iter().filter(|daily| at < venue.day_end(daily.day));
        let running = minutes.map(|lane| &lane.last).chain(daily).filter(|quote| sees(quote.session));
        let status = security.status;
        running.max_by_key(|quote| quote.time).map(|quote| QuotePush { status, ..quote.clone() })
    }

    /// Returns the kind of a security.
    pub(crate) fn board(&self, symbol: &Symbol) -> Board {
        self.securities.get(symbol).map_or(Board::Security, |security| security.board)
    }

    /// Returns the pushes for a change of a security's status at an instant. `last_quote` reads the
    /// last quote if it is not in memory.
    pub(crate) fn new_status(
        &mut self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        at: Timestamp,
        last_quote: impl FnOnce(&mut Reader) -> Result<Option<QuotePush>, HistoryError>,
    ) -> Result<Option<Due>, HistoryError> {
        let Some(security) = self.securities.get_mut(symbol) else { return Ok(None) };
        let Some(stored) = reader.view().security(symbol)? else { return Ok(None) };
        let status = trade_status(&stored, history.venue(symbol), at);
        if std::mem::replace(&mut security.status, status) == status {
            return Ok(None);
        }
        // A connection without overnight data gets this push too.
        let quotes = security.quotes().filter(|quote| quote.session != Session::Overnight);
        let last = match quotes.max_by_key(|quote| quote.time) {
            Some(last) => Some(last.clone()),
            None => last_quote(reader)?,
        };
        let Some(last) = last else { return Ok(None) };
        let mut sequence = security.scheduled(at);
        let push = last.with_status(status, &mut sequence);
        security.number = sequence.quote;
        security.note(&push);
        Ok(Some(due(at, Phase::Status, symbol, (vec![Push::Quote(push)], false))))
    }

    /// Returns the push of a stored daily candle at the end of its day, unless it was already
    /// published.
    pub(crate) fn end_day(
        &mut self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        day: Date,
    ) -> Result<Option<Due>, HistoryError> {
        let venue = history.venue(symbol);
        let Some(security) = self.securities.get_mut(symbol) else { return Ok(None) };
        let Ok(next) = day.tomorrow() else { return Ok(None) };
        let candle = history.last_day(reader.view(), symbol, next)?;
        let candle = candle.filter(|candle| venue.zone().date(candle.time) == day);
        let Some(candle) = candle.filter(|_| security.day < Some(day)) else { return Ok(None) };
        let at = venue.day_end(day);
        let mut sequence = security.scheduled(at);
        let pushes = security.end_of_day(venue, symbol, &candle, &mut sequence);
        security.number = sequence.quote;
        Ok(Some(due(at, Phase::EndOfDay, symbol, (pushes, false))))
    }

    /// Returns the pushes of a batch, in order. Only securities for which `is_subscribed` returns
    /// true have pushes.
    pub(crate) fn commit(
        &mut self,
        history: &History,
        reader: &mut Reader,
        commit: &Commit,
        is_subscribed: impl Fn(&Symbol) -> bool,
    ) -> Result<Vec<Due>, HistoryError> {
        let at = Timestamp(commit.at_us / MICROSECONDS);
        self.numbered = self.numbered.max(last_number(commit));
        let mut dues = Vec::new();
        let mut damaged: HashSet<&Symbol> = HashSet::new();
        let subscribed = |(_, of): &(usize, &CommittedCandle)| is_subscribed(&of.symbol);
        for (row, arrived) in commit.candles.iter().enumerate().filter(subscribed) {
            let symbol = &arrived.symbol;
            if damaged.contains(symbol) {
                continue;
            }
            let pushes = self.candle(history, reader, arrived, at, &mut numbers(commit, row));
            match self.unless_damaged(reader, symbol, pushes)? {
                Some(pushes) => dues.push(due(at, Phase::Acts, symbol, pushes)),
                None => drop(damaged.insert(symbol)),
            }
        }
        let seconds = by_second(commit, &is_subscribed);
        let last: HashMap<&Symbol, usize> =
            seconds.iter().enumerate().map(|(place, of)| (of.symbol, place)).collect();
        for (place, second) in seconds.iter().enumerate() {
            let symbol = second.symbol;
            if damaged.contains(symbol) {
                continue;
            }
            let mut sequence = second.sequence;
            // Minutes are folded from all trades of the batch together.
            let builds = match commit.builds {
                true if last.get(symbol) == Some(&place) => Builds::Now,
                true => Builds::Later,
                false => Builds::Nothing,
            };
            let pushes = self.second(history, reader, (second, builds), at, &mut sequence);
            match self.unless_damaged(reader, symbol, pushes)? {
                Some(pushes) => dues.push(due(at, Phase::Acts, symbol, pushes)),
                None => drop(damaged.insert(symbol)),
            }
        }
        dues.retain(|due| !due.pushes.is_empty());
        self.end_numbers(commit, &mut dues);
        Ok(dues)
    }

    /// Sets the sequence number of the last quote of each security in a batch to the last number
    /// that the batch reserves for the security. Servers that did not compute this quote can then
    /// derive its number.
    fn end_numbers(&mut self, commit: &Commit, dues: &mut [Due]) {
        let last = commit.last_numbers();
        let mut without_quote: HashSet<&Symbol> = last.keys().copied().collect();
        for due in dues.iter_mut().rev() {
            let quote = due.pushes.iter_mut().rev().find_map(|push| match push {
                Push::Quote(quote) => Some(quote),
                Push::Trades(_) => None,
            });
            if let (Some(quote), Some(number)) = (quote, last.get(&due.symbol))
                && without_quote.remove(&due.symbol)
                && let Some(security) = self.securities.get_mut(&due.symbol)
            {
                let before = std::mem::replace(&mut quote.sequence, *number);
                security.renumber(before, *number);
            }
        }
        for (symbol, number) in last {
            if let Some(security) = self.securities.get_mut(symbol) {
                security.number = security.number.max(number);
            }
        }
    }

    /// Returns the pushes of an ingested candle.
    fn candle(
        &mut self,
        history: &History,
        reader: &mut Reader,
        arrived: &CommittedCandle,
        at: Timestamp,
        sequence: &mut Sequence,
    ) -> Result<Pushes, HistoryError> {
        let security = self.security(history, reader, &arrived.symbol, at)?;
        let venue = history.venue(&arrived.symbol);
        let pushes = match arrived.grain {
            Grain::Day => (security.day(venue, arrived, at, sequence), false),
            _ => security.minute(history, reader, arrived, at, sequence)?,
        };
        Ok(security.marked(pushes))
    }

    /// Returns the pushes of ingested trades, and of the candles built from them.
    fn second(
        &mut self,
        history: &History,
        reader: &mut Reader,
        (TradesOfSecond { symbol, trades, .. }, builds): (&TradesOfSecond<'_>, Builds),
        at: Timestamp,
        sequence: &mut Sequence,
    ) -> Result<Pushes, HistoryError> {
        let security = self.security(history, reader, symbol, at)?;
        let venue = history.venue(symbol);
        let mut pushes = security.trades(venue, symbol, trades, sequence);
        security.note_trades(venue, trades);
        if builds == Builds::Nothing {
            pushes.extend(security.folded(history, reader, (symbol, trades, at), sequence)?);
        }
        let mut is_unreachable = false;
        if let Some(trade) = trades.last().filter(|_| builds == Builds::Now) {
            let (rebuilt, of_others) = security.rebuilt(history, reader, (symbol, trade), sequence)?;
            pushes.extend(rebuilt);
            is_unreachable = of_others;
        }
        Ok(security.marked((pushes, is_unreachable)))
    }

    /// Replaces the error of reading a damaged security by `None`, so that the error does not stop
    /// the pushes of other securities. The state of the security is read again with its next row.
    pub(crate) fn unless_damaged<T>(
        &mut self,
        reader: &mut Reader,
        symbol: &Symbol,
        read: Result<T, HistoryError>,
    ) -> Result<Option<T>, HistoryError> {
        match read {
            Err(error) if error.damaged_symbol().is_some() => {
                tracing::error!(%error, "cannot push a damaged security");
                reader.view().doubt(symbol);
                self.securities.remove(symbol);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Returns the state of a security. If this is the first row of the security, its state is
    /// added without published quotes.
    fn security(
        &mut self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        at: Timestamp,
    ) -> Result<&mut Security, HistoryError> {
        if !self.securities.contains_key(symbol) {
            let security = Security::read(history, reader, symbol, at)?;
            let security = Security { lanes: Default::default(), daily: None, ..security };
            self.securities.insert(symbol.clone(), security);
        }
        self.securities.get_mut(symbol).ok_or_else(|| HistoryError::UnknownSecurity(symbol.clone()))
    }
}

/// Whether candles are built from the trades of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Builds {
    Nothing,
    /// Candles are built together with later trades of the batch.
    Later,
    Now,
}

/// The trades of one security and second in a batch.
pub(crate) struct TradesOfSecond<'a> {
    pub(crate) symbol: &'a Symbol,
    /// The sequence numbers that precede the pushes of these trades.
    pub(crate) sequence: Sequence,
    pub(crate) trades: Vec<Trade>,
}

/// Groups the trades of a batch by security and second, in the order of their first rows. The
/// sequence numbers of a second begin with the number of its first row, or after the numbers of the
/// security's previous second if those are higher. The trades of a second may be far apart in the
/// batch, and their pushes may need more numbers than the first row reserves.
pub(crate) fn by_second(commit: &Commit, is_subscribed: impl Fn(&Symbol) -> bool) -> Vec<TradesOfSecond<'_>> {
    let mut seconds: Vec<TradesOfSecond<'_>> = Vec::new();
    let mut places: HashMap<(&Symbol, Timestamp), usize> = HashMap::new();
    for (row, CommittedTrade { symbol, trade }) in commit.trades.iter().enumerate() {
        if !is_subscribed(symbol) {
            continue;
        }
        let place = *places.entry((symbol, trade.time)).or_insert(seconds.len());
        match seconds.get_mut(place) {
            Some(second) => second.trades.push(*trade),
            None => {
                let sequence = numbers(commit, commit.candles.len() + row);
                seconds.push(TradesOfSecond { symbol, sequence, trades: vec![*trade] });
            }
        }
    }
    let mut used: HashMap<&Symbol, i64> = HashMap::new();
    for TradesOfSecond { symbol, sequence, trades } in &mut seconds {
        let used = used.entry(symbol).or_default();
        let before = sequence.quote.max(*used);
        *sequence = Sequence { quote: before, trades: before };
        // Quotes have separate numbers, and each second has at most one quote.
        let pushes = trades.len().div_ceil(PRINTS_MAX);
        *used = before.saturating_add(i64::try_from(pushes).unwrap_or(i64::MAX));
    }
    seconds
}

/// Returns the minute of a trade. Trades of a closing auction belong to the minute that ends the
/// trading hours.
pub(crate) fn minute_of(venue: &Venue, trade: &Trade) -> Option<Minute> {
    let place = TradeHours::new(venue).place(trade.time).ok()?;
    Minute::of(venue, place.minute?)
}

/// Pushes, and whether they belong to a minute that clients cannot build from its trades.
type Pushes = (Vec<Push>, bool);

fn due(at: Timestamp, phase: Phase, symbol: &Symbol, (pushes, is_unreachable): Pushes) -> Due {
    Due { at, phase, symbol: symbol.clone(), pushes, is_unreachable }
}

/// Returns the last sequence number reserved for a batch.
fn last_number(commit: &Commit) -> i64 {
    numbers(commit, commit.candles.len() + commit.trades.len()).quote
}

impl Security {
    fn read(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<Security, HistoryError> {
        let venue = history.venue(symbol);
        let stored = reader.view().security(symbol)?;
        let status = stored.as_ref().map(|stored| trade_status(stored, venue, now)).unwrap_or_default();
        let changes = stored.as_ref().map(|stored| status_changes(stored, venue)).unwrap_or_default();
        let name = stored.and_then(|stored| stored.board);
        let board = name.as_deref().map_or(Board::Security, Board::of_name);
        let (lanes, traded) = Default::default();
        let changed_at = changes.iter().map(|change| change.at).filter(|at| *at <= now).max();
        let number = reader.view().push_number(symbol)?.unwrap_or(0);
        let mut security = Security { board, status, lanes, traded, day: None, daily: None, number };
        for session in Session::ALL {
            let newest = history.last_minute_of(reader.view(), symbol, session, now)?;
            let fold = history.last_fold_of(reader.view(), symbol, session, AsOf::Live(now))?;
            let newest = newest.into_iter().chain(fold).map(|candle| candle.time).max();
            let Some(day) = newest.and_then(|stamp| venue.trading_day(stamp)) else { continue };
            let lane = Lane::read(history, reader, symbol, board, (day, session, now))?;
            if let Some(place) = security.lanes.get_mut(usize::from(session.code())) {
                *place = lane;
            }
        }
        security.traded = security.traded_now(history, reader, symbol, now)?;
        if let Ok(tomorrow) = venue.zone().date(now).tomorrow() {
            let candle = history.last_day(reader.view(), symbol, tomorrow)?;
            let day = candle.map(|candle| venue.zone().date(candle.time));
            security.day = day.filter(|day| venue.day_end(*day) <= now);
            if let Some((candle, day)) = candle.zip(day).filter(|_| security.day.is_none()) {
                security.daily = security.running_day(venue, symbol, (&candle, day), now);
            }
        }
        // Pushes that are due without a batch have sequence numbers derived from their time.
        if security.number > 0 {
            let due = security.day.map(|day| venue.day_end(day)).into_iter().chain(changed_at).max();
            security.number = due.map_or(security.number, |at| security.number.max(number_at(at) + 1));
        }
        Ok(security)
    }

    /// Returns the newest minute of each session in the state of clients, if the minute has single
    /// trades and no candle.
    fn traded_now(
        &self,
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        now: Timestamp,
    ) -> Result<[Option<Traded>; LANES], HistoryError> {
        let mut traded = [None; LANES];
        let venue = history.venue(symbol);
        // The trades of the current minute may not have set a price.
        let running = TradeHours::new(venue).place(now).ok().and_then(|place| place.minute);
        let running = running.and_then(|stamp| Minute::of(venue, stamp));
        for (lane, (traded, stored)) in traded.iter_mut().zip(&self.lanes).enumerate() {
            let of_lane = running.filter(|minute| usize::from(minute.session.code()) == lane);
            let minute = match stored {
                Some(stored) if of_lane.is_none_or(|running| running.stamp <= stored.minute.stamp) => {
                    Some(stored.minute).filter(|_| stored.is_traded)
                }
                _ => of_lane,
            };
            if let Some(minute) = minute.filter(|_| self.board == Board::Security) {
                *traded = of_trades(history, reader, symbol, &minute)?;
            }
        }
        Ok(traded)
    }

    /// Returns the sequence numbers that precede the pushes due at an instant without a batch.
    fn scheduled(&self, at: Timestamp) -> Sequence {
        Sequence { quote: number_at(at).max(self.number), trades: 0 }
    }

    /// Changes the sequence number of the last quote from `before` to `number`.
    fn renumber(&mut self, before: i64, number: i64) {
        let lanes = self.lanes.iter_mut().flatten().map(|lane| &mut lane.last);
        if let Some(last) = lanes.chain(&mut self.daily).find(|last| last.sequence == before) {
            last.sequence = number;
        }
    }

    /// Returns the last quotes of the sessions and the last quote of the daily candle.
    fn quotes(&self) -> impl Iterator<Item = &QuotePush> {
        self.lanes.iter().flatten().map(|lane| &lane.last).chain(&self.daily)
    }

    /// Records a quote that repeats the last quote with a new status.
    fn note(&mut self, push: &QuotePush) {
        let lanes = self.lanes.iter_mut().flatten().map(|lane| &mut lane.last);
        let same = |last: &&mut QuotePush| (last.session, last.time) == (push.session, push.time);
        match lanes.chain(&mut self.daily).find(same) {
            Some(last) => *last = push.clone(),
            None => self.daily = Some(push.clone()),
        }
    }

    /// Sets the current status in the quotes of some pushes.
    fn marked(&self, (mut pushes, is_unreachable): Pushes) -> Pushes {
        for push in &mut pushes {
            if let Push::Quote(quote) = push {
                quote.status = self.status;
            }
        }
        (pushes, is_unreachable)
    }

    /// Returns the quote of a daily candle before the end of its day. The candle's figures are
    /// those of the day only while there are no minutes in regular hours. The quote has no growth,
    /// because clients add the growth of an index to a minute.
    fn running_day(
        &self,
        venue: &Venue,
        symbol: &Symbol,
        (candle, day): (&Candle, Date),
        now: Timestamp,
    ) -> Option<QuotePush> {
        let mut lanes = self.lanes.iter().flatten();
        let has_minutes =
            lanes.any(|lane| (lane.minute.session, lane.minute.day) == (Session::Intraday, day));
        let is_today = venue.day(day).is_some() && venue.zone().date(now) == day && now < venue.day_end(day);
        (is_today && !has_minutes).then(|| QuotePush {
            symbol: symbol.clone(),
            board: self.board,
            sequence: 0,
            day,
            session: Session::Intraday,
            figures: Figures::then(None, candle),
            time: now,
            growth: Growth::default(),
            tag: Tag::Normal,
            status: self.status,
        })
    }

    /// Publishes a one-minute candle.
    fn minute(
        &mut self,
        history: &History,
        reader: &mut Reader,
        arrived: &CommittedCandle,
        at: Timestamp,
        sequence: &mut Sequence,
    ) -> Result<Pushes, HistoryError> {
        const NONE: Pushes = (Vec::new(), false);
        let CommittedCandle { symbol, candle, effect, .. } = arrived;
        let (board, venue, ended) = (self.board, history.venue(symbol), self.day);
        let Some(minute) = Minute::of(venue, candle.time) else { return Ok(NONE) };
        let place = usize::from(minute.session.code());
        let (Some(lane), Some(traded)) = (self.lanes.get_mut(place), self.traded.get_mut(place)) else {
            return Ok(NONE);
        };
        let (before, published) = match lane {
            Some(lane) if minute.day < lane.minute.day => return Ok(NONE),
            Some(known) if minute.day == known.minute.day => {
                if minute.stamp < known.minute.stamp || *effect == Effect::Replaced {
                    let arrived = (lane, Some(candle), ended);
                    let pushes = correct(history, reader, (symbol, board, at), arrived, sequence)?;
                    return Ok((pushes, false));
                }
                match minute.stamp == known.minute.stamp {
                    true => (known.before, Some(known.published)),
                    false => (Some(Figures::then(known.before, &known.published.candle)), None),
                }
            }
            _ => (None, None),
        };
        let clock = Clock::Machine { now: at };
        let counted = Growth::default();
        let update = Update { symbol, board, minute, before, published, counted, known: *candle, clock };
        let built = traded.filter(|of| of.stamp == minute.stamp);
        let Traded { published: sent, counted, .. } = built.unwrap_or(Traded::new(&minute, published));
        let mut outcome = Update { published: sent, counted, ..update }.publish(sequence);
        if built.is_some() {
            // Clients retain the minute built from single trades until a candle continues it.
            traded.take_if(|_| !outcome.is_correction);
            // Single trades had no quote, so the growth is that of the complete candle.
            outcome.pushes.retain(|push| matches!(push, Push::Trades(_)));
            if published.is_none_or(|published| published.candle != *candle) {
                outcome.pushes.push(update.after_trades(outcome.published.last_at, sequence));
            }
        }
        let last = outcome.pushes.iter().rev().find_map(|push| match push {
            Push::Quote(quote) => Some(quote.clone()),
            Push::Trades(_) => None,
        });
        let last = last.or_else(|| lane.take().map(|lane| lane.last));
        let last = last.unwrap_or_else(|| state(symbol, board, &minute, before, &outcome.published));
        *lane = Some(Lane { before, minute, published: outcome.published, last, is_traded: false });
        Ok((outcome.pushes, outcome.is_correction && built.is_some()))
    }

    /// Publishes a daily candle. Before the end of its day, the candle's figures are those of the
    /// day only if there are no minutes. A second version after the end of the day is tagged.
    fn day(
        &mut self,
        venue: &Venue,
        arrived: &CommittedCandle,
        at: Timestamp,
        sequence: &mut Sequence,
    ) -> Vec<Push> {
        let date = venue.zone().date(arrived.candle.time);
        let newest = self.lanes.iter().flatten().map(|lane| lane.minute.day).chain(self.day).max();
        if newest.is_some_and(|newest| date < newest) {
            return Vec::new();
        }
        if at < venue.day_end(date) {
            let state = self.running_day(venue, &arrived.symbol, (&arrived.candle, date), at);
            let Some(state) = state else { return Vec::new() };
            sequence.quote = sequence.quote.saturating_add(1);
            let state = QuotePush { sequence: sequence.quote, ..state };
            self.daily = Some(state.clone());
            return vec![Push::Quote(state)];
        }
        self.end_of_day(venue, &arrived.symbol, &arrived.candle, sequence)
    }

    /// Publishes a daily candle at or after the end of its day, unless the same candle was already
    /// published.
    fn end_of_day(
        &mut self,
        venue: &Venue,
        symbol: &Symbol,
        candle: &Candle,
        sequence: &mut Sequence,
    ) -> Vec<Push> {
        let Some(push) = end_of_day(symbol, self.board, venue, candle, sequence) else { return Vec::new() };
        let push = QuotePush { status: self.status, ..push };
        let is_second = self.day.replace(push.day) == Some(push.day);
        let before = self.daily.replace(push.clone());
        let is_same = |before: QuotePush| (before.time, before.figures) == (push.time, push.figures);
        if is_second && before.is_some_and(is_same) {
            return Vec::new();
        }
        let tag = if is_second { Tag::Eod } else { Tag::Normal };
        vec![Push::Quote(QuotePush { tag, ..push })]
    }

    /// Publishes the single trades of one second unchanged.
    fn trades(&self, venue: &Venue, symbol: &Symbol, trades: &[Trade], sequence: &mut Sequence) -> Vec<Push> {
        let minute = trades.first().and_then(|trade| minute_of(venue, trade));
        let Some(minute) = minute.filter(|_| self.board == Board::Security) else { return Vec::new() };
        single_trades(symbol, minute.session, trades.iter().copied(), sequence)
    }

    /// Records single trades. When a candle of their minute arrives, clients need only the
    /// difference.
    fn note_trades(&mut self, venue: &Venue, trades: &[Trade]) {
        for trade in trades.iter().filter(|_| self.board == Board::Security) {
            let Some(minute) = minute_of(venue, trade) else { continue };
            let lane = usize::from(minute.session.code());
            let stored = self.lanes.get(lane).and_then(Option::as_ref);
            let Some(traded) = self.traded.get_mut(lane) else { continue };
            // Clients ignore a trade of an earlier minute.
            let newest = stored.map(|stored| stored.minute.stamp).max(traded.map(|of| of.stamp));
            if newest.is_some_and(|newest| newest > minute.stamp) {
                continue;
            }
            let stored = stored.filter(|stored| stored.minute.stamp == minute.stamp);
            let before = traded.filter(|of| of.stamp == minute.stamp);
            let before = before.unwrap_or(Traded::new(&minute, stored.map(|of| of.published)));
            *traded = Some(before.then(&minute, trade));
        }
    }

    /// Publishes the quote after single trades of a minute without a candle, for which the fold of
    /// the minute's trades is used. All trades are of the same second.
    fn folded(
        &mut self,
        history: &History,
        reader: &mut Reader,
        (symbol, trades, at): (&Symbol, &[Trade], Timestamp),
        sequence: &mut Sequence,
    ) -> Result<Vec<Push>, HistoryError> {
        let (board, ended, venue) = (self.board, self.day, history.venue(symbol));
        let minute = trades.first().and_then(|trade| minute_of(venue, trade));
        let Some((minute, second)) = minute.zip(trades.first().map(|trade| trade.time)) else {
            return Ok(Vec::new());
        };
        let place = usize::from(minute.session.code());
        let (Some(lane), Some(traded)) = (self.lanes.get_mut(place), self.traded.get_mut(place)) else {
            return Ok(Vec::new());
        };
        let newest = lane.as_ref().map(|lane| lane.minute.stamp);
        if board == Board::Index {
            return Ok(Vec::new());
        }
        if newest > Some(minute.stamp) {
            return correct(history, reader, (symbol, board, at), (lane, None, ended), sequence);
        }
        let (before, known) = match lane {
            Some(lane) if lane.minute.stamp == minute.stamp && !lane.is_traded => return Ok(Vec::new()),
            Some(lane) if lane.minute.stamp == minute.stamp => (lane.before, Some(lane.published)),
            Some(lane) if lane.minute.day == minute.day => {
                (Some(Figures::then(lane.before, &lane.published.candle)), None)
            }
            _ => (None, None),
        };
        let built = match known.filter(|known| known.last_at > second) {
            // Responses fold the trades in the order of their seconds.
            Some(_) => of_trades(history, reader, symbol, &minute)?,
            None => *traded,
        };
        let built = built.filter(|built| built.stamp == minute.stamp).and_then(|built| built.published);
        let Some(published) = built.filter(|built| Some(*built) != known) else { return Ok(Vec::new()) };
        let (clock, counted) = (Clock::Machine { now: at }, Growth::default());
        let update = Update {
            symbol,
            board,
            minute,
            before,
            published: known,
            counted,
            known: published.candle,
            clock,
        };
        let push = update.after_trades(published.last_at, sequence);
        if let Push::Quote(last) = &push {
            *lane = Some(Lane { before, minute, published, last: last.clone(), is_traded: true });
        }
        Ok(vec![push])
    }

    /// Publishes the quotes of minutes that were built from trades. Also returns whether the newest
    /// minute differs from the state of clients, because clients also received candles of this
    /// minute.
    fn rebuilt(
        &mut self,
        history: &History,
        reader: &mut Reader,
        (symbol, trade): (&Symbol, &Trade),
        sequence: &mut Sequence,
    ) -> Result<(Option<Push>, bool), HistoryError> {
        let venue = history.venue(symbol);
        let Some(Minute { day, session, .. }) = minute_of(venue, trade) else { return Ok((None, false)) };
        let lane = Lane::read(history, reader, symbol, self.board, (day, session, trade.time))?;
        let number = usize::from(session.code());
        let (Some(place), Some(traded)) = (self.lanes.get_mut(number), self.traded.get_mut(number)) else {
            return Ok((None, false));
        };
        let Some(mut lane) = lane else { return Ok((None, false)) };
        let built = traded.filter(|built| built.stamp == lane.minute.stamp);
        let built = built.and_then(|built| built.published).map(|built| built.candle);
        let is_unreachable = built.is_some_and(|built| built != lane.published.candle);
        if !is_unreachable {
            traded.take_if(|built| built.stamp <= lane.minute.stamp);
        }
        let before = place.as_ref().filter(|before| before.minute.day == day);
        let figures = before.map(|before| before.last.figures);
        if figures == Some(lane.last.figures) {
            return Ok((None, is_unreachable));
        }
        let (volume, turnover) = figures.map_or((0, Turnover(0)), |of| (of.volume, of.turnover));
        sequence.quote = sequence.quote.saturating_add(1);
        lane.last = QuotePush {
            sequence: sequence.quote,
            time: trade.time,
            growth: Growth {
                volume: lane.last.figures.volume.saturating_sub(volume).max(0),
                turnover: Turnover(lane.last.figures.turnover.0.saturating_sub(turnover.0).max(0)),
            },
            ..lane.last
        };
        let push = Push::Quote(lane.last.clone());
        *place = Some(lane);
        Ok((Some(push), is_unreachable))
    }
}

/// Returns the state of clients for a minute of which they received all stored trades.
fn of_trades(
    history: &History,
    reader: &mut Reader,
    symbol: &Symbol,
    minute: &Minute,
) -> Result<Option<Traded>, HistoryError> {
    let window = minute.stamp..minute.acts_at();
    let Some(trades) = history.trades_around(reader, symbol, window)? else { return Ok(None) };
    let mut of_minute = Trades::default();
    of_minute.append_rows(&trades, trades.within(minute.stamp.0..minute.acts_at().0));
    let built = Traded::of_trades(history.venue(symbol), minute, &of_minute);
    Ok(Some(built).filter(|_| !of_minute.is_empty()))
}

/// Publishes the figures after a late or corrected minute, without trades, because trades cannot be
/// reverted. Rows after `arrived` may be stored already, so the newest minute is read from the
/// lane, unless it is the corrected minute. `arrived` is `None` if trades of an earlier minute have
/// arrived.
fn correct(
    history: &History,
    reader: &mut Reader,
    (symbol, board, at): (&Symbol, Board, Timestamp),
    (lane, arrived, ended): (&mut Option<Lane>, Option<&Candle>, Option<Date>),
    sequence: &mut Sequence,
) -> Result<Vec<Push>, HistoryError> {
    let Some(known) = lane else { return Ok(Vec::new()) };
    let minute = known.minute;
    let before = Lane::figures_before(history, reader, symbol, (&minute, at))?;
    let (mut published, mut is_traded) = (known.published, known.is_traded);
    if let Some(arrived) = arrived.filter(|arrived| arrived.time == minute.stamp) {
        (published.candle, is_traded) = (*arrived, false);
    }
    let figures = state(symbol, board, &minute, before, &published).figures;
    let is_over = history.venue(symbol).day_end(minute.day) <= at;
    let tag = if is_over && minute.session == Session::Intraday { Tag::Eod } else { Tag::Normal };
    // After the daily candle is published, its figures are those of the day.
    let is_replaced = minute.session == Session::Intraday && ended == Some(minute.day);
    let push = if is_replaced { None } else { corrected(&known.last, figures, tag, sequence) };
    let last = push.clone().unwrap_or_else(|| known.last.clone());
    *lane = Some(Lane { before, minute, published, last, is_traded });
    Ok(push.map(Push::Quote).into_iter().collect())
}

impl Lane {
    /// Reads the minutes of a trading day in one session. Returns `None` if there are no minutes.
    fn read(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        board: Board,
        (day, session, now): (Date, Session, Timestamp),
    ) -> Result<Option<Lane>, HistoryError> {
        let venue = history.venue(symbol);
        let mut candles = Lane::candles(history, reader, symbol, (day, session, now))?;
        let Some(candle) = candles.pop() else { return Ok(None) };
        let Some(minute) = Minute::of(venue, candle.time) else { return Ok(None) };
        let before = folded(&candles);
        let last_at = minute.acts_at().0.saturating_sub(1).min(now.0);
        let mut published = Published { candle, last_at: Timestamp(last_at.max(candle.time.0)) };
        let window = candle.time..Timestamp(candle.time.0.saturating_add(1));
        let is_traded = history.minutes(reader.view(), symbol, window)?.is_empty();
        if is_traded {
            let built = of_trades(history, reader, symbol, &minute)?.and_then(|built| built.published);
            published = built.unwrap_or(published);
        }
        let last = state(symbol, board, &minute, before, &published);
        Ok(Some(Lane { before, minute, published, last, is_traded }))
    }

    /// Returns the figures of a session before one of its minutes.
    fn figures_before(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        (minute, now): (&Minute, Timestamp),
    ) -> Result<Option<Figures>, HistoryError> {
        let mut candles = Lane::candles(history, reader, symbol, (minute.day, minute.session, now))?;
        candles.retain(|candle| candle.time < minute.stamp);
        Ok(folded(&candles))
    }

    /// Reads the minutes of a trading day in one session, ascending.
    fn candles(
        history: &History,
        reader: &mut Reader,
        symbol: &Symbol,
        (day, session, now): (Date, Session, Timestamp),
    ) -> Result<Vec<Candle>, HistoryError> {
        let day = history.venue(symbol).day(day);
        let stamps: Vec<Timestamp> =
            day.map(|day| day.minutes().map(|(at, _)| at).collect()).unwrap_or_default();
        let (Some(first), Some(last)) = (stamps.first(), stamps.last()) else { return Ok(Vec::new()) };
        let window = *first..Timestamp(last.0.saturating_add(1));
        let candles = history.known_minutes(reader.view(), symbol, window, AsOf::Live(now))?;
        Ok(candles.iter().filter(|candle| candle.session == session).collect())
    }
}

fn folded(candles: &[Candle]) -> Option<Figures> {
    candles.iter().fold(None, |figures, candle| Some(Figures::then(figures, candle)))
}

/// Returns the quote of a state that was not pushed; its sequence number is 0.
fn state(
    symbol: &Symbol,
    board: Board,
    minute: &Minute,
    before: Option<Figures>,
    published: &Published,
) -> QuotePush {
    QuotePush {
        symbol: symbol.clone(),
        board,
        sequence: 0,
        day: minute.day,
        session: minute.session,
        figures: Figures::then(before, &published.candle),
        time: published.last_at,
        growth: Growth::default(),
        tag: Tag::Normal,
        status: TradeStatus::Normal,
    }
}
