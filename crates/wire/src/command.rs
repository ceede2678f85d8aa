//! Command numbers of the quote gateway, including unsupported commands.

use crate::quote::Command;

pub const PROFILE: u8 = Command::QuoteProfile as u8;
pub const SUBSCRIPTIONS: u8 = Command::Subscriptions as u8;
pub const SUBSCRIBE: u8 = Command::Subscribe as u8;
pub const UNSUBSCRIBE: u8 = Command::Unsubscribe as u8;
pub const TRADING_SESSIONS: u8 = Command::TradingSessions as u8;
pub const TRADING_DAYS: u8 = Command::TradingDays as u8;
pub const STATIC_INFO: u8 = Command::StaticInfo as u8;
pub const QUOTE: u8 = Command::Quote as u8;
pub const OPTION_QUOTE: u8 = Command::OptionQuote as u8;
pub const WARRANT_QUOTE: u8 = Command::WarrantQuote as u8;
pub const DEPTH: u8 = Command::Depth as u8;
pub const BROKERS: u8 = Command::Brokers as u8;
pub const PARTICIPANTS: u8 = Command::Participants as u8;
pub const TRADES: u8 = Command::Trades as u8;
pub const INTRADAY: u8 = Command::Intraday as u8;
pub const CANDLESTICKS: u8 = Command::Candlesticks as u8;
pub const OPTION_EXPIRY_DATES: u8 = Command::OptionExpiryDates as u8;
pub const OPTION_STRIKES: u8 = Command::OptionStrikes as u8;
pub const WARRANT_ISSUERS: u8 = Command::WarrantIssuers as u8;
pub const WARRANT_FILTER: u8 = Command::WarrantFilter as u8;
pub const CAPITAL_FLOW: u8 = Command::CapitalFlow as u8;
pub const CAPITAL_DISTRIBUTION: u8 = Command::CapitalDistribution as u8;
pub const CALC_INDEXES: u8 = Command::CalcIndexes as u8;
pub const HISTORY: u8 = Command::HistoryCandlesticks as u8;
