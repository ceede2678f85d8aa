//! The steps of every request on any transport: count, parse, admit, answer, charge. The transport
//! supplies the parser; every later step is typed by the command.

use access::{Actor, AdmissionCache, Demand, Permit, Ticket};
use collect::{Fetched, Need};
use history::{AsOf, Paged, Paging};
use market::{FloorTable, Symbol};
use store::{Reader, StoreError};

use crate::caller::Caller;
use crate::command::{Command, Context, HistoryCandles, Pace, Subject};
use crate::core::Core;
use crate::limit_hint;
use crate::message::Reply;
use crate::refusal::Refusal;
use crate::versions::Dated;
use crate::workers::Share;
use crate::world_changes::note_reads;

/// An admitted request that has not been answered yet.
#[derive(Debug)]
pub(crate) struct Work<C> {
    caller: Caller,
    command: C,
    permit: Permit,
    /// Store version when the request was admitted.
    version: i64,
    /// Data that may have to be requested from the source of a mirror before the answer.
    need: Option<Need>,
}

/// Maximum number of known securities that are cached per connection.
const KNOWN_MAX: usize = 16;

/// Per-connection cache between requests, which avoids locks shared by all connections.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    admission: AdmissionCache,
    /// Securities that have candles, and the store version for which this is known. An account's
    /// clock only moves forward, so these securities stay visible.
    known: (i64, Vec<Symbol>),
}

impl Memory {
    /// Creates a cache for a single request, whose caller was just admitted for market data.
    pub(crate) fn of(caller: &Caller, permit: &Permit) -> Memory {
        Memory { admission: permit.admission_cache(&caller.who), ..Memory::default() }
    }

    /// Refuses a symbol without candles, like [`Core::known`], but with a cache per connection.
    fn known(&mut self, symbol: &Symbol, version: i64, as_of: AsOf, core: &Core) -> Result<(), Refusal> {
        let (at, symbols) = &mut self.known;
        if *at == version && symbols.contains(symbol) {
            return Ok(());
        }
        core.known(symbol, version, as_of)?;
        if *at != version || symbols.len() >= KNOWN_MAX {
            *at = version;
            symbols.clear();
        }
        symbols.push(symbol.clone());
        Ok(())
    }
}

