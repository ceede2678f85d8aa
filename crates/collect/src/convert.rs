//! Conversions between the types of `mirror`, `source` and `store`.

use market::{Candle, Timestamp};
use mirror::{Adjust, Kind, Month, ProfileLimit, Quota, RateLimits};
use source::{Request, StaticInfo};
use store::{MirrorId, StoreError};

use crate::run::RunOptions;
use crate::{Rate, State};

pub(crate) fn limits_of(rate: Rate, profile: &[source::RateLimit]) -> RateLimits {
    match rate {
        Rate::Unlimited => RateLimits::UNLIMITED,
        Rate::Share(share) => {
            let rows: Vec<ProfileLimit> = profile
                .iter()
                .map(|row| ProfileLimit {
                    kind: if row.command == HISTORY { Kind::History } else { Kind::Other },
                    limit: i32::try_from(row.per_second).unwrap_or(i32::MAX),
                    burst: i32::try_from(row.burst).unwrap_or(i32::MAX),
                })
                .collect();
            RateLimits::of_profile(&rows).scaled(share)
        }
    }
}

/// Command 27, history candles, which has a separate rate limit.
const HISTORY: u8 = 27;

pub(crate) fn quota_of(
    view: &store::View,
    id: MirrorId,
    state: &State,
    options: &RunOptions,
    now: Timestamp,
) -> Result<Quota, StoreError> {
    let month = Month::of(now);
    let requested = view.mirror_month(id, &month.to_string())?;
    // If the source has refused a new security this month, it refuses all other new ones too.
    let is_spent = state.spent_month.as_deref() == Some(month.to_string().as_str());
    let own = if is_spent { Some(0) } else { options.quota };
    Ok(Quota::new(month, requested, state.month_limit, own))
}

pub(crate) fn request_of(request: &mirror::Request) -> Request {
    let series = &request.series;
    Request::History {
        symbol: series.symbol.clone(),
        period: if series.period().is_clock() { source::Period::Minute } else { source::Period::Day },
        adjust: match series.adjust {
            Adjust::None => source::Adjust::Actual,
            Adjust::Forward => source::Adjust::Forward,
        },
        sessions: match series.sessions() {
            mirror::Sessions::Intraday => source::Sessions::Regular,
            mirror::Sessions::All => source::Sessions::All,
        },
        anchor: request.anchor.map(|anchor| source::Anchor { date: anchor.date, minute: anchor.minute }),
        count: source::Count::of(usize::try_from(request.count).unwrap_or(usize::MAX)),
    }
}

pub(crate) fn row_text(candle: &Candle) -> String {
    let Candle { time, open, high, low, close, volume, turnover, session } = candle;
    let [open, high, low, close] = [open, high, low, close].map(|price| price.text(6));
    format!("{},{open},{high},{low},{close},{volume},{},{}", time.0, turnover.text(), session.as_str())
}

pub(crate) fn security(info: StaticInfo) -> store::Security {
    store::Security {
        name_en: info.name_en,
        name_cn: info.name_cn,
        name_hk: info.name_hk,
        exchange: info.exchange,
        currency: info.currency,
        lot_size: info.lot_size,
        board: info.board,
        listing_date: info.listing_date,
        total_shares: info.total_shares,
        circulating_shares: info.circulating_shares,
        hk_shares: info.hk_shares,
        eps: info.eps,
        eps_ttm: info.eps_ttm,
        bps: info.bps,
        dividend_yield: info.dividend_yield,
        ..store::Security::new(info.symbol)
    }
}
