//! Requests to every endpoint that a world's API key may call.

use market::Timestamp;
use serde_json::{Value, json};

use super::data::{Rng, SECURITIES};

/// A request to an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: Value,
}

/// Values for the parameters of requests.
#[derive(Debug)]
pub(crate) struct About<'a> {
    pub(crate) now: Timestamp,
    pub(crate) orders: &'a [String],
    pub(crate) grids: &'a [String],
}

/// Endpoints that are not compared, each with the reason.
pub(crate) const EXCEPTIONS: &[(&[&str], &str)] = &[
    (
        &[
            "POST /v1/trade/order",
            "PUT /v1/trade/order",
            "DELETE /v1/trade/order",
            "POST /v1/gridtrading/submit",
            "POST /v1/notify/reminders",
            "POST /v1/world/step",
        ],
        "sent to both servers on the way to the instant, and their answers compared there",
    ),
    (
        &[
            "POST /v1/gridtrading/replace",
            "POST /v1/gridtrading/cancel",
            "POST /v1/gridtrading/suspend",
            "POST /v1/gridtrading/restart",
            "POST /v1/record/questionnaire",
            "POST /v1/watchlist/groups",
            "PUT /v1/watchlist/groups",
            "DELETE /v1/watchlist/groups",
            "POST /v1/watchlist/pinned",
            "DELETE /v1/notify/reminders",
            "PUT /v1/drawings/{symbol}",
            "PUT /v1/layouts",
            "DELETE /v1/layouts",
            "POST /v1/world/run",
            "POST /v1/world/pause",
            "DELETE /v1/connections/{id}",
        ],
        "changes the account; what it has done is compared with the lists",
    ),
    (
        &[
            "GET /v1/socket/token",
            "GET /v2/socket/token",
            "GET /v1/token/refresh",
            "GET /v1/sign-ins",
            "DELETE /v1/sign-ins/{id}",
            "GET /v1/connections",
            "GET /v1/quota",
            "POST /v1/quota/preview",
            "POST /quote/profile",
        ],
        "credentials, connections and limits, by the machine's clock",
    ),
    (&["GET /v1/live"], "endless; its events are those that long connections get, which are compared"),
    (
        &[
            "GET /health",
            "GET /healthz",
            "GET /readyz",
            "GET /favicon.ico",
            "GET /openapi.json",
            "GET /v1/versions",
            "GET /metrics",
            "GET /status",
            "GET /.well-known/oauth-authorization-server",
            "POST /oauth2/register",
            "GET /oauth2/register/{client_id}",
            "DELETE /oauth2/register/{client_id}",
            "POST /oauth2/device/authorize",
            "GET /oauth2/device/authorize/confirm",
            "POST /oauth2/device/authorize/confirm",
            "POST /oauth2/token",
            "POST /oauth2/revoke",
            "GET /oauth2/authorize",
            "POST /oauth2/authorize",
            "GET /signin",
            "POST /signin",
            "POST /signin/end",
            "GET /signin/once",
            "POST /signin/once",
            "POST /signout",
            "GET /password",
            "POST /password",
        ],
        "about the server or about signing in, without market data",
    ),
    (
        &[
            "GET /",
            "GET /securities",
            "GET /portfolio",
            "GET /topics",
            "GET /topics/{id}",
            "GET /quota",
            "GET /connections",
            "GET /coverage",
            "GET /imports",
            "GET /admin",
            "GET /admin/audit",
            "GET /admin/status",
            "GET /assets/pages.css",
        ],
        "the same document for everybody, which gets its data from the endpoints",
    ),
    (&["GET /files/statement/{file}"], "fetched with the link of each answered /v1/statement/download"),
];

/// Path prefixes of endpoints for owners and operators. The test asserts that they refuse the API
/// key of a world.
pub(crate) const REFUSED: &[&str] = &[
    "/v1/worlds",
    "/v1/admin/",
    "/v1/uploads",
    "/v1/imports",
    "/v1/quarantine",
    "/v1/ingest/",
    "/v1/content/",
    "/content/",
    // Endpoints that are not offered.
    "/quote/brokers",
    "/quote/depth",
    "/quote/options/",
    "/quote/participants",
    "/quote/warrants",
];

