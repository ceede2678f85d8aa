//! Requests of all commands that a long connection offers.

use prost::Message;
use wire::quote::{
    CalcIndexesRequest, DateRequest, IntradayRequest, OffsetRequest, SecurityCandlestickRequest,
    SecurityHistoryCandlestickRequest, SymbolRequest, SymbolsRequest, TradesRequest, TradingDaysRequest,
};

use super::data::{Rng, SECURITIES};

/// Commands that are not compared: heartbeats, sign-in, the profile, whose rights and limits depend
/// on the machine clock, and subscriptions, whose pushes are compared instead.
pub(crate) const OTHERS: std::ops::RangeInclusive<u8> = 0..=7;
/// Highest command of the quote gateway. Commands with higher numbers belong to the trade gateway
/// or are unknown.
pub(crate) const LAST: u8 = 40;
const PERIODS: [i32; 19] =
    [1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240, 1_000, 1_000, 2_000, 3_000, 3_500, 4_000];

/// Returns the encoded body of a command, or `None` if this file does not support the command.
pub(crate) fn body(command: u8, rng: &mut Rng) -> Option<Vec<u8>> {
    let all: Vec<String> = SECURITIES.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let of_trades = matches!(command, 17 | 24 | 25) && rng.one_in(2);
    // Only the first security has trades.
    let symbol = if of_trades { all[0].clone() } else { all[rng.below(all.len())].clone() };
    let (period, adjust_type) = (rng.pick(&PERIODS), rng.below(2) as i32);
    let trade_session = rng.pick(&[0, 100]);
    let date = |rng: &mut Rng, days: &[&str]| rng.pick(days).to_owned();
    let encoded = match command {
        8 => Vec::new(),
        9 => TradingDaysRequest {
            market: rng.pick(&["HK", "US", "CN"]).to_owned(),
            beg_day: "20261102".to_owned(),
            end_day: "20261130".to_owned(),
        }
        .encode_to_vec(),
        10 | 11 => SymbolsRequest { symbol: all }.encode_to_vec(),
        17 => TradesRequest { symbol, count: 1 + rng.below(500) as i32 }.encode_to_vec(),
        18 => IntradayRequest { symbol, trade_session }.encode_to_vec(),
        19 => SecurityCandlestickRequest {
            symbol,
            period,
            count: rng.pick(&[1, 5, 400, 1_000]),
            adjust_type,
            trade_session,
        }
        .encode_to_vec(),
        24 | 25 => SymbolRequest { symbol }.encode_to_vec(),
        26 => CalcIndexesRequest { symbols: all, calc_index: (1..=17).collect() }.encode_to_vec(),
        27 => {
            let mut history = SecurityHistoryCandlestickRequest {
                symbol,
                period,
                adjust_type,
                trade_session,
                ..Default::default()
            };
            if rng.one_in(2) {
                history.query_type = 1;
                let minute = if rng.one_in(2) { "1015".to_owned() } else { String::new() };
                history.offset_request = Some(OffsetRequest {
                    direction: rng.below(2) as i32,
                    date: date(rng, &["", "20261110", "20261112", "20261113", "20261120"]),
                    minute,
                    count: 1 + rng.below(600) as i32,
                });
            } else {
                history.query_type = 2;
                history.date_request = Some(DateRequest {
                    start_date: date(rng, &["", "20261101", "20261112"]),
                    end_date: date(rng, &["", "20261113", "20261130"]),
                });
            }
            history.encode_to_vec()
        }
        _ => return None,
    };
    Some(encoded)
}
