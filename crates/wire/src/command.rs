//! The business commands of the quote gateway by their numbers on the wire.

pub const PROFILE: u8 = 4;
pub const TRADING_SESSIONS: u8 = 8;
pub const TRADING_DAYS: u8 = 9;
pub const STATIC_INFO: u8 = 10;
pub const QUOTE: u8 = 11;
pub const INTRADAY: u8 = 18;
pub const CANDLESTICKS: u8 = 19;
pub const HISTORY: u8 = 27;