const PERIODS: [&str; 19] = [
    "1m", "2m", "3m", "5m", "10m", "15m", "20m", "30m", "45m", "60m", "120m", "180m", "240m", "day", "week",
    "month", "quarter", "year", "1000",
];
const DATES: [&str; 6] = ["2026-11-09", "2026-11-10", "2026-11-12", "2026-11-13", "2026-11-14", "2026-12-31"];

fn symbol(rng: &mut Rng) -> &'static str {
    // Only the first security has trades.
    if rng.one_in(3) { SECURITIES[0].0 } else { SECURITIES[rng.below(SECURITIES.len())].0 }
}

/// Returns two different securities.
fn symbols(rng: &mut Rng) -> [&'static str; 2] {
    let first = rng.below(SECURITIES.len());
    let second = (first + 1 + rng.below(SECURITIES.len() - 1)) % SECURITIES.len();
    [SECURITIES[first].0, SECURITIES[second].0]
}

fn one_of(rng: &mut Rng, ids: &[String]) -> String {
    ids.get(rng.below(ids.len().max(1))).cloned().unwrap_or_else(|| "1".to_owned())
}

/// Returns a query for candles.
fn candles(rng: &mut Rng, now: Timestamp) -> String {
    let range = match rng.below(6) {
        0 => format!("start={}&end={}", rng.pick(&DATES[..3]), rng.pick(&DATES[3..])),
        1 => format!("end={}", rng.pick(&DATES)),
        2 => format!("before={}", Timestamp(now.0 + rng.pick(&[-3_600, 0, 59, 60, 7_200, 9_000_000]))),
        3 => format!("after={}", Timestamp(now.0 - rng.pick(&[0, 600, 90_000, -60]))),
        4 => format!("after={}&limit=5", rng.pick(&DATES)),
        _ => "count=7".to_owned(),
    };
    let adjust = rng.pick(&["none", "forward"]);
    let session = rng.pick(&["intraday", "extended", "all"]);
    let format = rng.pick(&["json", "json", "csv", "arrow", "parquet"]);
    let period = rng.pick(&PERIODS);
    format!(
        "symbol={}&period={period}&adjust={adjust}&session={session}&format={format}&{range}",
        symbol(rng)
    )
}

/// Returns the query of a chart for candles or marks.
fn chart(rng: &mut Rng, now: Timestamp) -> String {
    let resolution = rng.pick(&["1", "3", "15", "60", "240", "1D", "1W", "1M"]);
    let to = now.0 + rng.pick(&[-600, 0, 1, 60, 86_400, 90_000_000]);
    let from = if rng.one_in(2) { format!("countback={}", 1 + rng.below(9)) } else { String::new() };
    let from_at = now.0 - rng.pick(&[60, 7_200, 300_000]);
    format!("symbol={}&resolution={resolution}&from={from_at}&to={to}&{from}", symbol(rng))
}

/// Returns the body of a command over HTTP.
fn mirrored(path: &str, rng: &mut Rng) -> Value {
    let symbol = symbol(rng);
    let (adjust, session) = (rng.below(2), rng.pick(&[0, 100]));
    let period = rng.pick(&[1, 5, 60, 240, 1_000, 2_000, 3_000, 4_000]);
    match path {
        "/quote/history-candlesticks" => json!({
            "symbol": symbol, "period": period, "adjust_type": adjust, "trade_session": session, "query_type": 1,
            "offset_request": {"direction": rng.below(2), "count": 6, "date": "20261112", "minute": "1015"},
        }),
        "/quote/candlesticks" => json!({
            "symbol": symbol, "period": period, "adjust_type": adjust, "trade_session": session, "count": 6,
        }),
        "/quote/intraday" => json!({"symbol": symbol, "trade_session": session}),
        "/quote/trades" => json!({"symbol": symbol, "count": 30}),
        "/quote/capital-flow" | "/quote/capital-distribution" => json!({"symbol": symbol}),
        "/quote/quotes" | "/quote/static-info" => json!({"symbol": symbols(rng)}),
        "/quote/calc-indexes" => {
            json!({"symbols": symbols(rng), "calc_index": (1..=17).collect::<Vec<_>>()})
        }
        "/quote/markets/trading-days" => {
            json!({"market": rng.pick(&["HK", "US", "CN"]), "beg_day": "20261101", "end_day": "20261130"})
        }
        _ => json!({}),
    }
}

