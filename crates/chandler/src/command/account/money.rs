//! `chandler account deposit`, `withdraw`, `exchange`, `adjust` and `position`: add operator
//! entries to a paper account's journal.

use access::{Access, Account, Actor, Present, Right, Validity, parse_instant};
use clap::Args;
use serde_json::{Value, json};
use trading::{Command, Quantity, parse_price};

use crate::context::CommandContext;
use crate::failure::{Failure, theirs, usage};
use crate::local::{Books, named};
use crate::output::{Format, say};
use crate::paper_flags::{money, parse_currency};

#[derive(Debug, Args)]
pub(super) struct Deposit {
    /// The account, by name or number
    name: String,
    #[arg(allow_negative_numbers = true)]
    amount: String,
    /// Currency code, such as HKD
    currency: String,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Withdraw {
    /// The account, by name or number
    name: String,
    /// An amount of money, with CURRENCY; or a package: HK, US, US_OVERNIGHT, CN, SG or US_OPTIONS
    #[arg(value_name = "AMOUNT|PACKAGE", allow_negative_numbers = true)]
    what: String,
    /// Currency code, such as HKD
    currency: Option<String>,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Exchange {
    /// The account, by name or number
    name: String,
    /// The amount to exchange
    #[arg(allow_negative_numbers = true)]
    amount: String,
    /// Currency of the amount
    from: String,
    /// Currency to receive, at the stored rate
    to: String,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Adjust {
    /// The account, by name or number
    name: String,
    /// The amount to add; negative to subtract
    #[arg(allow_negative_numbers = true)]
    amount: String,
    /// Currency code, such as HKD
    currency: String,
    /// Note for the cash flow and the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Position {
    /// The account, by name or number
    name: String,
    /// The security
    symbol: String,
    /// New quantity; negative for a short position
    #[arg(allow_negative_numbers = true)]
    quantity: String,
    /// Cost per share
    #[arg(allow_negative_numbers = true)]
    cost: String,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Applies an operator's journal entry and prints the result.
fn enter(
    context: &CommandContext,
    account: &Account,
    (event, reason): (&'static str, &str),
    command: &Command,
    mut document: Value,
    format: Format,
) -> Result<(), Failure> {
    let mut books = Books::open(context)?;
    let words = paper::in_words(command);
    let audited = if reason.is_empty() { words.clone() } else { format!("{words}: {reason}") };
    let done = books.operate(account, event, audited, std::slice::from_ref(command))?;
    let words = done.exchanged.map_or_else(|| words.clone(), |exchanged| exchanged.completed(&words));
    if let Some(fields) = document.as_object_mut() {
        if let Some(exchanged) = done.exchanged {
            fields.insert("received".to_owned(), exchanged.received.text().to_string().into());
            fields.insert("rate".to_owned(), exchanged.rate.to_string().into());
        }
        fields.insert("account_id".to_owned(), account.id.0.into());
        fields.insert("name".to_owned(), account.name.clone().into());
    }
    say(format, &format!("account {:?}: {words}", account.name), document)
}

impl Deposit {
    pub(super) fn run(&self, access: &Access, context: &CommandContext) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let (amount, currency) = (money(&self.amount)?, parse_currency(&self.currency)?);
        let document = json!({"currency": currency, "amount": amount.text().to_string()});
        let command = Command::Deposit { currency, amount };
        enter(context, &account, ("paper.deposited", &self.reason), &command, document, self.format)
    }
}

impl Withdraw {
    /// Withdraws money if a currency is given, otherwise revokes a package.
    pub(super) fn run(
        &self,
        access: &Access,
        context: &CommandContext,
        present: Present,
    ) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let Some(currency) = &self.currency else { return self.package(access, &account, present) };
        let (amount, currency) = (money(&self.what)?, parse_currency(currency)?);
        let document = json!({"currency": currency, "amount": amount.text().to_string()});
        let command = Command::Withdraw { currency, amount };
        enter(context, &account, ("paper.withdrawn", &self.reason), &command, document, self.format)
    }

    fn package(&self, access: &Access, account: &Account, present: Present) -> Result<(), Failure> {
        if self.what.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(usage(format!("to withdraw money, write NAME {} CURRENCY", self.what)));
        }
        let right: Right = self.what.parse().map_err(usage)?;
        let had = access.withdraw(account.id, right, &Actor::Operator, present.machine)?;
        let said = if had { "no longer has" } else { "did not have" };
        let document = json!({
            "account_id": account.id.0, "name": account.name, "package": right.as_str(), "changed": had,
        });
        say(self.format, &format!("account {:?} {said} {right}", account.name), document)
    }
}

impl Exchange {
    pub(super) fn run(&self, access: &Access, context: &CommandContext) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let amount = money(&self.amount)?;
        let (from, to) = (parse_currency(&self.from)?, parse_currency(&self.to)?);
        let document = json!({"from": from, "amount": amount.text().to_string(), "to": to});
        let command = Command::Exchange { from, amount, to };
        enter(context, &account, ("paper.exchanged", &self.reason), &command, document, self.format)
    }
}

impl Adjust {
    pub(super) fn run(&self, access: &Access, context: &CommandContext) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let (amount, currency) = (money(&self.amount)?, parse_currency(&self.currency)?);
        let document = json!({"currency": currency, "amount": amount.text().to_string()});
        let command = Command::Adjust { currency, amount, note: self.note.clone() };
        enter(context, &account, ("paper.adjusted", &self.note), &command, document, self.format)
    }
}

impl Position {
    pub(super) fn run(&self, access: &Access, context: &CommandContext) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let symbol = context.symbol(&self.symbol)?;
        let wrong = |what: &str, text: &str, error: trading::DecimalError| {
            usage(format!("the {what} {text:?} {error}"))
        };
        let quantity =
            Quantity::parse(&self.quantity).map_err(|error| wrong("quantity", &self.quantity, error))?;
        let cost = parse_price(&self.cost).map_err(|error| wrong("cost", &self.cost, error))?;
        let document = json!({
            "symbol": symbol.as_str(), "quantity": quantity, "cost": trading::plain_price(cost).to_string(),
        });
        let command = Command::EnterPosition { symbol, quantity, cost };
        enter(context, &account, ("paper.position", &self.reason), &command, document, self.format)
    }
}

#[derive(Debug, Args)]
pub(super) struct Grant {
    name: String,
    /// HK, US, US_OVERNIGHT, CN, SG or US_OPTIONS
    package: String,
    /// Start of the grant: a date (its start in Hong Kong) or an instant such as
    /// 2026-11-13T01:30:00Z [default: immediately]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// End of the grant, exclusive [default: never]
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Grant {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        let right: Right = self.package.parse().map_err(usage)?;
        let time = |text: &Option<String>| text.as_deref().map(parse_instant).transpose().map_err(usage);
        let validity = Validity { starts_at: time(&self.from)?, ends_at: time(&self.until)? };
        let account = named(access, &self.name)?;
        access.grant(account.id, right, validity, &Actor::Operator, present.machine).map_err(theirs)?;
        let [from, until] = [validity.starts_at, validity.ends_at].map(|at| at.map(|at| at.to_string()));
        let document = json!({
            "account_id": account.id.0, "name": account.name, "package": right.as_str(), "from": from, "until": until,
        });
        say(self.format, &format!("account {:?} has {right} {validity}", account.name), document)
    }
}
