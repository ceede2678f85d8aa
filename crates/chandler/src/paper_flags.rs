//! Flags for the settings of a paper account, and the parsers of amounts.

use std::error::Error;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value};
use trading::{AccountType, Command, CostMethod, Currency, FeePlan, Money, Setting, Settings, Share, Touch};

use crate::failure::{Failure, usage};

/// Changes of a paper account's settings.
#[derive(Debug, Args)]
pub(crate) struct PaperFlags {
    /// Paper account: maximum share of a candle's volume that it may trade, or `off` for no cap
    #[arg(long, value_name = "SHARE|off")]
    participation: Option<String>,
    /// Paper account: whether a resting limit order needs a price beyond its limit, or an equal one
    #[arg(long, value_parser = words::<Touch>(&["through", "touch"]))]
    touch: Option<Touch>,
    /// Paper account: slippage in ticks on every market fill
    #[arg(long, value_name = "N")]
    slippage_ticks: Option<u32>,
    /// Paper account: cash reserved for a market buy above the current price, as a share of the
    /// price
    #[arg(long, value_name = "SHARE")]
    market_reserve: Option<String>,
    /// Paper account: whether it may borrow money and securities
    #[arg(long, value_parser = words::<AccountType>(&["margin", "cash"]))]
    account_type: Option<AccountType>,
    /// Paper account: fee schedule
    #[arg(long, value_parser = words::<FeePlan>(&["standard", "none"]))]
    fees: Option<FeePlan>,
    /// Paper account: how the cost of a position is calculated
    #[arg(long, value_parser = words::<CostMethod>(&["diluted", "average"]))]
    cost: Option<CostMethod>,
    /// Paper account: whether it may sell short
    #[arg(long, value_enum)]
    short: Option<Short>,
    /// Paper account: allow US quantities with up to four decimals
    #[arg(long, value_enum)]
    fractional: Option<Switch>,
    /// Paper account: force liquidation when its debt is too large
    #[arg(long, value_enum)]
    liquidate: Option<Switch>,
    /// Paper account: accept grids only after the risk questionnaire has been accepted
    #[arg(long, value_enum)]
    grid_questionnaire: Option<Switch>,
    /// Paper account: maximum number of open orders
    #[arg(long, value_name = "N")]
    open_orders: Option<u32>,
    /// Paper account: maximum number of triggers per grid and trading day
    #[arg(long, value_name = "N")]
    grid_triggers: Option<u32>,
    /// Paper account: maximum number of journal entries before orders are refused
    #[arg(long, value_name = "N")]
    journal_entries: Option<u64>,
    /// Paper account: fill orders from daily candles on days without one-minute candles
    #[arg(long, value_enum)]
    coarse_fills: Option<Switch>,
    /// Paper account: credit line in HKD
    #[arg(long, value_name = "HKD=AMOUNT")]
    credit: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

impl Switch {
    pub(crate) fn is_on(self) -> bool {
        self == Switch::On
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Short {
    /// In the US and in Hong Kong
    On,
    Off,
    /// Only in the US (default)
    Us,
}

/// Paper account commands that share one audit entry.
#[derive(Debug)]
pub(crate) struct AuditedChange {
    pub(crate) event: &'static str,
    /// Description of the change for the audit log.
    pub(crate) reason: String,
    pub(crate) commands: Vec<Command>,
}

impl PaperFlags {
    /// Returns the changes, grouped by audit entry. If any setting is invalid, no change is
    /// returned.
    pub(crate) fn changes(&self) -> Result<Vec<AuditedChange>, Failure> {
        let settings = self.settings()?;
        let mut changes = Vec::new();
        if !settings.is_empty() {
            let commands: Vec<Command> = settings.into_iter().map(Command::Set).collect();
            let words: Vec<String> = commands.iter().map(paper::in_words).collect();
            changes.push(AuditedChange { event: "paper.set", reason: words.join(", "), commands });
        }
        if let Some(text) = &self.credit {
            let command = Command::SetCredit(credit_line(text)?);
            let reason = paper::in_words(&command);
            changes.push(AuditedChange { event: "paper.credit", reason, commands: vec![command] });
        }
        Ok(changes)
    }

    /// Returns the settings and the credit line as fields of a request that creates an account.
    pub(crate) fn fields(&self) -> Result<Map<String, Value>, Failure> {
        let mut settings = Map::new();
        for setting in self.settings()? {
            let document = serde_json::to_value(setting).unwrap_or_default();
            let part = |name: &str| document.get(name).cloned().unwrap_or_default();
            // Only the maximum share of a candle's volume can be null, which means that there is no
            // limit.
            let value = if part("value").is_null() { Value::from("off") } else { part("value") };
            settings.insert(part("key").as_str().unwrap_or_default().to_owned(), value);
        }
        let mut fields = Map::new();
        if !settings.is_empty() {
            fields.insert("settings".to_owned(), settings.into());
        }
        if let Some(text) = &self.credit {
            fields.insert("credit".to_owned(), credit_line(text)?.text().to_string().into());
        }
        Ok(fields)
    }

    fn settings(&self) -> Result<Vec<Setting>, Failure> {
        let mut settings: Vec<Setting> = Vec::new();
        if let Some(text) = &self.participation {
            let share = if text == "off" { None } else { Some(share("--participation", text)?) };
            settings.push(Setting::Participation(share));
        }
        settings.extend(self.touch.map(Setting::Touch));
        settings.extend(self.slippage_ticks.map(Setting::SlippageTicks));
        if let Some(text) = &self.market_reserve {
            settings.push(Setting::MarketReserve(share("--market-reserve", text)?));
        }
        settings.extend(self.account_type.map(Setting::AccountType));
        settings.extend(self.fees.map(Setting::Fees));
        settings.extend(self.cost.map(Setting::Cost));
        if let Some(short) = self.short {
            settings.push(Setting::ShortUs(short != Short::Off));
            settings.push(Setting::ShortHk(short == Short::On));
        }
        settings.extend(self.fractional.map(|switch| Setting::Fractional(switch.is_on())));
        settings.extend(self.liquidate.map(|switch| Setting::Liquidate(switch.is_on())));
        settings.extend(self.grid_questionnaire.map(|switch| Setting::GridQuestionnaire(switch.is_on())));
        settings.extend(self.open_orders.map(Setting::OpenOrders));
        settings.extend(self.grid_triggers.map(Setting::GridTriggers));
        settings.extend(self.journal_entries.map(Setting::JournalEntries));
        settings.extend(self.coarse_fills.map(|switch| Setting::CoarseFills(switch.is_on())));
        for setting in &settings {
            Settings::check(*setting).map_err(usage)?;
        }
        Ok(settings)
    }
}

fn share(flag: &str, text: &str) -> Result<Share, Failure> {
    text.parse()
        .map_err(|error| usage(format!("{flag}: {text:?} {error}; write a share from 0 to 1, like 0.1")))
}

/// Parses amounts such as `HKD=500000,USD=20000`. `none` is an empty list.
pub(crate) fn amounts(text: &str) -> Result<Vec<(Currency, Money)>, Failure> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let mut amounts: Vec<(Currency, Money)> = Vec::new();
    for part in text.split(',') {
        let (currency, amount) = one_amount(part)?;
        if amounts.iter().any(|(known, _)| *known == currency) {
            return Err(usage(format!("{currency} is given twice in {text:?}")));
        }
        amounts.push((currency, amount));
    }
    Ok(amounts)
}

fn one_amount(text: &str) -> Result<(Currency, Money), Failure> {
    let wrong = || usage(format!("{text:?} is not an amount: write HKD=500000"));
    let (currency, amount) = text.split_once('=').ok_or_else(wrong)?;
    let amount = money(amount)?;
    if amount.is_negative() {
        return Err(usage(format!("{text:?} is below 0")));
    }
    Ok((parse_currency(currency)?, amount))
}

/// Parses a credit line, which must be in HKD.
pub(crate) fn credit_line(text: &str) -> Result<Money, Failure> {
    match one_amount(text)? {
        (Currency::HKD, amount) => Ok(amount),
        (other, _) => {
            Err(usage(format!("a credit line is in HKD: write --credit HKD=AMOUNT instead of {other}")))
        }
    }
}

pub(crate) fn money(text: &str) -> Result<Money, Failure> {
    Money::parse(text).map_err(|error| usage(format!("the amount {text:?} {error}")))
}

pub(crate) fn parse_currency(text: &str) -> Result<Currency, Failure> {
    text.to_ascii_uppercase().parse().map_err(usage)
}

/// Returns a value parser for a fixed set of words, which are shown in the help.
pub(crate) fn words<T>(known: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Error + Send + Sync + 'static> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(known.iter().copied()).try_map(|text| text.parse::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cash_is_parsed_by_currency() {
        let read = |text: &str| {
            amounts(text).map(|amounts| {
                amounts
                    .iter()
                    .map(|(currency, amount)| format!("{currency} {amount}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        };
        assert_eq!(read("HKD=500000,USD=20000.5").unwrap(), "HKD 500000 USD 20000.5");
        assert_eq!(read("hkd=0").unwrap(), "HKD 0");
        assert_eq!(read("none").unwrap(), "");
        for wrong in
            ["", "HKD", "500000", "HKD=", "HKD=1,HKD=2", "HKD=-1", "HKD=1e3", "HONG=1", "HKD=1;USD=2"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(credit_line("USD=1").is_err() && credit_line("HKD=400000").is_ok());
    }
}
