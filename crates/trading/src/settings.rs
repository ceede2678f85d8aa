//! Account settings. Each change is a journal event, so it does not affect earlier results.

use market::Market;
use serde::{Deserialize, Serialize};

use crate::codec::serde_as_text;
use crate::decimal::{DecimalError, Plain, parse_units};
use crate::money::Currency;
use crate::money::Money;
use crate::refusal::Refusal;
use crate::words::{AccountType, CostMethod, FeePlan, Touch};

/// A fraction in millionths, such as `0.1` of a candle's volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(i64);

const SHARE_DECIMALS: u32 = 6;
pub(crate) const SHARE_UNIT: i64 = 10i64.pow(SHARE_DECIMALS);

impl Share {
    pub(crate) const TENTH: Share = Share(SHARE_UNIT / 10);
    pub(crate) const TWENTIETH: Share = Share(SHARE_UNIT / 20);
    pub const ZERO: Share = Share(0);
    pub const ONE: Share = Share(SHARE_UNIT);

    /// Parses a fraction from 0 to 1 (inclusive).
    pub fn parse(text: &str) -> Result<Share, DecimalError> {
        match parse_units(text, SHARE_DECIMALS)? {
            (units, true) => match i64::try_from(units) {
                Ok(units) if (0..=SHARE_UNIT).contains(&units) => Ok(Share(units)),
                _ => Err(DecimalError::Range),
            },
            (_, false) => Err(DecimalError::Decimals(SHARE_DECIMALS)),
        }
    }

    pub(crate) fn units(self) -> i64 {
        self.0
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&Plain::new(i128::from(self.0), SHARE_DECIMALS, 0), f)
    }
}

impl std::str::FromStr for Share {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Share, DecimalError> {
        Share::parse(text)
    }
}

serde_as_text!(Share);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Maximum fraction of a candle's volume that the account may fill. `None` for no limit.
    pub participation: Option<Share>,
    pub touch: Touch,
    /// Slippage of each market order's fill, in ticks to the client's disadvantage.
    pub slippage_ticks: u32,
    /// Fraction by which the reserve price of a market order exceeds the mark.
    pub market_reserve: Share,
    pub account_type: AccountType,
    pub fees: FeePlan,
    pub cost: CostMethod,
    /// Whether quantities of US securities may have up to four decimals.
    pub fractional: bool,
    pub short_us: bool,
    pub short_hk: bool,
    /// Whether positions are liquidated when net assets fall below the forced margin.
    pub liquidate: bool,
    /// Whether a client must accept the risks of grid trading before submitting a grid.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grid_questionnaire: bool,
    /// Whether daily candles fill orders on days without one-minute candles. Enabled in journals
    /// written before this setting existed.
    #[serde(default = "on", skip_serializing_if = "is_on")]
    pub coarse_fills: bool,
    #[serde(default, skip_serializing_if = "AccountLimits::is_default")]
    pub limits: AccountLimits,
}

/// Resource limits of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountLimits {
    /// Maximum number of open orders, including parked, held, conditional and grid orders.
    pub open_orders: u32,
    /// Maximum number of triggers per grid and trading day.
    pub grid_triggers: u32,
    /// Maximum number of journal entries. When the journal is full, new orders are refused, but
    /// open orders remain active.
    pub journal_entries: u64,
}

impl AccountLimits {
    fn is_default(&self) -> bool {
        *self == AccountLimits::default()
    }
}

impl Default for AccountLimits {
    fn default() -> AccountLimits {
        AccountLimits { open_orders: 1_000, grid_triggers: 100, journal_entries: 1_000_000 }
    }
}

fn on() -> bool {
    true
}

fn is_on(on: &bool) -> bool {
    *on
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            participation: Some(Share::TENTH),
            touch: Touch::Through,
            slippage_ticks: 0,
            market_reserve: Share::TWENTIETH,
            account_type: AccountType::Margin,
            fees: FeePlan::Standard,
            cost: CostMethod::Diluted,
            fractional: false,
            short_us: true,
            short_hk: false,
            liquidate: false,
            grid_questionnaire: false,
            limits: AccountLimits::default(),
            coarse_fills: true,
        }
    }
}

