//! Operator endpoints for paper accounts: deposits and withdrawals, positions, settings, and the
//! full journal. Each change writes an entry to the account's journal and a row to the audit log.

use access::{Account, Actor};
use market::Timestamp;
use paper::{Audit, JournalOperation, PaperError, Standing};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trading::{Command, Currency, Money, Quantity, parse_price};

use super::admin_request::{NAME, WRONG_OR_UNKNOWN, instant, wrong};
use crate::kit::doc::refusals::NOT_FOUND;
use crate::kit::doc::{AnswerDoc, Doc, Media, Tag, data};
use crate::kit::paper_settings::{SETTINGS, decimal, setting};
use crate::kit::{Admitted, Call, Problem, Site};
use crate::written::Instant;

/// Maximum length of a reason or an archive name, in characters.
const TEXT_MAX: usize = 256;

const NOW: &[AnswerDoc] = &[AnswerDoc::ok("The updated account", &[data::<PaperAccount>()])];

pub(super) const SHOW: Doc =
    Doc::new(Tag::Admin, "adminPaper", "A paper account, and the parts removed from its journal")
        .parameters(&[NAME])
        .answers(NOW)
        .refuses(&[NOT_FOUND]);

pub(super) const DEPOSIT: Doc = change("adminPaperDeposit", "Deposit cash").body(&[Media::json::<Amount>()]);
pub(super) const WITHDRAW: Doc =
    change("adminPaperWithdraw", "Withdraw cash").body(&[Media::json::<Amount>()]);
pub(super) const ADJUST: Doc =
    change("adminPaperAdjust", "Book a positive or negative adjustment").body(&[Media::json::<Amount>()]);
pub(super) const EXCHANGE: Doc =
    change("adminPaperExchange", "Exchange one currency for another at the stored rate")
        .body(&[Media::json::<Exchange>()]);
pub(super) const POSITION: Doc =
    change("adminPaperPosition", "Set a position and its cost without changing the cash balance")
        .body(&[Media::json::<Holding>()]);
pub(super) const CREDIT: Doc =
    change("adminPaperCredit", "Set the credit line in HKD").body(&[Media::json::<Credit>()]);
pub(super) const CHANGE_SETTINGS: Doc = change("adminPaperSettings", "Change settings, effective from now")
    .body(&[Media::json::<serde_json::Map<String, serde_json::Value>>()]);
pub(super) const REWIND: Doc =
    change("adminPaperRewind", "Rewind the account to an instant").body(&[Media::json::<Rewind>()]);
pub(super) const RESET: Doc =
    change("adminPaperReset", "Reset the account to its state before the first request")
        .body(&[Media::json::<Reset>()]);
pub(super) const FORK: Doc =
    change("adminPaperFork", "Copy a journal, or its first part, to an account without a journal")
        .body(&[Media::json::<Fork>()]);

const fn change(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Admin, id, summary).parameters(&[NAME]).answers(NOW).refuses(WRONG_OR_UNKNOWN)
}

/// An operator's request about a paper account.
pub(super) struct OperatorRequest<'a> {
    call: &'a Call<'a>,
    site: &'a Site,
    by: String,
    account: Account,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PaperAmount")]
#[serde(deny_unknown_fields)]
pub(super) struct Amount {
    /// Decimal as a string, or a whole number.
    amount: Value,
    currency: String,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PaperExchange")]
#[serde(deny_unknown_fields)]
pub(super) struct Exchange {
    from: String,
    to: String,
    /// Decimal as a string, or a whole number.
    amount: Value,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PaperPosition")]
#[serde(deny_unknown_fields)]
pub(super) struct Holding {
    symbol: String,
    /// Decimal as a string, or a whole number.
    quantity: Value,
    /// Decimal as a string, or a whole number.
    cost: Value,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PaperCredit")]
#[serde(deny_unknown_fields)]
pub(super) struct Credit {
    /// Decimal as a string, or a whole number.
    amount: Value,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PaperRewind")]
#[serde(deny_unknown_fields, default)]
pub(super) struct Rewind {
    /// Instant to which the account is rewound.
    to: Option<Value>,
    /// Archive name of the removed part.
    name: Option<String>,
    reason: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PaperReset")]
#[serde(deny_unknown_fields, default)]
pub(super) struct Reset {
    /// Archive name of the removed part.
    name: Option<String>,
    reason: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PaperFork")]
#[serde(deny_unknown_fields, default)]
pub(super) struct Fork {
    /// Name of the account to copy to.
    account: Option<String>,
    /// Instant up to which the journal is copied; default: the whole journal.
    to: Option<Value>,
    reason: String,
}

/// A paper account, as shown to operators.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PaperAccount {
    account: String,
    account_id: i64,
    /// Number of journal entries.
    entries: u64,
    /// Market time up to which the account has been simulated; null before its first request.
    horizon: Option<Instant>,
    read_only: bool,
    #[serde(flatten)]
    state: Option<PaperState>,
    /// Parts removed from the journal; present only if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<PaperCut>")]
    cuts: Option<Vec<PaperCut>>,
}

/// State of an open paper account.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PaperState {
    settings: Value,
    /// Credit line in HKD.
    credit: String,
    /// Cash balance by currency.
    cash: Map<String, Value>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PaperCut {
    name: String,
    /// Instant that the account was rewound to; null after a reset.
    rewound_to: Option<Instant>,
    horizon: Option<Instant>,
    cut_at: Instant,
    entries: u64,
}

impl<'a> OperatorRequest<'a> {
    pub(super) fn open(
        call: &'a Call<'a>,
        site: &'a Site,
        by: &Admitted,
    ) -> Result<OperatorRequest<'a>, Problem> {
        let account = named(call.path_value("name"), site)?;
        Ok(OperatorRequest { call, site, by: Actor::Account(by.account().id).to_string(), account })
    }

