//! The one route of every request, whatever door it came in by: decode, admit, answer, spend.

use access::{Actor, AdmissionCache, Demand, Look, Permit};
use market::Symbol;

pub(crate) use crate::command::Reply;
use crate::command::{Command, Paged, Paging, Request};
use crate::refusal::Refusal;
use crate::services::Services;
use crate::workers::Share;

/// Who asks, and in which manner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) who: access::Caller,
    pub(crate) language: Language,
    /// The client wants overnight hours; whether it gets them is the account's matter.
    pub(crate) overnight: bool,
    /// The region whose accounts the listener is for that the request came through; none if that is for all. Which
    /// listener a one-time password was fetched from does not matter.
    pub(crate) entrance: Option<access::Region>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    En,
    ZhCn,
    ZhHk,
}

/// Of a list of languages, how much is read.
const LANGUAGES_MAX: usize = 32;

impl Language {
    /// The one that a person likes best, out of the whole list that a browser sends with its weights (RFC 9110, 12.5.4).
    pub(crate) fn preferred(list: &str) -> Language {
        let mut best = (0, Language::En);
        for item in list.split(',').take(LANGUAGES_MAX) {
            let (tag, parameter) = item.split_once(';').unwrap_or((item, ""));
            let weight = weight(parameter);
            if let Some(language) = Language::of_tag(tag.trim()).filter(|_| weight > best.0) {
                best = (weight, language);
            }
        }
        best.1
    }

    /// What pages speak of a language; traditional wherever that is written.
    fn of_tag(tag: &str) -> Option<Language> {
        let tag = tag.to_ascii_lowercase();
        let mut parts = tag.split('-');
        match parts.next() {
            Some("en" | "*") => Some(Language::En),
            // The script says it before the place does, and comes first.
            Some("zh") => Some(match parts.find(|part| ["hans", "hant", "hk", "mo", "tw"].contains(part)) {
                Some("hans") | None => Language::ZhCn,
                Some(_) => Language::ZhHk,
            }),
            _ => None,
        }
    }

    /// The first tag of a list, as the protocol has it for SDKs and programs.
    pub(crate) fn parse(text: &str) -> Language {
        let tag = text.split([',', ';']).next().unwrap_or_default().trim().to_ascii_lowercase();
        if tag == "zh-hk" || tag == "zh-tw" || tag.starts_with("zh-hant") {
            Language::ZhHk
        } else if tag.starts_with("zh") {
            Language::ZhCn
        } else {
            Language::En
        }
    }
}

/// Thousandths; all of them if nothing is said, none if it cannot be read.
fn weight(parameter: &str) -> u16 {
    let parameter = parameter.trim().to_ascii_lowercase();
    if parameter.is_empty() {
        return 1_000;
    }
    let value = parameter.strip_prefix("q=").map(str::trim).unwrap_or_default();
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    let thousandths = format!("{part:0<3}").parse().ok().filter(|_| part.len() <= 3);
    match (whole, thousandths) {
        ("1", Some(0)) => 1_000,
        ("0", Some(thousandths)) => thousandths,
        _ => 0,
    }
}

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
/// ask in one place. Whoever asks once has an empty one.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    admission: AdmissionCache,
    /// Securities that have candles at a version of the store.
    known: (i64, Vec<Symbol>),
}

impl Memory {
    /// Whether there are candles of a symbol, as [`Services::known`] has it.
    fn known(&mut self, symbol: &Symbol, version: i64, services: &Services) -> Result<(), Refusal> {
        let (at, symbols) = &mut self.known;
        if *at == version && symbols.contains(symbol) {
            return Ok(());
        }
        services.known(symbol, version)?;
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
    services: &Services,
    caller: &Caller,
    command: u8,
    body: &[u8],
    memory: &mut Memory,
) -> Result<Work, Refusal> {
    admit_remembered(services, caller, Request::decode(command, body)?, 1, memory)
}

/// The order of refusals is the specification's: cannot be decoded, too fast, bad parameters or unknown symbol, nothing
/// there, no access, quota.
pub(crate) fn admit_request(services: &Services, caller: &Caller, request: Request) -> Result<Work, Refusal> {
    admit_calls(services, caller, request, 1)
}

/// The same for a request whose answer is as long as several: it is counted as so many `calls`, or not let in.
pub(crate) fn admit_calls(
    services: &Services,
    caller: &Caller,
    request: Request,
    calls: u32,
) -> Result<Work, Refusal> {
    admit_remembered(services, caller, request, calls, &mut Memory::default())
}

fn admit_remembered(
    services: &Services,
    caller: &Caller,
    request: Request,
    calls: u32,
    memory: &mut Memory,
) -> Result<Work, Refusal> {
    let version = services.glance()?;
    let ticket = match &request {
        Request::History(_) => {
            let uptime = services.uptime();
            Some(services.access.admit_rate_again(&caller.who, calls, &memory.admission, uptime)?)
        }
        _ => {
            let (rule, uptime) = (services.limits.calls, services.uptime());
            services.access.admit_call(&caller.who, rule, Look::Recent, uptime)?;
            None
        }
    };
    // A range that begins before what the account is served is refused with the other parameters, so its floors come first.
    let floors = ticket.as_ref().map_or(services.floors, |ticket| services.floors_of(ticket.account()));
    let mut command = Command::parse(request, caller, floors, services)?;
    if let Some(symbol) = command.security() {
        memory.known(symbol, version, services)?;
    }
    if command.is_market_data() {
        services.at_home(caller)?;
    }
    let (access, now) = (&services.access, services.market_now());
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
            && let Err(error) =
                services.access.settle(caller.who.account(), &Actor::Service, services.present())
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
    command.serve_from(services.floors_of(permit.account()));
    Ok(Work { caller, command, permit, version })
}

impl Work {
    /// The answer if it takes no longer than handing the work to another thread would: out of memory, or one short read;
    /// else the work is to be done where it may wait. Never for what has to be paid.
    pub(crate) fn answer_at_once(&self, services: &Services) -> Option<Result<Reply, Refusal>> {
        if !self.permit.is_free() {
            return None;
        }
        let answer = self.command.answer_at_once(services, self.version)?;
        Some(answer.inspect(|reply| services.metrics.candles(reply.candles())))
    }

