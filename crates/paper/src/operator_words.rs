//! What an operator does, in words: for the audit, and for whoever did it.

use serde_json::Value;
use trading::{Command, Setting, plain_price};

/// `HKD 7800.50 paid in`; nothing for what is a client's.
pub fn in_words(command: &Command) -> String {
    match command {
        Command::Deposit { currency, amount } => format!("{currency} {} paid in", amount.text()),
        Command::Withdraw { currency, amount } => format!("{currency} {} paid out", amount.text()),
        Command::Exchange { from, amount, to } => format!("{from} {} changed into {to}", amount.text()),
        Command::Adjust { currency, amount, .. } => format!("{currency} {} adjusted", amount.text()),
        Command::EnterPosition { symbol, quantity, cost } => {
            format!("holds {quantity} {symbol} at a cost of {}", plain_price(*cost))
        }
        Command::SetCredit(credit) => format!("credit HKD {}", credit.text()),
        Command::Set(setting) => setting_in_words(*setting),
        Command::Open { .. } | Command::Submit(_) | Command::Replace { .. } | Command::Cancel { .. } => {
            String::new()
        }
    }
}

/// `participation 0.1`: key and value as the journal has them.
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
    use trading::{Currency, Money, Quantity, Share, parse_price};

    use super::*;

    #[test]
    fn what_an_operator_does_is_told_with_its_amount() {
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
        ] {
            assert_eq!(in_words(&command), words);
        }
    }
}