/// Admits a request. If a limit refuses an operator's request, the refusal also shows how to lift
/// the limit.
pub(crate) fn admit<C: Command>(
    core: &Core,
    caller: &Caller,
    calls: u32,
    memory: &mut Memory,
    parse: impl FnOnce(&Context<'_>) -> Result<C, Refusal>,
) -> Result<Work<C>, Refusal> {
    let admitted = admit_in_order(core, caller, calls, memory, parse);
    admitted.map_err(|refusal| limit_hint::with_hint(refusal, &caller.who, core))
}

/// Checks the request in the order that the specification defines: cannot be decoded, too fast, bad
/// parameters or unknown symbol, no data, no access, quota. For this order, the transport decodes
/// the request, and `parse` is called only after the request has been counted. A request with a
/// response as long as several normal responses counts as that many `calls`, and is refused if the
/// rate limit does not allow all of them.
fn admit_in_order<C: Command>(
    core: &Core,
    caller: &Caller,
    calls: u32,
    memory: &mut Memory,
    parse: impl FnOnce(&Context<'_>) -> Result<C, Refusal>,
) -> Result<Work<C>, Refusal> {
    let version = core.version_check()?;
    let ticket = count(C::PACE, core, caller, calls, memory)?;
    // A range that begins before the account's floors is refused like any bad parameter, so the
    // parser needs the floors.
    let floors = ticket.as_ref().map_or(core.floors, |ticket| core.floors_of(ticket.account()));
    let mut command = parse(&Context { caller, floors, core })?;
    let need = core.needs(command.wants(), caller);
    let permit = permit(command.subject(), ticket, core, caller, (version, need.is_some()), memory)?;
    // Without the overnight right, overnight candles are omitted instead of refusing the request.
    let caller = Caller { overnight: caller.overnight && permit.overnight(), ..*caller };
    command.narrow(&caller, core.floors_of(permit.account()));
    Ok(Work { caller, command, permit, version, need })
}

/// Counts a request against the account's rate limit, and refuses it if the limit is exceeded.
fn count(
    pace: Pace,
    core: &Core,
    caller: &Caller,
    calls: u32,
    memory: &Memory,
) -> Result<Option<Ticket>, Refusal> {
    let uptime = core.uptime();
    match pace {
        Pace::History => {
            Ok(Some(core.access.admit_rate_again(&caller.who, calls, &memory.admission, uptime)?))
        }
        Pace::Calls => {
            core.access.admit_call_again(&caller.who, core.limits.calls, &memory.admission, uptime)?;
            Ok(None)
        }
    }
}

/// Checks that the data exists and that the account may see it. Returns the permit. Data that may
/// be requested from a source is checked after that request ([`Work::read_through`]).
fn permit(
    subject: Subject<'_>,
    ticket: Option<Ticket>,
    core: &Core,
    caller: &Caller,
    (version, may_be_requested): (i64, bool),
    memory: &mut Memory,
) -> Result<Permit, Refusal> {
    match subject {
        Subject::Security(symbol) => {
            if !may_be_requested {
                let known = memory.known(symbol, version, caller.as_of, core);
                known.map_err(|refusal| match core.may_be_known_later(symbol, caller) {
                    true => not_yet(symbol, refusal),
                    false => refusal,
                })?;
            }
            core.own_region_only(caller)?;
        }
        Subject::Trades(symbol) => {
            core.known_traded(symbol, caller.as_of)?;
            core.own_region_only(caller)?;
        }
        Subject::CapitalFlow(symbol) => {
            core.known_capital_flow(symbol, caller.as_of)?;
            core.own_region_only(caller)?;
        }
        Subject::Prices => core.own_region_only(caller)?,
        Subject::Open => {}
    }
    let (access, now) = (&core.access, caller.quota_time);
    let permit = match (subject, ticket) {
        (Subject::Security(symbol), Some(ticket)) => {
            access.admit_again(&caller.who, ticket, symbol, &mut memory.admission, now)
        }
        (Subject::Security(symbol), None) | (Subject::Trades(symbol) | Subject::CapitalFlow(symbol), _) => {
            access.admit(Demand::Quotes { caller: &caller.who, market: symbol.market().into() }, now)
        }
        (Subject::Prices | Subject::Open, _) => access.admit(Demand::Open { caller: &caller.who }, now),
    };
    note_reads(core, caller, subject.symbol());
    permit.map_err(|refusal| {
        // Spending a permit records a change of the account's level. A request over quota gets no
        // permit, so the level change is recorded here.
        if matches!(refusal, access::Refusal::QuotaSpent { .. })
            && let Err(error) =
                access.settle(caller.who.account(), &Actor::Service, core.present(caller.as_of))
        {
            tracing::error!(%error, "cannot record a level change");
        }
        Refusal::from(refusal)
    })
}

impl<C: Command> Work<C> {
    /// Returns the API date that the caller is pinned to, or `None` if the caller uses the newest
    /// date.
    pub(crate) fn dated(&self) -> Option<Dated> {
        Dated::of(&self.caller.who, self.permit.account())
    }

    /// Returns the response if computing it takes no longer than a thread handoff: from memory, or
    /// with one short read. Returns `None` if the work needs a worker thread, which is always the
    /// case if the response is charged.
    pub(crate) fn reply_at_once(&mut self, core: &Core) -> Option<Result<Reply, Refusal>> {
        if !self.permit.is_free() || self.need.is_some() {
            return None;
        }
        let reply = self.command.reply_at_once(&self.caller, core, self.version)?;
        Some(reply.inspect(|reply| core.metrics.candles(reply.candles)))
    }

    /// Returns the response as values. A security that is new this month is charged once the
    /// response is ready, before it is sent. The transport counts the candles that it sends.
    pub(crate) fn answer(mut self, core: &Core) -> Result<C::Response, Refusal> {
        self.read_through(core)?;
        let response = self.command.answer(&self.caller, &self.permit, core)?;
        spend(self.permit, core)?;
        Ok(response)
    }
}

impl<C: Command> Work<C> {
    /// Requests data that the store does not have from the source of a mirror, if there is one, and
    /// refuses a security that is still unknown. May block for a few seconds.
    fn read_through(&mut self, core: &Core) -> Result<(), Refusal> {
        let Some(need) = self.need.take() else { return Ok(()) };
        let fetched = core.read_through(&need, &self.caller)?;
        if let Subject::Security(symbol) = self.command.subject() {
            let version = core
                .with_reader(Reader::version)
                .map_err(|error: StoreError| Refusal::of_store(&error, "cannot read the store"))?;
            let known = core.known(symbol, version, self.caller.as_of);
            known.map_err(|refusal| match fetched {
                Fetched::Pending => not_yet(symbol, refusal),
                Fetched::Done => refusal,
            })?;
        }
        Ok(())
    }
}

/// Replaces the refusal of an unknown security that the source of a mirror may know. Clients retry
/// a security without quotes sooner than an unknown one.
fn not_yet(symbol: &Symbol, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::BadQuery(_) | Refusal::NoQuotes(_) => {
            Refusal::NoQuotes(format!("{symbol} is not stored yet, and its source has not answered"))
        }
        refusal => refusal,
    }
}

impl Work<HistoryCandles> {
    /// Returns whether the response uses part of a limited quota.
    pub(crate) fn takes_of_quota(&self) -> bool {
        self.permit.is_charged() && self.permit.account().terms.quota != Some(access::QUOTA_MAX)
    }

    /// Returns candles in columns, possibly more than one protocol response may hold, together with
    /// the start of the next page.
    pub(crate) fn pages(mut self, paging: Paging, core: &Core) -> Result<Paged, Refusal> {
        self.read_through(core)?;
        let paged = self.command.pages(paging, &self.caller, core)?;
        spend(self.permit, core)?;
        Ok(paged)
    }

    /// Returns whether the response may contain overnight candles, which requires that the client
    /// requested them and the account has the overnight right.
    pub(crate) fn has_overnight(&self) -> bool {
        self.command.has_overnight()
    }

    /// Returns the start of the account's visible history, by market.
    pub(crate) fn floors(&self, core: &Core) -> FloorTable {
        core.floors_of(self.permit.account())
    }
}

/// Admitted work of any command, for a worker thread that may block on disk I/O.
pub(crate) trait BlockingWork: Send {
    /// Returns the account's share of the worker threads.
    fn share(&self, core: &Core) -> Share;

    /// Returns the encoded response. The response is charged only if `is_wanted` returns true once
    /// the response is ready.
    fn run_if(self: Box<Self>, core: &Core, is_wanted: &dyn Fn() -> bool) -> Result<Reply, Refusal>;
}

impl<C: Command> BlockingWork for Work<C> {
    fn share(&self, core: &Core) -> Share {
        core.share(self.permit.account())
    }

    fn run_if(self: Box<Self>, core: &Core, is_wanted: &dyn Fn() -> bool) -> Result<Reply, Refusal> {
        let mut work = *self;
        work.read_through(core)?;
        let Work { caller, command, permit, .. } = work;
        let reply = command.reply(&caller, &permit, core)?;
        if !is_wanted() {
            return Err(Refusal::TimedOut);
        }
        spend(permit, core)?;
        core.metrics.candles(reply.candles);
        Ok(reply)
    }
}

/// Charges the account. The charge is durable before the response is sent.
fn spend(permit: Permit, core: &Core) -> Result<(), Refusal> {
    let is_charged = permit.is_charged();
    core.access.spend(permit, core.machine_now())?;
    if is_charged {
        core.metrics.quota_spent();
    }
    Ok(())
}
