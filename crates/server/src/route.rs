//! The single route of every request, whatever its transport: count, parse, admit, answer, charge.
//! The transport supplies the parser; from there on everything is typed by the command.

use access::{Actor, AdmissionCache, Demand, Permit, Ticket};
use history::{AsOf, Paged, Paging};
use market::{FloorTable, Symbol};

use crate::caller::Caller;
use crate::command::{Command, Context, HistoryCandles, Pace, Reply, Subject};
use crate::core::Core;
use crate::lifting;
use crate::refusal::Refusal;
use crate::versions::Dated;
use crate::workers::Share;

/// An admitted request.
#[derive(Debug)]
pub(crate) struct Work<C> {
    caller: Caller,
    command: C,
    permit: Permit,
    /// The store's version when the request was admitted.
    version: i64,
}

/// Most securities with candles that a connection remembers.
const KNOWN_MAX: usize = 16;

/// Cache of a long connection between requests, to avoid locks that all connections share.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    admission: AdmissionCache,
    /// Securities that have candles, and the store version for which that is known. The clock of an
    /// account only moves forward, so they stay known.
    known: (i64, Vec<Symbol>),
}

impl Memory {
    /// For a single request, whose caller was just admitted for market data.
    pub(crate) fn of(caller: &Caller, permit: &Permit) -> Memory {
        Memory { admission: permit.admission_cache(&caller.who), ..Memory::default() }
    }