/// Returns an order in the format of a program.
pub(crate) fn order(rng: &mut Rng) -> Value {
    let (name, _, price) = rng.pick(&SECURITIES);
    let lot = if name.ends_with(".US") { 1 } else { 100 };
    let mut order = json!({
        "symbol": name, "side": rng.pick(&["Buy", "Buy", "Sell"]),
        "submitted_quantity": (lot * (1 + rng.below(30))).to_string(),
        "time_in_force": rng.pick(&["Day", "GTC"]), "order_type": "MO",
    });
    if rng.one_in(2) {
        let near = price + 5 * (rng.below(9) as i64 - 4);
        order["order_type"] = json!("LO");
        order["submitted_price"] = json!(format!("{}.{:02}", near / 100, near % 100));
    }
    order
}

/// Returns a price alert in the format of a program.
pub(crate) fn alert(rng: &mut Rng) -> Value {
    let (symbol, _, price) = rng.pick(&SECURITIES);
    let near = price + 5 * (rng.below(9) as i64 - 4);
    let value = format!("{}.{:02}", near / 100, near % 100);
    json!({"symbol": symbol, "indicator_id": 1 + rng.below(2), "value_map": {"price": value}, "frequency": 2})
}

pub(crate) fn grid() -> Value {
    json!({"symbol": "9.HK", "settlement_currency": "HKD", "grid_trading_rule": {
        "submitted_base_price": "60", "upper_limit_price": "70", "lower_limit_price": "50", "trigger_price_type": 1,
        "trigger_spread_up": "0.05", "trigger_spread_down": "0.05", "trigger_quantity": "100",
        "upper_limit_quantity": "1000", "lower_limit_quantity": "100", "time_in_force": 1,
    }})
}

