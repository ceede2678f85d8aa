//! Endpoints that the public SDKs call but Chandler does not implement. The refusal names the
//! missing feature instead of returning 404, because a program that tests its login by requesting
//! the account balance would treat a 404 as a failed login.

use access::Scope;

use crate::kit::{Admitted, Problem};
use crate::refusal::Refusal;

/// A feature that is not implemented, and the paths that the SDKs use for it. When implementing the
/// feature, remove its row from [`MISSING_FEATURES`] and add its endpoints to the `ROUTES` of a
/// group; no path may be in both.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissingFeature {
    /// Plural noun that completes the refusal "… are not offered here".
    pub(super) what: &'static str,
    kind: Kind,
    /// Methods, separated by spaces, and the path.
    paths: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Endpoints about a trading account, which programs call to test their login.
    Trading,
    Other,
}

impl MissingFeature {
    /// Returns whether the feature is about the caller's trading account.
    pub(super) fn is_trading(&self) -> bool {
        self.kind == Kind::Trading
    }

    /// Returns the scope that the credentials need.
    pub(super) fn scope(&self) -> Scope {
        match self.kind {
            Kind::Trading => Scope::Trade,
            Kind::Other => Scope::Quote,
        }
    }
}

const fn trading(what: &'static str, paths: &'static [(&'static str, &'static str)]) -> MissingFeature {
    MissingFeature { what, kind: Kind::Trading, paths }
}

const fn feature(what: &'static str, paths: &'static [(&'static str, &'static str)]) -> MissingFeature {
    MissingFeature { what, kind: Kind::Other, paths }
}

