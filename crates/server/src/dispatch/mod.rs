//! Static table of commands by number. Decodes requests from protobuf or JSON into the command's
//! types, and encodes the responses. `profile.rs` is the command that announces the rate limits of
//! the table.

mod profile;

use access::Permit;
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use serde_json::{Map, Value};
use wire::command;

use crate::caller::Caller;
use crate::command::{
    CalcIndexes, CapitalDistribution, CapitalFlow, Command, HistoryCandles, Intraday, LatestCandles,
    LatestTradesCommand, Pace, Quotes, StaticInfo, TradingDays, TradingSessions,
};
use crate::core::Core;
use crate::message::{Reply, Request, Response, undecodable};
use crate::metrics::{COMMANDS_MAX, CommandLabel, Task};
use crate::refusal::Refusal;
use crate::route::{self, BlockingWork, Memory, Work};
use crate::versions::Dated;
use crate::workers::Share;
use profile::Profile;

/// Supported commands, sorted by number.
const COMMANDS: &[CommandRow] = &[
    CommandRow::of::<Profile>(),
    CommandRow::of::<TradingSessions>(),
    CommandRow::of::<TradingDays>(),
    CommandRow::of::<StaticInfo>(),
    CommandRow::of::<Quotes>(),
    CommandRow::of::<LatestTradesCommand>(),
    CommandRow::of::<Intraday>(),
    CommandRow::of::<LatestCandles>(),
    CommandRow::of::<CapitalFlow>(),
    CommandRow::of::<CapitalDistribution>(),
    CommandRow::of::<CalcIndexes>(),
    CommandRow::of::<HistoryCandles>(),
];
const _: () = assert!(COMMANDS.len() <= COMMANDS_MAX);

/// Protocol commands that Chandler does not support, with their names for the refusal.
const NOT_OFFERED: [(u8, &str); 12] = [
    (command::SUBSCRIPTIONS, "subscriptions"),
    (command::SUBSCRIBE, "subscriptions"),
    (command::UNSUBSCRIBE, "subscriptions"),
    (command::OPTION_QUOTE, "option quotes"),
    (command::WARRANT_QUOTE, "warrant quotes"),
    (command::DEPTH, "order books"),
    (command::BROKERS, "broker queues"),
    (command::PARTICIPANTS, "participants"),
    (command::OPTION_EXPIRY_DATES, "options"),
    (command::OPTION_STRIKES, "options"),
    (command::WARRANT_ISSUERS, "warrants"),
    (command::WARRANT_FILTER, "warrants"),
];

/// Field numbers that occur in a history request (query type, offset, dates) but not in a
/// calculated-index request.
const HISTORY_ONLY: std::ops::RangeInclusive<u32> = 4..=6;

/// Table row with one command's functions, type-erased.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRow {
    number: u8,
    label: &'static str,
    pace: Pace,
    start: Start,
    answer_json: AnswerJson,
}

type Start = fn(&Core, &Caller, &[u8], &mut Memory) -> Result<Step, Refusal>;
type AnswerJson = fn(&Core, &Caller, &Permit, Map<String, Value>) -> Result<JsonReply, Refusal>;

/// State of a request once all non-blocking work is done.
pub(crate) enum Step {
    Answered(Reply),
    Waits(Box<dyn BlockingWork>),
}

/// A response as JSON with the protobuf field names, and its number of candles.
#[derive(Debug)]
pub(crate) struct JsonReply {
    pub(crate) data: Value,
    pub(crate) candles: usize,
}

impl CommandRow {
    const fn of<C: Command>() -> CommandRow {
        CommandRow {
            number: C::NUMBER,
            label: C::LABEL,
            pace: C::PACE,
            start: start::<C>,
            answer_json: answer_json::<C>,
        }
    }