/// Returns a request to an endpoint, or `None` if this file does not support the endpoint.
/// `{token}` in the path is replaced by the access token.
pub(crate) fn request(method: &'static str, path: &str, rng: &mut Rng, about: &About<'_>) -> Option<Ask> {
    let now = about.now;
    let ask = |path: String| Some(Ask { method, path, body: Value::Null });
    let with =
        |query: String| ask(if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") });
    let hours = now.0 - 200_000;
    match (method, path) {
        (
            "GET",
            "/v1/me" | "/v1/world" | "/v1/quote/cmd" | "/v1/quote/my-quotes" | "/v1/quote/market-status",
        )
        | (
            "GET",
            "/v1/watchlist/groups" | "/udf/config" | "/udf/time" | "/v1/asset/fund" | "/v1/asset/account",
        )
        | ("GET", "/v1/asset/portfolio" | "/v1/asset/exchange_rates")
        | ("GET", "/v1/alerts" | "/v1/notify/reminders" | "/v1/layouts")
        | ("GET", "/udf/key/{token}/config" | "/udf/key/{token}/time") => with(String::new()),
        ("GET", "/v1/securities") => {
            with(rng.pick(&["", "query=harbour", "query=9", "query=late", "limit=2"]).into())
        }
        (
            "GET",
            "/v1/securities/{symbol}"
            | "/v1/securities/{symbol}/actions"
            | "/v1/securities/{symbol}/figures"
            | "/v1/drawings/{symbol}",
        ) => ask(path.replace("{symbol}", symbol(rng))),
        ("GET", "/v1/coverage/{symbol}") => {
            let range = rng.pick(&["", "?start=2026-11-01&end=2026-11-30", "?end=2026-11-12"]);
            ask(path.replace("{symbol}", symbol(rng)) + range)
        }
        ("GET", "/v1/coverage") => {
            with(rng.pick(&["", "order=worst", "end=2026-11-20&days=20", "limit=2"]).into())
        }
        ("GET", "/v1/inventory") => {
            let orders = ["order=worst", "order=percent", "order=volume&direction=asc", "order=last&limit=1"];
            let [worst, percent, volume, last] = orders;
            with(rng.pick(&["", worst, percent, volume, last, "query=harbour", "limit=2&offset=1"]).into())
        }
        ("GET", "/v1/quote/get_security_list") => {
            with(rng.pick(&["market=US", "market=HK", "market=US&category=overnight"]).into())
        }
        (
            "GET",
            "/v1/quote/dividends"
            | "/v1/quote/dividends/details"
            | "/v1/quote/company-act"
            | "/v1/quote/capital-flow"
            | "/v1/quote/capital-distribution",
        ) => with(format!("symbol={}", symbol(rng))),
        ("GET", "/v1/quote/history-candlesticks") => with(candles(rng, now)),
        ("GET", "/v1/quote/quotes") => with(format!("symbols={}", symbols(rng).join(","))),
        ("GET", "/v1/quote/trading-days") => {
            with(format!("market={}&beg_day=20260301&end_day=20260331", rng.pick(&["US", "HK"])))
        }
        ("GET", "/v1/quote/trades") => with(format!("symbol={}&count={}", symbol(rng), 1 + rng.below(200))),
        ("GET", "/udf/symbols" | "/udf/key/{token}/symbols") => with(format!("symbol={}", symbol(rng))),
        ("GET", "/udf/search" | "/udf/key/{token}/search") => {
            with(rng.pick(&["query=harbour&limit=9", "query=late", "query=", "query=9&exchange=HK"]).into())
        }
        ("GET", "/udf/marks" | "/udf/history" | "/udf/key/{token}/marks" | "/udf/key/{token}/history") => {
            with(chart(rng, now))
        }
        ("POST", path) if path.starts_with("/quote/") => {
            Some(Ask { method, path: path.to_owned(), body: mirrored(path, rng) })
        }
        ("GET", "/v1/trade/order" | "/v1/trade/order/why") => {
            with(format!("order_id={}", one_of(rng, about.orders)))
        }
        ("GET", "/v1/trade/order/today" | "/v1/trade/execution/today") => {
            with(if rng.one_in(2) { String::new() } else { format!("symbol={}", symbol(rng)) })
        }
        ("GET", "/v1/trade/order/history" | "/v1/trade/execution/history") => {
            with(format!("start_at={hours}&end_at={}", now.0 + rng.pick(&[0, 3_600, 900_000])))
        }
        ("GET", "/v3/trade/execution/all") => with(String::new()),
        ("GET", "/v1/trade/marks" | "/v1/risk/margin-ratio" | "/v1/orders/info") => {
            with(format!("symbol={}", symbol(rng)))
        }
        ("GET", "/v1/trade/estimate/buy_limit") => {
            let side = rng.pick(&["Buy", "Sell"]);
            with(format!("symbol={}&order_type=MO&side={side}", symbol(rng)))
        }
        ("POST", "/v1/trade/order/preview") => Some(Ask { method, path: path.to_owned(), body: order(rng) }),
        ("POST", "/v1/gridtrading/preview") => Some(Ask { method, path: path.to_owned(), body: grid() }),
        ("POST", "/v1/gridtrading/list") => {
            Some(Ask { method, path: path.to_owned(), body: json!({"order_ids": about.grids}) })
        }
        ("GET", "/v1/gridtrading/list") => with("page=1&limit=10".to_owned()),
        ("GET", "/v1/gridtrading/detail" | "/v1/gridtrading/why") => {
            with(format!("order_id={}", one_of(rng, about.grids)))
        }
        ("GET", "/v1/gridtrading/trigger_history_list") => with("page=1&limit=10".to_owned()),
        ("GET", "/v1/asset/stock") => with(rng.pick(&["", "symbol=9.HK", "symbol=Q.US&symbol=9.HK"]).into()),
        ("GET", "/v1/asset/cashflow") => {
            with(format!("start_time={hours}&end_time={}&page=1&size=50", now.0 + rng.pick(&[0, 900_000])))
        }
        ("GET", "/v1/asset/equity") => with(rng.pick(&["", "days=2", "days=30&benchmark=9.HK"]).into()),
        ("GET", "/v1/asset/performance") => with(rng.pick(&["", "trades=1"]).into()),
        ("GET", "/v1/statement/list") => with(format!("statement_type={}&start_date=1", 1 + rng.below(2))),
        ("GET", "/v1/statement/download") => with("file_key={newest}".to_owned()),
        _ => None,
    }
}