    pub(super) fn show(&self) -> Result<PaperAccount, Problem> {
        let core = &self.site.core;
        let cuts = core.paper.cuts(self.account.id).map_err(Problem::from_paper)?;
        let cut = |cut: &paper::JournalCut| PaperCut {
            name: cut.name.clone(),
            rewound_to: moment(cut.rewound_to),
            horizon: moment(cut.horizon),
            cut_at: Instant::utc(cut.cut_at),
            entries: cut.entries,
        };
        Ok(PaperAccount { cuts: Some(cuts.iter().map(cut).collect()), ..self.shown()? })
    }

    pub(super) fn deposit(&self) -> Result<PaperAccount, Problem> {
        let Amount { amount, currency, reason } = self.body()?;
        let command = Command::Deposit { currency: self::currency(&currency)?, amount: money(&amount)? };
        self.done("paper.deposited", &reason, &command)
    }

    pub(super) fn withdraw(&self) -> Result<PaperAccount, Problem> {
        let Amount { amount, currency, reason } = self.body()?;
        let command = Command::Withdraw { currency: self::currency(&currency)?, amount: money(&amount)? };
        self.done("paper.withdrawn", &reason, &command)
    }

    pub(super) fn exchange(&self) -> Result<PaperAccount, Problem> {
        let Exchange { from, to, amount, reason } = self.body()?;
        let (from, to) = (currency(&from)?, currency(&to)?);
        self.done("paper.exchanged", &reason, &Command::Exchange { from, amount: money(&amount)?, to })
    }

    pub(super) fn adjust(&self) -> Result<PaperAccount, Problem> {
        let Amount { amount, currency, reason } = self.body()?;
        let (currency, amount) = (self::currency(&currency)?, money(&amount)?);
        let note = text("reason", &reason)?.to_owned();
        self.done("paper.adjusted", &reason, &Command::Adjust { currency, amount, note })
    }

    pub(super) fn position(&self) -> Result<PaperAccount, Problem> {
        let Holding { symbol, quantity, cost, reason } = self.body()?;
        let symbol = symbol.parse().map_err(|error: market::ParseSymbolError| wrong(&error.to_string()))?;
        let quantity = decimal("quantity", &quantity, Quantity::parse)?;
        let cost = decimal("cost", &cost, parse_price)?;
        self.done("paper.position", &reason, &Command::EnterPosition { symbol, quantity, cost })
    }

    pub(super) fn credit(&self) -> Result<PaperAccount, Problem> {
        let Credit { amount, reason } = self.body()?;
        self.done("paper.credit", &reason, &Command::SetCredit(money(&amount)?))
    }

    pub(super) fn settings(&self) -> Result<PaperAccount, Problem> {
        let mut fields: Map<String, Value> = self.body()?;
        let reason = match fields.remove("reason") {
            None => String::new(),
            Some(Value::String(reason)) => reason,
            Some(_) => return Err(wrong("reason is text")),
        };
        let mut settings = Vec::new();
        for (name, value) in &fields {
            settings.extend(setting(name, value)?);
        }
        if settings.is_empty() {
            return Err(wrong(SETTINGS));
        }
        let commands: Vec<Command> = settings.into_iter().map(Command::Set).collect();
        self.commands("paper.set", &reason, &commands)?;
        self.shown()
    }

    pub(super) fn rewind(&self) -> Result<PaperAccount, Problem> {
        let Rewind { to, name, reason } = self.body()?;
        let to = instant(to)?.ok_or_else(|| wrong("to is required, such as 2026-03-18T02:00:15Z"))?;
        let name = self.cut_name(name)?;
        let standing = self.site.core.paper.rewind(self.account.id, to, &self.operation(&name, &reason)?);
        self.travelled(standing)
    }

    pub(super) fn reset(&self) -> Result<PaperAccount, Problem> {
        let Reset { name, reason } = self.body()?;
        let name = self.cut_name(name)?;
        let standing = self.site.core.paper.reset(self.account.id, &self.operation(&name, &reason)?);
        self.travelled(standing)
    }