    /// Returns a command's rate limit, or `None` if the command is not supported.
    pub(crate) const fn pace_of(command: u8) -> Option<Pace> {
        let mut rows = COMMANDS;
        while let [row, others @ ..] = rows {
            if row.number == command {
                return Some(row.pace);
            }
            rows = others;
        }
        None
    }

    /// Returns the numbers of all supported commands with their rate limits.
    pub(crate) fn paces() -> impl Iterator<Item = (u8, Pace)> {
        COMMANDS.iter().map(|row| (row.number, row.pace))
    }

    pub(crate) fn find(command: u8) -> Result<&'static CommandRow, Refusal> {
        COMMANDS.iter().find(|row| row.number == command).ok_or_else(|| {
            match NOT_OFFERED.iter().find(|(number, _)| *number == command) {
                Some((_, what)) => Refusal::NotOffered(what),
                None => Refusal::UnknownCommand(command),
            }
        })
    }

    /// Returns the command of a packet, or an error if it is not supported. Old SDKs (longbridge
    /// 0.2) send history requests as 26, a number that was later reassigned to calculated indexes,
    /// so the body is inspected too.
    pub(crate) fn of_packet(command: u8, body: &[u8]) -> Result<&'static CommandRow, Refusal> {
        let is_history =
            command == command::CALC_INDEXES && has_field(body, |field, _| HISTORY_ONLY.contains(&field));
        CommandRow::find(if is_history { command::HISTORY } else { command })
    }

    /// Does all non-blocking work for a request on a long connection.
    pub(crate) fn start(
        &self,
        core: &Core,
        caller: &Caller,
        body: &[u8],
        memory: &mut Memory,
    ) -> Result<Step, Refusal> {
        (self.start)(core, caller, body, memory)
    }

    /// Answers a JSON message with the protobuf field names. The caller must already have a
    /// market-data permit.
    pub(crate) fn answer_json(
        &self,
        core: &Core,
        caller: &Caller,
        permit: &Permit,
        fields: Map<String, Value>,
    ) -> Result<JsonReply, Refusal> {
        (self.answer_json)(core, caller, permit, fields)
    }
}

/// Returns whether a message has a matching field. Stops at the first field that cannot be decoded.
pub(crate) fn has_field(mut body: &[u8], is_it: impl Fn(u32, WireType) -> bool) -> bool {
    while !body.is_empty() {
        match decode_key(&mut body) {
            Ok((field, kind)) if is_it(field, kind) => return true,
            Ok((field, kind)) if skip_field(kind, field, &mut body, DecodeContext::default()).is_ok() => {}
            _ => return false,
        }
    }
    false
}

fn start<C: Command>(
    core: &Core,
    caller: &Caller,
    body: &[u8],
    memory: &mut Memory,
) -> Result<Step, Refusal> {
    let request = C::Request::decode(body)?;
    let mut work = route::admit(core, caller, 1, memory, |context| C::parse(request, context))?;
    let dated = work.dated();
    if let Some(dated) = dated {
        dated
            .command(C::NUMBER)
            .map_err(|why| Refusal::Malformed(format!("command {} is unknown: {why}", C::NUMBER)))?;
    }
    match (work.reply_at_once(core), dated) {
        (Some(reply), None) => reply.map(Step::Answered),
        (Some(reply), Some(dated)) => reply.map(|reply| Step::Answered(in_form(dated, C::NUMBER, reply))),
        (None, None) => Ok(Step::Waits(Box::new(work))),
        (None, Some(dated)) => Ok(Step::Waits(Box::new(DatedWork { work, dated }))),
    }
}

/// A request that was not started because it might block on the database. The whole request runs on
/// a worker thread.
pub(crate) struct Deferred {
    pub(crate) row: &'static CommandRow,
    pub(crate) caller: Caller,
    pub(crate) body: Vec<u8>,
}

impl BlockingWork for Deferred {
    fn share(&self, core: &Core) -> Share {
        core.share_of_caller(&self.caller.who)
    }

