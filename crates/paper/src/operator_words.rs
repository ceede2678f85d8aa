//! Describes operator commands for the audit log and the operator.

use serde_json::Value;
use trading::{Command, Currency, Entry, Event, Money, Rate, Setting, Settings, plain_price};

/// Result of a currency exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchanged {
    pub from: Currency,
    pub paid: Money,
    pub to: Currency,
    pub received: Money,
    /// HKD per unit of the other currency. If neither currency is HKD, HKD per unit of the currency
    /// that was paid.
    pub rate: Rate,
}

impl Exchanged {
    /// Returns the last exchange among the entries, or `None` if there is none.
    pub(crate) fn of(entries: &[Entry]) -> Option<Exchanged> {
        entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Exchanged { from, paid, to, received, rate } => {
                Some(Exchanged { from: *from, paid: *paid, to: *to, received: *received, rate: *rate })
            }
            _ => None,
        })
    }

    /// Appends the received amount and the rate to a text that contains the command's description:
    /// `HKD 7800.00 changed into USD 1000.00, at HKD 7.8 for one USD`.
    pub fn completed(&self, words: &str) -> String {
        let Exchanged { from, paid, to, received, rate } = *self;
        let requested = exchange_in_words(from, paid, to);
        let priced = if from == Currency::HKD { to } else { from };
        let done = format!("{requested} {}, at HKD {rate} for one {priced}", received.text());
        words.replacen(&requested, &done, 1)
    }
}

fn exchange_in_words(from: Currency, amount: Money, to: Currency) -> String {
    format!("{from} {} changed into {to}", amount.text())
}

/// Describes an operator command, such as `HKD 7800.50 paid in`. Returns an empty string for client
/// commands.
pub fn in_words(command: &Command) -> String {
    match command {
        Command::Deposit { currency, amount } => format!("{currency} {} paid in", amount.text()),
        Command::Withdraw { currency, amount } => format!("{currency} {} paid out", amount.text()),
        Command::Exchange { from, amount, to } => exchange_in_words(*from, *amount, *to),
        Command::Adjust { currency, amount, .. } => format!("{currency} {} adjusted", amount.text()),
        Command::EnterPosition { symbol, quantity, cost } => {
            format!("holds {quantity} {symbol} at a cost of {}", plain_price(*cost))
        }
        Command::SetCredit(credit) => format!("credit HKD {}", credit.text()),
        Command::Set(setting) => setting_in_words(*setting),
        Command::Open { .. }
        | Command::Submit(_)
        | Command::Replace { .. }
        | Command::Cancel { .. }
        | Command::SubmitGrid(_)
        | Command::ReplaceGrid { .. }
        | Command::CancelGrid { .. }
        | Command::SuspendGrid { .. }
        | Command::RestartGrid { .. }
        | Command::AgreeToStrategy => String::new(),
    }
}

/// Returns all settings with their values, including defaults that the journal omits.
pub fn settings_in_full(settings: &Settings) -> Value {
    let mut document = serde_json::to_value(settings).unwrap_or_default();
    if let Some(fields) = document.as_object_mut() {
        fields.insert("grid_questionnaire".to_owned(), settings.grid_questionnaire.into());
        fields.insert("coarse_fills".to_owned(), settings.coarse_fills.into());
    }
    document
}

/// Formats a setting's journal key and value, such as `participation 0.1`.
fn setting_in_words(setting: Setting) -> String {
    let document = serde_json::to_value(setting).unwrap_or_default();
    let part = |name: &str| match document.get(name) {
        None | Some(Value::Null | Value::Bool(false)) => "off".to_owned(),
        Some(Value::Bool(true)) => "on".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    format!("{} {}", part("key"), part("value"))
}

#[cfg(test)]
mod tests {
    use trading::{Quantity, Share, parse_price};

    use super::*;

    #[test]
    fn operator_commands_are_described_with_their_amounts() {
        let (currency, amount) = (Currency::HKD, Money::parse("-0.5").unwrap());
        let position = Command::EnterPosition {
            symbol: "700.HK".parse().unwrap(),
            quantity: Quantity::whole(-300),
            cost: parse_price("310.40").unwrap(),
        };
        for (command, words) in [
            (Command::Deposit { currency, amount: Money::whole(7_800) }, "HKD 7800.00 paid in"),
            (Command::Adjust { currency, amount, note: String::new() }, "HKD -0.50 adjusted"),
            (position, "holds -300 700.HK at a cost of 310.4"),
            (Command::SetCredit(Money::ZERO), "credit HKD 0.00"),
            (Command::Set(Setting::Participation(None)), "participation off"),
            (Command::Set(Setting::MarketReserve(Share::parse("0.1").unwrap())), "market_reserve 0.1"),
            (Command::Set(Setting::ShortHk(true)), "short_hk on"),
            (Command::Set(Setting::SlippageTicks(2)), "slippage_ticks 2"),
            (Command::Set(Setting::GridQuestionnaire(true)), "grid_questionnaire on"),
            (Command::Set(Setting::OpenOrders(200)), "open_orders 200"),
            (Command::Set(Setting::CoarseFills(false)), "coarse_fills off"),
        ] {
            assert_eq!(in_words(&command), words);
        }
    }

    #[test]
    fn an_exchange_states_the_amount_received_and_the_rate() {
        let check = |from: Currency, to: Currency, expected: &str| {
            let (paid, received) = (Money::whole(78), Money::whole(10));
            let rate = Rate::parse("7.8").unwrap();
            let command = Command::Exchange { from, amount: paid, to };
            let exchanged = Exchanged { from, paid, to, received, rate };
            assert_eq!(exchanged.completed(&format!("{}: why", in_words(&command))), expected);
        };
        check(Currency::HKD, Currency::USD, "HKD 78.00 changed into USD 10.00, at HKD 7.8 for one USD: why");
        check(Currency::USD, Currency::HKD, "USD 78.00 changed into HKD 10.00, at HKD 7.8 for one USD: why");
        check(Currency::USD, Currency::CNH, "USD 78.00 changed into CNH 10.00, at HKD 7.8 for one USD: why");
    }
}