/// All missing features, collected from the sources and binaries of the Rust, Python, Node and Go
/// SDKs.
pub(super) const MISSING_FEATURES: &[MissingFeature] = &[
    trading(
        "US account overviews",
        &[("GET", "/v1/us/assets/overview"), ("GET", "/v1/us/assets/cash-and-buy-power")],
    ),
    trading("US account holdings", &[("GET", "/v1/us/assets/available-holding")]),
    trading("US account transactions", &[("POST", "/v1/us/assets/transaction-history")]),
    trading("US account exchange rates", &[("GET", "/v1/us/assets/exchange-rates")]),
    trading(
        "multi-leg orders and US account orders",
        &[
            ("POST", "/v1/trade/order/multileg"),
            ("POST", "/v1/us/orders/query"),
            ("GET", "/v1/us/orders/{order_id}"),
        ],
    ),
    trading(
        "savings plans",
        &[
            ("GET", "/v1/dailycoins/query"),
            ("GET", "/v1/dailycoins/query-records"),
            ("GET", "/v1/dailycoins/statistic"),
            ("POST", "/v1/dailycoins/create"),
            ("POST", "/v1/dailycoins/update"),
            ("POST", "/v1/dailycoins/toggle"),
            ("POST", "/v1/dailycoins/batch-check-support"),
            ("POST", "/v1/dailycoins/calc-trd-date"),
            ("POST", "/v1/dailycoins/update-alter-hours"),
        ],
    ),
    trading(
        "fund orders",
        &[
            ("GET POST", "/v1/fund/orders"),
            ("POST", "/v1/fund/orders/validate"),
            ("GET", "/v1/fund/orders/{order_id}"),
            ("POST", "/v1/fund/orders/{order_id}/cancel"),
            ("GET", "/v1/fund/transactions"),
        ],
    ),
    trading(
        "fund positions",
        &[
            ("GET", "/v1/asset/funds"),
            ("GET", "/v1/asset/funds/detail"),
            ("GET", "/v1/asset/funds/performance"),
            ("GET", "/v1/asset/funds/profits"),
            ("GET", "/v1/asset/funds/nav-history"),
            ("GET", "/v1/asset/funds/dividends"),
        ],
    ),
    trading(
        "profit analyses",
        &[
            ("GET", "/v1/portfolio/profit-analysis-summary"),
            ("GET", "/v1/portfolio/profit-analysis-sublist"),
            ("GET", "/v1/portfolio/profit-analysis/detail"),
            ("GET", "/v1/portfolio/profit-analysis/by-market"),
            ("GET", "/v1/portfolio/profit-analysis/flows"),
            ("GET", "/v1/us/assets/pl/realized"),
        ],
    ),
    feature(
        "shared lists",
        &[
            ("GET POST", "/v1/sharelists"),
            ("GET", "/v1/sharelists/popular"),
            ("GET DELETE", "/v1/sharelists/{id}"),
            ("POST DELETE", "/v1/sharelists/{id}/items"),
            ("POST", "/v1/sharelists/{id}/items/sort"),
        ],
    ),
    feature("numbers of securities", &[("POST", "/v1/quote/symbol-to-counter-ids")]),
    feature(
        "market temperatures",
        &[("GET", "/v1/quote/market_temperature"), ("GET", "/v1/quote/history_market_temperature")],
    ),
    feature(
        "short positions",
        &[("GET", "/v1/quote/short-positions/hk"), ("GET", "/v1/quote/short-positions/us")],
    ),
    feature("short sales", &[("GET", "/v1/quote/short-trades/hk"), ("GET", "/v1/quote/short-trades/us")]),
    feature(
        "options",
        &[
            ("POST", "/v1/quote/options/strikes"),
            ("GET", "/v1/quote/option-volume-stats"),
            ("GET", "/v1/quote/option-volume-stats/daily"),
        ],
    ),
    feature("crypto quotes", &[("GET", "/v1/us/gemini/crypto-overview")]),
    feature(
        "broker holdings",
        &[
            ("GET", "/v1/quote/broker-holding"),
            ("GET", "/v1/quote/broker-holding/detail"),
            ("GET", "/v1/quote/broker-holding/daily"),
        ],
    ),
    feature(
        "A/H premiums",
        &[("GET", "/v1/quote/ahpremium/klines"), ("GET", "/v1/quote/ahpremium/timeshares")],
    ),
    feature("trade statistics", &[("GET", "/v1/quote/trades-statistics")]),
    feature("unusual movements", &[("GET", "/v1/quote/changes"), ("POST", "/v1/quote/market/stock-events")]),
    feature("index constituents", &[("GET", "/v1/quote/index-constituents")]),
    feature(
        "rankings",
        &[
            ("GET", "/v1/quote/market/rank/categories"),
            ("GET", "/v1/quote/market/rank/list"),
            ("GET", "/v1/quote/industry/rank"),
        ],
    ),
    feature(
        "screeners",
        &[
            ("GET", "/v1/quote/ai/screener/strategies/recommend"),
            ("GET", "/v1/quote/ai/screener/strategies/mine"),
            ("GET", "/v1/quote/ai/screener/strategy/{id}"),
            ("POST", "/v1/quote/ai/screener/search"),
            ("GET", "/v1/quote/ai/screener/indicators"),
        ],
    ),
    feature("financial calendars", &[("GET", "/v1/quote/finance_calendar")]),
    feature("economic indicators", &[("GET", "/v2/quote/macrodata"), ("GET", "/v2/quote/macrodata/{id}")]),
    feature("filings", &[("GET", "/v1/quote/filings")]),
    feature(
        "financial reports",
        &[
            ("GET", "/v1/quote/financial-reports"),
            ("GET", "/v1/quote/financials/earnings-snapshot"),
            ("GET", "/v1/quote/fundamentals/business-segments"),
            ("GET", "/v1/quote/fundamentals/business-segments/history"),
            ("GET", "/v1/quote/operatings"),
            ("GET", "/v1/us/stock-info/finn-overview"),
            ("GET", "/v1/us/stock-info/fin-keyfactor"),
            ("GET", "/v1/us/quote/financials/statements"),
        ],
    ),
    feature(
        "analyst ratings",
        &[
            ("GET", "/v1/quote/institution-rating-latest"),
            ("GET", "/v1/quote/institution-ratings"),
            ("GET", "/v1/quote/institution-ratings/detail"),
            ("GET", "/v1/quote/ratings"),
            ("GET", "/v1/quote/ratings/institutional"),
            ("GET", "/v1/quote/forecast-eps"),
            ("GET", "/v1/quote/financial-consensus-detail"),
            ("GET", "/v1/us/stock-info/fin-consensus"),
        ],
    ),
    feature("buy-backs", &[("GET", "/v1/quote/buy-backs")]),
    feature(
        "US account dividends",
        &[("GET", "/v1/us/stock-info/company-dividends"), ("GET", "/v1/us/stock-info/etf-dividend-info")],
    ),
    feature(
        "valuations",
        &[
            ("GET", "/v1/quote/valuation"),
            ("GET", "/v1/quote/valuation/detail"),
            ("GET", "/v1/quote/compare/valuation"),
            ("GET", "/v1/quote/industry-valuation-comparison"),
            ("GET", "/v1/quote/industry-valuation-distribution"),
            ("GET", "/v1/quote/industries/peers"),
            ("GET", "/v1/us/stock-info/valuation-overview"),
        ],
    ),
    feature(
        "company profiles",
        &[
            ("GET", "/v1/quote/comp-overview"),
            ("GET", "/v1/quote/company-professionals"),
            ("GET", "/v1/quote/invest-relations"),
            ("GET", "/v1/us/stock-info/company-overview"),
        ],
    ),
    feature(
        "shareholders",
        &[
            ("GET", "/v1/quote/shareholders"),
            ("GET", "/v1/quote/shareholders/top"),
            ("GET", "/v1/quote/shareholders/holding"),
            ("GET", "/v1/quote/fund-holders"),
        ],
    ),
    feature(
        "fund contents",
        &[("GET", "/v1/quote/etf-asset-allocation"), ("GET", "/v1/us/stock-info/etf-files")],
    ),
    feature(
        "funds",
        &[
            ("GET", "/v1/fund/hot-funds"),
            ("GET", "/v1/fund/filters"),
            ("POST", "/v1/fund/funds"),
            ("GET", "/v1/fund/funds/detail"),
            ("GET", "/v1/fund/funds/analysis"),
            ("GET", "/v1/fund/funds/analysis/detail"),
            ("GET", "/v1/fund/funds/trend"),
            ("GET", "/v1/fund/funds/returns/annual"),
            ("GET", "/v1/fund/funds/returns/quarterly"),
            ("GET", "/v1/fund/funds/performance"),
            ("GET", "/v1/fund/funds/performance/comparison"),
            ("GET", "/v1/fund/funds/nav"),
            ("GET", "/v1/fund/funds/nav-history"),
            ("GET", "/v1/fund/funds/nav-range"),
            ("GET", "/v1/fund/funds/holdings"),
            ("GET", "/v1/fund/funds/stock-holdings"),
        ],
    ),
    feature("news", &[("GET", "/v1/content/{symbol}/news")]),
    feature(
        "agents",
        &[
            ("GET", "/v1/ai/workspaces"),
            ("GET", "/v1/ai/workspaces/{workspace_id}/agents"),
            ("GET", "/v1/ai/agents"),
            ("POST", "/v1/ai/agents/{agent_id}/conversations"),
            (
                "POST",
                "/v1/ai/agents/{agent_id}/conversations/{conversation_id}/messages/{message_id}/continue",
            ),
        ],
    ),
];

/// Returns method, path and feature for each method of each path.
pub(super) fn paths() -> impl Iterator<Item = (&'static str, &'static str, &'static MissingFeature)> {
    MISSING_FEATURES.iter().flat_map(|feature| {
        let of_path = move |(methods, path): &(&'static str, &'static str)| {
            let path = *path;
            methods.split(' ').map(move |method| (method, path, feature))
        };
        feature.paths.iter().flat_map(of_path)
    })
}

/// Returns the refusal for a feature. The caller must be admitted, so that unauthenticated callers
/// learn nothing about the server, and a program that tests its login with one of these paths
/// learns whether the login is valid.
pub(super) fn refusal(feature: &MissingFeature, _: &Admitted) -> Problem {
    match feature.kind {
        Kind::Trading => Problem::not_offered(feature.what),
        Kind::Other => Refusal::NotOffered(feature.what).into(),
    }
}