    fn run_if(self: Box<Self>, core: &Core, is_wanted: &dyn Fn() -> bool) -> Result<Reply, Refusal> {
        match self.row.start(core, &self.caller, &self.body, &mut Memory::default())? {
            Step::Answered(reply) if is_wanted() => Ok(reply),
            Step::Answered(_) => Err(Refusal::TimedOut),
            Step::Waits(work) => work.run_if(core, is_wanted),
        }
    }
}

/// Blocking work for an account pinned to an API date, whose reply is converted to that date's
/// format.
struct DatedWork<C> {
    work: Work<C>,
    dated: Dated,
}

impl<C: Command> BlockingWork for DatedWork<C> {
    fn share(&self, core: &Core) -> Share {
        self.work.share(core)
    }

    fn run_if(self: Box<Self>, core: &Core, is_wanted: &dyn Fn() -> bool) -> Result<Reply, Refusal> {
        let DatedWork { work, dated } = *self;
        let reply = Box::new(work).run_if(core, is_wanted)?;
        Ok(in_form(dated, C::NUMBER, reply))
    }
}

fn in_form(dated: Dated, command: u8, reply: Reply) -> Reply {
    Reply { body: dated.response(command, reply.body), ..reply }
}

fn answer_json<C: Command>(
    core: &Core,
    caller: &Caller,
    permit: &Permit,
    fields: Map<String, Value>,
) -> Result<JsonReply, Refusal> {
    let request: C::Request =
        serde_json::from_value(Value::Object(fields)).map_err(|error| undecodable(&error))?;
    let response = answer::<C>(core, caller, permit, request)?;
    Ok(JsonReply { data: response.json(), candles: response.candles() })
}

/// Answers a message for a caller that has a market-data permit.
pub(crate) fn answer<C: Command>(
    core: &Core,
    caller: &Caller,
    permit: &Permit,
    request: C::Request,
) -> Result<C::Response, Refusal> {
    let memory = &mut Memory::of(caller, permit);
    route::admit(core, caller, 1, memory, |context| C::parse(request, context))?.answer(core)
}

impl Task {
    /// Returns the metrics task of a quote gateway command, or `Task::Other` if the command is not
    /// supported.
    pub(crate) const fn of_command(command: u8) -> Task {
        let (mut rows, mut at) = (COMMANDS, 0);
        while let [row, others @ ..] = rows {
            if row.number == command {
                return Task::Command(CommandLabel::new(at, row.label));
            }
            (rows, at) = (others, at + 1);
        }
        Task::Other
    }

    /// Returns all tasks that metrics count, commands first.
    pub(crate) fn all() -> impl Iterator<Item = Task> {
        let commands = COMMANDS.iter().map(|row| Task::of_command(row.number));
        commands.chain(Task::WITHOUT_COMMANDS.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_numbers_are_unique() {
        for number in 0..=u8::MAX {
            let offered = COMMANDS.iter().filter(|row| row.number == number).count();
            let refused = NOT_OFFERED.iter().filter(|(refused, _)| *refused == number).count();
            assert!(offered + refused <= 1, "{number}");
            assert_eq!(CommandRow::find(number).is_ok(), offered == 1, "{number}");
            assert_eq!(Task::of_command(number) == Task::Other, offered == 0, "{number}");
        }
    }

    #[test]
    fn no_two_tasks_share_a_label() {
        let mut labels: Vec<&str> = Task::all().map(Task::as_str).collect();
        let count = labels.len();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), count, "{labels:?}");
    }

    #[test]
    fn a_request_without_fields_accepts_any_body() {
        type Sessions = <TradingSessions as Command>::Request;
        Sessions::decode(b"\xff\xff\xff").unwrap();
        let fields = serde_json::json!({"market": "HK"});
        serde_json::from_value::<Sessions>(fields).unwrap();
        assert!(matches!(<Profile as Command>::Request::decode(b"\xff\xff\xff"), Err(Refusal::Malformed(_))));
    }
}