    /// What its account may have of the threads that wait.
    pub(crate) fn share(&self, services: &Services) -> Share {
        services.share(self.permit.account())
    }

    /// Answers. A security that is new this month is charged once the answer is made and before it leaves.
    pub(crate) fn run(self, services: &Services) -> Result<Reply, Refusal> {
        self.run_if(services, || true)
    }

    /// Answers if, once the answer is made, somebody still wants it; else nothing is charged.
    pub(crate) fn run_if(
        self,
        services: &Services,
        is_wanted: impl FnOnce() -> bool,
    ) -> Result<Reply, Refusal> {
        let reply = self.command.answer(&self.caller, &self.permit, services)?;
        if !is_wanted() {
            return Err(Refusal::TimedOut);
        }
        spend(self.permit, services)?;
        services.metrics.candles(reply.candles());
        Ok(reply)
    }

    /// The same as columns of candles, for whoever does not want protobuf. How many are sent is theirs to count.
    pub(crate) fn run_columns(self, services: &Services) -> Result<history::Answer, Refusal> {
        let answer = self.command.columns(services)?;
        spend(self.permit, services)?;
        Ok(answer)
    }

    /// Whether overnight hours can be in the answer: the client wants them and the account may see them.
    pub(crate) fn has_overnight(&self) -> bool {
        self.caller.overnight
    }

    /// Columns again, beyond the thousand of one answer, and where to go on.
    pub(crate) fn run_pages(self, paging: Paging, services: &Services) -> Result<Paged, Refusal> {
        let paged = self.command.pages(paging, services)?;
        spend(self.permit, services)?;
        Ok(paged)
    }
}

/// On the disk before the answer leaves.
fn spend(permit: Permit, services: &Services) -> Result<(), Refusal> {
    let is_charged = permit.is_charged();
    services.access.spend(permit, services.machine_now())?;
    if is_charged {
        services.metrics.quota_spent();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_spoken_to_in_the_language_they_like_best() {
        for (list, wanted) in [
            ("", Language::En),
            ("en-GB,en;q=0.9", Language::En),
            ("zh-CN,zh;q=0.9", Language::ZhCn),
            ("zh", Language::ZhCn),
            ("zh-Hans-HK", Language::ZhCn),
            ("zh-SG", Language::ZhCn),
            ("zh-MO", Language::ZhHk),
            ("zh-Hant-MO", Language::ZhHk),
            ("ZH-TW", Language::ZhHk),
            ("zh-HK,zh;q=0.9,en;q=0.8", Language::ZhHk),
            ("de,zh-CN;q=0.8", Language::ZhCn),
            ("en;q=0.1, zh-CN", Language::ZhCn),
            ("en ; q=0.5 , zh-TW ; Q=0.501", Language::ZhHk),
            ("zh-CN;q=0.5,en;q=0.5", Language::ZhCn),
            ("zh-CN;q=0,de", Language::En),
            ("zh-CN;q=2,en;q=0.1", Language::En),
            ("zh-CN;q=0.12345,en;q=0.1", Language::En),
            ("zh-CN;level=1,en;q=0.1", Language::En),
            ("zh;q=0.3,*", Language::En),
            ("fr,zhx,é;q=é", Language::En),
        ] {
            assert_eq!(Language::preferred(list), wanted, "{list:?}");
        }
        let far = format!("{}zh-CN", "de,".repeat(LANGUAGES_MAX));
        assert_eq!(Language::preferred(&far), Language::En, "it is not read without end");
    }

    #[test]
    fn a_program_is_answered_by_the_first_tag_as_the_protocol_has_it() {
        for (list, wanted) in [
            ("zh-HK", Language::ZhHk),
            ("zh-CN;q=0.1,en", Language::ZhCn),
            ("zh-MO", Language::ZhCn),
            ("de,zh-CN;q=0.8", Language::En),
        ] {
            assert_eq!(Language::parse(list), wanted, "{list:?}");
        }
    }
}