    pub(super) fn fork(&self) -> Result<PaperAccount, Problem> {
        let Fork { account, to, reason } = self.body()?;
        let account =
            account.ok_or_else(|| wrong("account is required: the name of an account without a journal"))?;
        let (account, until) = (named(&account, self.site)?, instant(to)?);
        let operation = self.operation("", &reason)?;
        let standing = self.site.core.paper.fork(self.account.id, account.id, until, &operation);
        let standing = standing.map_err(Problem::from_paper)?;
        self.site.core.listeners.sooner().notify_one();
        Ok(standing_of(&account, &standing))
    }

    /// Decodes the request body. An empty body means an object without fields.
    fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let read = if self.call.body.is_empty() { serde_json::from_str("{}") } else { self.call.object() };
        read.map_err(|error| wrong(&format!("the body cannot be decoded: {error}")))
    }

    fn operation<'t>(&'t self, name: &'t str, reason: &'t str) -> Result<JournalOperation<'t>, Problem> {
        let (machine, reason) = (self.site.core.machine_now(), text("reason", reason)?);
        Ok(JournalOperation { name, actor: &self.by, reason, machine })
    }

    /// Returns the archive name of a removed part. Defaults to a name derived from the machine's
    /// time.
    fn cut_name(&self, name: Option<String>) -> Result<String, Problem> {
        let core = &self.site.core;
        match name.filter(|name| !name.is_empty()) {
            Some(name) => text("name", &name).map(str::to_owned),
            None => {
                let free = core.paper.free_cut_name(self.account.id, core.machine_now());
                free.map_err(Problem::from_paper)
            }
        }
    }

    fn travelled(&self, standing: Result<Standing, PaperError>) -> Result<PaperAccount, Problem> {
        let standing = standing.map_err(Problem::from_paper)?;
        self.site.core.listeners.sooner().notify_one();
        self.site.core.paper_levels.tally_soon();
        Ok(standing_of(&self.account, &standing))
    }

    fn done(&self, event: &'static str, reason: &str, command: &Command) -> Result<PaperAccount, Problem> {
        self.commands(event, reason, std::slice::from_ref(command))?;
        self.shown()
    }

    /// Applies all commands atomically: either all succeed or none is applied.
    fn commands(&self, event: &'static str, reason: &str, commands: &[Command]) -> Result<(), Problem> {
        let (core, id) = (&self.site.core, self.account.id);
        let (reason, done) = (text("reason", reason)?, commands.iter().map(paper::in_words));
        let done = done.collect::<Vec<_>>().join(", ");
        let reason = if reason.is_empty() { done } else { format!("{done}: {reason}") };
        let audit = Audit { event, actor: self.by.clone(), reason };
        let done = core
            .with_reader(|reader| core.paper.at(id, reader, &**core).commands(commands, None, Some(audit)));
        done.map(drop).map_err(Problem::from_paper)
    }

    fn shown(&self) -> Result<PaperAccount, Problem> {
        let standing = self.site.core.paper.standing(self.account.id).map_err(Problem::from_paper)?;
        let shown = standing_of(&self.account, &standing);
        if standing.entries == 0 {
            return Ok(shown);
        }
        let described = self.site.core.paper.described(self.account.id).map_err(Problem::from_paper)?;
        let cash = described.currencies();
        let cash = cash.map(|(currency, amount)| (currency.to_string(), amount.text().to_string().into()));
        let state = PaperState {
            settings: paper::settings_in_full(described.settings()),
            credit: described.credit().text().to_string(),
            cash: cash.collect(),
        };
        Ok(PaperAccount { state: Some(state), ..shown })
    }
}

fn named(name: &str, site: &Site) -> Result<Account, Problem> {
    let account = site.core.access.account_called(name).map_err(Problem::from_access)?;
    account.ok_or_else(Problem::not_found)
}

fn standing_of(account: &Account, standing: &Standing) -> PaperAccount {
    PaperAccount {
        account: account.name.clone(),
        account_id: account.id.0,
        entries: standing.entries,
        horizon: standing.horizon.and_then(moment),
        read_only: account.terms.read_only,
        state: None,
        cuts: None,
    }
}

/// Converts a timestamp, or returns `None` if it is zero.
fn moment(at: Timestamp) -> Option<Instant> {
    (at > Timestamp::default()).then(|| Instant::utc(at))
}

fn text<'t>(field: &str, text: &'t str) -> Result<&'t str, Problem> {
    if text.chars().count() > TEXT_MAX || text.chars().any(char::is_control) {
        return Err(wrong(&format!("{field} must have at most {TEXT_MAX} printable characters")));
    }
    Ok(text)
}

fn currency(text: &str) -> Result<Currency, Problem> {
    text.parse().map_err(|error: trading::ParseCurrencyError| wrong(&error.to_string()))
}

fn money(value: &Value) -> Result<Money, Problem> {
    decimal("amount", value, Money::parse)
}