    /// Whether a symbol has candles, like [`Core::known`].
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

/// Admits a request. For an operator, a refusal for a limit shows how to lift it.
pub(crate) fn admit<C: Command>(
    core: &Core,
    caller: &Caller,
    calls: u32,
    memory: &mut Memory,
    parse: impl FnOnce(&Context<'_>) -> Result<C, Refusal>,
) -> Result<Work<C>, Refusal> {
    let admitted = admit_in_order(core, caller, calls, memory, parse);
    admitted.map_err(|refusal| lifting::with_hint(refusal, &caller.who, core))
}

/// The order of refusals is the specification's: cannot be decoded, too fast, bad parameters or
/// unknown symbol, no data, no access, quota. That is why the transport decodes, and `parse` is
/// called only after the request has been counted. A request whose answer is as long as several
/// counts as that many `calls`; if the rate limit does not allow them all, it is refused.
fn admit_in_order<C: Command>(
    core: &Core,
    caller: &Caller,
    calls: u32,
    memory: &mut Memory,
    parse: impl FnOnce(&Context<'_>) -> Result<C, Refusal>,
) -> Result<Work<C>, Refusal> {
    let version = core.version_check()?;
    let ticket = count(C::PACE, core, caller, calls, memory)?;
    // A range that begins before the account's floors is refused like any bad parameter, so parsing
    // needs the floors.
    let floors = ticket.as_ref().map_or(core.floors, |ticket| core.floors_of(ticket.account()));
    let mut command = parse(&Context { caller, floors, core })?;
    let permit = permit(command.subject(), ticket, core, caller, version, memory)?;
    // Without the right, overnight candles are omitted; the request is not refused.
    let caller = Caller { overnight: caller.overnight && permit.overnight(), ..*caller };
    command.narrow(&caller, core.floors_of(permit.account()));
    Ok(Work { caller, command, permit, version })
}

/// Counts a request against the rate limit of its account, and refuses it if the limit is exceeded.
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

/// Checks that data exists, and that the account may see it.
fn permit(
    subject: Subject<'_>,
    ticket: Option<Ticket>,
    core: &Core,
    caller: &Caller,
    version: i64,
    memory: &mut Memory,
) -> Result<Permit, Refusal> {
    match subject {
        Subject::Security(symbol) => {
            memory.known(symbol, version, caller.as_of, core)?;
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
    let (access, now) = (&core.access, caller.now());
    let permit = match (subject, ticket) {
        (Subject::Security(symbol), Some(ticket)) => {
            access.admit_again(&caller.who, ticket, symbol, &mut memory.admission, now)
        }
        (Subject::Security(symbol), None) | (Subject::Trades(symbol) | Subject::CapitalFlow(symbol), _) => {
            access.admit(Demand::Quotes { caller: &caller.who, market: symbol.market().into() }, now)
        }
        (Subject::Prices | Subject::Open, _) => access.admit(Demand::Open { caller: &caller.who }, now),
    };
    permit.map_err(|refusal| {
        // Spending a permit records a change of the account's level. A request over the quota gets
        // no permit, so the change is recorded here.
        if matches!(refusal, access::Refusal::QuotaSpent { .. })
            && let Err(error) =
                access.settle(caller.who.account(), &Actor::Service, core.present(caller.as_of))
        {
            tracing::error!(%error, "cannot write down that a level has changed");
        }
        Refusal::from(refusal)
    })
}

impl<C: Command> Work<C> {
    /// The API date that the caller is pinned to; `None` for the newest.
    pub(crate) fn dated(&self) -> Option<Dated> {
        Dated::of(&self.caller.who, self.permit.account())
    }

    /// The answer, if it takes no longer than handing the work to another thread: from memory, or
    /// with one short read. `None` if the work belongs on a worker thread, which is always so if
    /// the answer is charged.
    pub(crate) fn reply_at_once(&mut self, core: &Core) -> Option<Result<Reply, Refusal>> {
        if !self.permit.is_free() {
            return None;
        }
        let reply = self.command.reply_at_once(&self.caller, core, self.version)?;
        Some(reply.inspect(|reply| core.metrics.candles(reply.candles)))
    }

    /// The answer as values. A security that is new this month is charged once the answer is ready
    /// and before it is sent. The transport counts the candles that it sends.
    pub(crate) fn answer(self, core: &Core) -> Result<C::Response, Refusal> {
        let response = self.command.answer(&self.caller, &self.permit, core)?;
        spend(self.permit, core)?;
        Ok(response)
    }
}

impl Work<HistoryCandles> {
    /// Whether the answer uses part of a limited quota.
    pub(crate) fn takes_of_quota(&self) -> bool {
        self.permit.is_charged() && self.permit.account().terms.quota != Some(access::QUOTA_MAX)
    }

    /// Candles in columns, more than the thousand of one answer, and where the next page begins.
    pub(crate) fn pages(self, paging: Paging, core: &Core) -> Result<Paged, Refusal> {
        let paged = self.command.pages(paging, &self.caller, core)?;
        spend(self.permit, core)?;
        Ok(paged)
    }

    /// Whether the answer may contain overnight candles: the client requested them and the account
    /// has the right.
    pub(crate) fn has_overnight(&self) -> bool {
        self.command.has_overnight()
    }

    /// The floors of its account.
    pub(crate) fn floors(&self, core: &Core) -> FloorTable {
        core.floors_of(self.permit.account())
    }
}

/// Admitted work of any command, for a worker thread that may wait for the disk.
pub(crate) trait BlockingWork: Send {
    /// Its account's share of the worker threads.
    fn share(&self, core: &Core) -> Share;

    /// The encoded answer. It is charged only if it is still wanted when it is ready.
    fn run_if(self: Box<Self>, core: &Core, is_wanted: &dyn Fn() -> bool) -> Result<Reply, Refusal>;
}

impl<C: Command> BlockingWork for Work<C> {
    fn share(&self, core: &Core) -> Share {
        core.share(self.permit.account())
    }

    fn run_if(self: Box<Self>, core: &Core, is_wanted: &dyn Fn() -> bool) -> Result<Reply, Refusal> {
        let Work { caller, command, permit, .. } = *self;
        let reply = command.reply(&caller, &permit, core)?;
        if !is_wanted() {
            return Err(Refusal::TimedOut);
        }
        spend(permit, core)?;
        core.metrics.candles(reply.candles);
        Ok(reply)
    }
}

/// Charges the account. The charge is on disk before the answer is sent.
fn spend(permit: Permit, core: &Core) -> Result<(), Refusal> {
    let is_charged = permit.is_charged();
    core.access.spend(permit, core.machine_now())?;
    if is_charged {
        core.metrics.quota_spent();
    }
    Ok(())
}
