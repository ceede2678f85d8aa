//! The one route of every request, whatever door it came in by: decode, admit, answer, spend.

use access::{Actor, AdmissionCache, Demand, Permit};
use market::{FloorTable, Symbol};

use crate::caller::Caller;
pub(crate) use crate::command::Reply;
use crate::command::{Command, Paged, Paging, Request};
use crate::core::Core;
use crate::refusal::Refusal;
use crate::workers::Share;

/// A request that has been let in.
#[derive(Debug)]
pub(crate) struct Work {
    caller: Caller,
    command: Command,
    permit: Permit,
    /// Of the store, when the request was let in.
    version: i64,
}

/// Securities that a connection remembers to have candles.
const KNOWN_MAX: usize = 16;

/// What a long connection remembers from one request to the next, so that the next need not ask again what all connections have to
/// ask in one place.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    admission: AdmissionCache,
    /// Securities that have candles at a version of the store.
    known: (i64, Vec<Symbol>),
}

impl Memory {
    /// That of a single request, whose caller was let in a moment ago.
    fn of(caller: &Caller, permit: &Permit) -> Memory {
        Memory { admission: permit.admission_cache(&caller.who), ..Memory::default() }
    }

    /// Whether there are candles of a symbol, as [`Core::known`] has it.
    fn known(&mut self, symbol: &Symbol, version: i64, core: &Core) -> Result<(), Refusal> {
        let (at, symbols) = &mut self.known;
        if *at == version && symbols.contains(symbol) {
            return Ok(());
        }
        core.known(symbol, version)?;
        if *at != version || symbols.len() >= KNOWN_MAX {
            *at = version;
            symbols.clear();
        }
        symbols.push(symbol.clone());
        Ok(())
    }
}

/// Decodes a request of a long connection and asks whether it may be answered.
pub(crate) fn admit(
    core: &Core,
    caller: &Caller,
    command: u8,
    body: &[u8],
    memory: &mut Memory,
) -> Result<Work, Refusal> {
    admit_remembered(core, caller, Request::decode(command, body)?, 1, memory)
}

/// The same for a request over HTTP, which has a permit for market data and asks for one that is of a security. The order of refusals is
/// the specification's: cannot be decoded, too fast, bad parameters or unknown symbol, nothing there, no access, quota.
pub(crate) fn admit_request(
    core: &Core,
    caller: &Caller,
    permit: &Permit,
    request: Request,
) -> Result<Work, Refusal> {
    admit_calls(core, caller, permit, request, 1)
}

/// The same for a request whose answer is as long as several: it is counted as so many `calls`, or not let in.
pub(crate) fn admit_calls(
    core: &Core,
    caller: &Caller,
    permit: &Permit,
    request: Request,
    calls: u32,
) -> Result<Work, Refusal> {
    admit_remembered(core, caller, request, calls, &mut Memory::of(caller, permit))
}

fn admit_remembered(
    core: &Core,
    caller: &Caller,
    request: Request,
    calls: u32,
    memory: &mut Memory,
) -> Result<Work, Refusal> {
    let version = core.glance()?;
    let ticket = match &request {
        Request::History(_) => {
            let uptime = core.uptime();
            Some(core.access.admit_rate_again(&caller.who, calls, &memory.admission, uptime)?)
        }
        _ => {
            let (rule, uptime) = (core.limits.calls, core.uptime());
            core.access.admit_call_again(&caller.who, rule, &memory.admission, uptime)?;
            None
        }
    };
    // A range that begins before what the account is served is refused with the other parameters, so its floors come first.
    let floors = ticket.as_ref().map_or(core.floors, |ticket| core.floors_of(ticket.account()));
    let mut command = Command::parse(request, caller, floors, core)?;
    if let Some(symbol) = command.security() {
        memory.known(symbol, version, core)?;
    }
    if command.is_market_data() {
        core.at_home(caller)?;
    }
    let (access, now) = (&core.access, core.market_now());
    let permit = match (&command, ticket) {
        (Command::History(query), Some(ticket)) => {
            access.admit_again(&caller.who, ticket, &query.symbol, &mut memory.admission, now)
        }
        (command, _) => match command.security() {
            Some(symbol) => {
                access.admit(Demand::Quotes { caller: &caller.who, market: symbol.market().into() }, now)
            }
            None => access.admit(Demand::Open { caller: &caller.who }, now),
        },
    };
    let permit = permit.map_err(|refusal| {
        // A permit that is spent tells of a level that has changed; whoever gets none has come upon it all the same.
        if matches!(refusal, access::Refusal::QuotaSpent { .. })
            && let Err(error) = core.access.settle(caller.who.account(), &Actor::Service, core.present())
        {
            tracing::error!(%error, "cannot write down that a level has changed");
        }
        Refusal::from(refusal)
    })?;
    // Without the right, overnight candles are left out; that is no refusal.
    let caller = Caller { overnight: caller.overnight && permit.overnight(), ..*caller };
    if !caller.overnight {
        command.leave_overnight_out();
    }
    command.serve_from(core.floors_of(permit.account()));
    Ok(Work { caller, command, permit, version })
}

impl Work {
    /// The answer if it takes no longer than handing the work to another thread would: out of memory, or one short read;
    /// else the work is to be done where it may wait. Never for what has to be paid.
    pub(crate) fn answer_at_once(&self, core: &Core) -> Option<Result<Reply, Refusal>> {
        if !self.permit.is_free() {
            return None;
        }
        let answer = self.command.answer_at_once(core, self.version)?;
        Some(answer.inspect(|reply| core.metrics.candles(reply.candles())))
    }

    /// What its account may have of the threads that wait.
    pub(crate) fn share(&self, core: &Core) -> Share {
        core.share(self.permit.account())
    }

    /// Answers. A security that is new this month is charged once the answer is made and before it leaves.
    pub(crate) fn run(self, core: &Core) -> Result<Reply, Refusal> {
        self.run_if(core, || true)
    }

    /// Answers if, once the answer is made, somebody still wants it; else nothing is charged.
    pub(crate) fn run_if(self, core: &Core, is_wanted: impl FnOnce() -> bool) -> Result<Reply, Refusal> {
        let reply = self.command.answer(&self.caller, &self.permit, core)?;
        if !is_wanted() {
            return Err(Refusal::TimedOut);
        }
        spend(self.permit, core)?;
        core.metrics.candles(reply.candles());
        Ok(reply)
    }

    /// The same as columns of candles, for whoever does not want protobuf. How many are sent is theirs to count.
    pub(crate) fn run_columns(self, core: &Core) -> Result<history::Answer, Refusal> {
        let answer = self.command.columns(core)?;
        spend(self.permit, core)?;
        Ok(answer)
    }

    /// Whether overnight hours can be in the answer: the client wants them and the account may see them.
    pub(crate) fn has_overnight(&self) -> bool {
        self.caller.overnight
    }

    /// From when on its account is served.
    pub(crate) fn floors(&self, core: &Core) -> FloorTable {
        core.floors_of(self.permit.account())
    }

    /// Columns again, beyond the thousand of one answer, and where to go on.
    pub(crate) fn run_pages(self, paging: Paging, core: &Core) -> Result<Paged, Refusal> {
        let paged = self.command.pages(paging, core)?;
        spend(self.permit, core)?;
        Ok(paged)
    }
}

/// On the disk before the answer leaves.
fn spend(permit: Permit, core: &Core) -> Result<(), Refusal> {
    let is_charged = permit.is_charged();
    core.access.spend(permit, core.machine_now())?;
    if is_charged {
        core.metrics.quota_spent();
    }
    Ok(())
}
