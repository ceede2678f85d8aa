//! Parses the initial cash, credit line and settings of a new world's paper account.

use paper::Opening;
use trading::{Currency, Money};

use super::create::CreateWorld;
use super::request::{OwnerRequest, wrong};
use crate::kit::Problem;
use crate::kit::paper_settings::{decimal, is_limit, setting};

impl OwnerRequest<'_> {
    pub(super) fn opening(&self, new: &CreateWorld) -> Result<Opening, Problem> {
        let mut opening = Opening::default();
        if let Some(cash) = &new.cash {
            opening.cash = cash.iter().map(amount).collect::<Result<_, Problem>>()?;
        }
        if let Some(credit) = &new.credit {
            opening.credit = decimal("credit", credit, Money::parse)?;
            if opening.credit.is_negative() {
                return Err(wrong("credit is below 0"));
            }
        }
        for (name, value) in new.settings.iter().flatten() {
            for setting in setting(name, value)? {
                if is_limit(setting) && self.admitted.as_operator(self.site).is_err() {
                    return Err(wrong(&format!("{name} is a limit of the server: only operators change it")));
                }
                opening.settings.apply(setting).map_err(|refusal| wrong(&refusal.text))?;
            }
        }
        Ok(opening)
    }
}

fn amount((currency, amount): (&String, &String)) -> Result<(Currency, Money), Problem> {
    let unknown = || wrong(&format!("{:?} is not a currency", shortened(currency)));
    let currency: Currency = currency.parse().map_err(|_| unknown())?;
    let not_money = || wrong(&format!("{:?} is not an amount of cash", shortened(amount)));
    let money = Money::parse(amount).map_err(|_| not_money())?;
    if money.is_negative() { Err(not_money()) } else { Ok((currency, money)) }
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