/// Returns the default starting cash of a new account.
pub fn start_cash() -> [(Currency, Money); 2] {
    [(Currency::HKD, Money::whole(1_000_000)), (Currency::USD, Money::whole(100_000))]
}

/// A change of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "key", content = "value", rename_all = "snake_case")]
pub enum Setting {
    Participation(Option<Share>),
    Touch(Touch),
    SlippageTicks(u32),
    MarketReserve(Share),
    AccountType(AccountType),
    Fees(FeePlan),
    Cost(CostMethod),
    Fractional(bool),
    ShortUs(bool),
    ShortHk(bool),
    Liquidate(bool),
    GridQuestionnaire(bool),
    OpenOrders(u32),
    GridTriggers(u32),
    JournalEntries(u64),
    CoarseFills(bool),
}

const SLIPPAGE_TICKS_MAX: u32 = 1000;
/// Largest limit on open orders that an operator may set.
const OPEN_ORDERS_MAX: u64 = 10_000;
/// Largest limit on triggers per grid and trading day that an operator may set.
const GRID_TRIGGERS_MAX: u64 = 10_000;
/// Largest limit on journal entries that an operator may set.
const JOURNAL_ENTRIES_MAX: u64 = 1_000_000_000;

fn check_limit(name: &str, limit: u64, most: u64) -> Result<(), Refusal> {
    if (1..=most).contains(&limit) {
        return Ok(());
    }
    Err(Refusal::plain(format!("{name} must be from 1 to {most}")))
}

impl Settings {
    pub fn check(setting: Setting) -> Result<(), Refusal> {
        match setting {
            Setting::Participation(Some(share)) if share == Share::ZERO => {
                Err(Refusal::plain("participation must be above 0: write off for no cap"))
            }
            Setting::SlippageTicks(ticks) if ticks > SLIPPAGE_TICKS_MAX => {
                Err(Refusal::plain(format!("slippage_ticks must be at most {SLIPPAGE_TICKS_MAX}")))
            }
            Setting::OpenOrders(limit) => check_limit("open_orders", limit.into(), OPEN_ORDERS_MAX),
            Setting::GridTriggers(limit) => check_limit("grid_triggers", limit.into(), GRID_TRIGGERS_MAX),
            Setting::JournalEntries(limit) => check_limit("journal_entries", limit, JOURNAL_ENTRIES_MAX),
            _ => Ok(()),
        }
    }

    /// Changes a setting of an account that is not open yet.
    pub fn apply(&mut self, setting: Setting) -> Result<(), Refusal> {
        Settings::check(setting)?;
        self.set(setting);
        Ok(())
    }

    pub(crate) fn set(&mut self, setting: Setting) {
        match setting {
            Setting::Participation(share) => self.participation = share,
            Setting::Touch(touch) => self.touch = touch,
            Setting::SlippageTicks(ticks) => self.slippage_ticks = ticks,
            Setting::MarketReserve(share) => self.market_reserve = share,
            Setting::AccountType(kind) => self.account_type = kind,
            Setting::Fees(plan) => self.fees = plan,
            Setting::Cost(method) => self.cost = method,
            Setting::Fractional(on) => self.fractional = on,
            Setting::ShortUs(on) => self.short_us = on,
            Setting::ShortHk(on) => self.short_hk = on,
            Setting::Liquidate(on) => self.liquidate = on,
            Setting::GridQuestionnaire(on) => self.grid_questionnaire = on,
            Setting::OpenOrders(limit) => self.limits.open_orders = limit,
            Setting::GridTriggers(limit) => self.limits.grid_triggers = limit,
            Setting::JournalEntries(limit) => self.limits.journal_entries = limit,
            Setting::CoarseFills(on) => self.coarse_fills = on,
        }
    }

    /// Returns whether the account may sell short in a market.
    pub fn may_short(&self, market: Market) -> bool {
        let on = match market {
            Market::Us => self.short_us,
            Market::Hk => self.short_hk,
            Market::Cn => false,
        };
        on && self.account_type == AccountType::Margin
    }
}
