//! Changes to the API, and their effects on requests and responses.

use std::fmt;

use market::Date;
use wire::command;

/// A change to the API.
#[derive(Debug)]
pub(super) struct Change {
    /// First date on which the change is in effect.
    pub(super) date: Date,
    pub(super) what: &'static str,
    pub(super) effects: &'static [Effect],
}

/// An effect of a change.
#[derive(Debug)]
pub(super) enum Effect {
    /// New endpoints.
    Endpoints(&'static [Endpoint]),
    /// New quote gateway commands.
    Commands(&'static [u8]),
    /// New push events.
    Events(&'static [&'static str]),
    /// A new parameter, which older API dates ignore.
    Parameter { of: Endpoint, name: &'static str },
    /// A newly accepted value in a body field.
    Word { of: &'static [Endpoint], field: &'static str, word: &'static str },
    /// Values that are no longer accepted in a body field.
    Withdrawn { of: &'static [Endpoint], field: &'static str, words: &'static [&'static str] },
    /// Quantities in a body field may have a fraction.
    Fractions { of: &'static [Endpoint], field: &'static str },
    /// Option orders are no longer limited to the order types in `only`.
    OptionOrders { of: &'static [Endpoint], only: &'static [&'static str] },
    /// Fields that had another format before the change. A path consists of list names, each
    /// followed by `[].`, and the field name.
    Fields { of: &'static [Source], names: &'static [&'static str], before: Before },
    /// A new field in the response to a command. The path consists of field numbers.
    MessageField { command: u8, path: &'static [u32], name: &'static str },
    /// Security lists have names only in the language of the request.
    OneName,
    /// No effect on this service. The text explains why.
    Nothing(&'static str),
}

/// Format of a field before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Absent,
    /// An integer instead of a decimal.
    Whole,
    /// Another value with the same meaning.
    Word {
        newer: &'static str,
        older: &'static str,
    },
    /// A list without option rows.
    NoOptions,
}

/// The response or push that contains a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// In the `data` of a response.
    Answer(Endpoint),
    /// In the `data` of a trade gateway push.
    Event(&'static str),
}

/// A row's method and path. The method `*` stands for every method. A `*` at the end of the path
/// matches any suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
}

impl Endpoint {
    pub(super) fn is(self, method: &str, path: &str) -> bool {
        let is_path = match self.path.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None => path == self.path,
        };
        is_path && ["*", method].contains(&self.method)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.method != "*" {
            write!(f, "{} ", self.method)?;
        }
        f.write_str(self.path)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Answer(endpoint) => endpoint.fmt(f),
            Source::Event(name) => write!(f, "the push {name}"),
        }
    }
}

const fn all(path: &'static str) -> Endpoint {
    Endpoint { method: "*", path }
}

const fn get(path: &'static str) -> Endpoint {
    Endpoint { method: "GET", path }
}

const fn post(path: &'static str) -> Endpoint {
    Endpoint { method: "POST", path }
}

const fn put(path: &'static str) -> Endpoint {
    Endpoint { method: "PUT", path }
}

const fn on(year: i16, month: i8, day: i8, what: &'static str, effects: &'static [Effect]) -> Change {
    Change { date: Date::constant(year, month, day), what, effects }
}

/// Returns the effect of fields that were added to a response.
const fn added(of: &'static [Source], names: &'static [&'static str]) -> Effect {
    Effect::Fields { of, names, before: Before::Absent }
}

/// Returns the effect of quantities that were integers before the change.
const fn whole(of: &'static [Source], names: &'static [&'static str]) -> Effect {
    Effect::Fields { of, names, before: Before::Whole }
}

/// Returns the effect of order fields that contained `ANY_TIME` before, where they now contain
/// `OVERNIGHT`.
const fn any_time(of: &'static [Source], names: &'static [&'static str]) -> Effect {
    Effect::Fields { of, names, before: Before::Word { newer: OVERNIGHT, older: "ANY_TIME" } }
}

const OVERNIGHT: &str = "OVERNIGHT";
const ORDER_EVENT: &str = "order_changed_lb";
const FUNDS: Source = Source::Answer(get("/v1/asset/account"));
const POSITIONS: Source = Source::Answer(get("/v1/asset/stock"));
const DETAIL: Source = Source::Answer(get("/v1/trade/order"));
const ORDERS: [Source; 2] =
    [Source::Answer(get("/v1/trade/order/today")), Source::Answer(get("/v1/trade/order/history"))];
const EXECUTIONS: [Source; 3] = [
    Source::Answer(get("/v1/trade/execution/today")),
    Source::Answer(get("/v1/trade/execution/history")),
    Source::Answer(get("/v3/trade/execution/all")),
];
/// Endpoints that accept order terms.
const SUBMISSIONS: [Endpoint; 3] =
    [post("/v1/trade/order"), put("/v1/trade/order"), post("/v1/trade/order/preview")];

/// All changes, newest first.
pub(super) const CHANGES: &[Change] = &[
    on(
        2026,
        8,
        14,
        "Grid trading for Hong Kong and US stocks",
        &[
            Effect::Endpoints(&[
                all("/v1/gridtrading/*"),
                get("/v1/orders/info"),
                post("/v1/record/questionnaire"),
            ]),
            Effect::Events(&["gridtrading_order"]),
        ],
    ),
    on(2026, 3, 30, "Statements: list and download", &[Effect::Endpoints(&[all("/v1/statement/*")])]),
    on(
        2026,
        3,
        25,
        "Community topics and replies",
        &[Effect::Endpoints(&[
            all("/v1/content/topics*"),
            all("/content/topics*"),
            all("/v1/content/{symbol}/topics"),
            all("/content/{symbol}/topics"),
        ])],
    ),
    on(
        2025,
        6,
        17,
        "`frozen_transaction_fees` in account funds",
        &[added(&[FUNDS], &["list[].frozen_transaction_fees"])],
    ),
    on(
        2024,
        10,
        9,
        "Quantities of the trade API change from integers to decimals",
        &[
            whole(&ORDERS, &["orders[].quantity", "orders[].executed_quantity"]),
            whole(&[DETAIL], &["quantity", "executed_quantity", "history[].quantity"]),
            whole(&EXECUTIONS, &["trades[].quantity"]),
            whole(
                &[POSITIONS],
                &[
                    "list[].stock_info[].quantity",
                    "list[].stock_info[].available_quantity",
                    "list[].stock_info[].init_quantity",
                ],
            ),
            whole(
                &[Source::Answer(get("/v1/trade/estimate/buy_limit"))],
                &["cash_max_qty", "margin_max_qty"],
            ),
            whole(&[Source::Event(ORDER_EVENT)], &["submitted_quantity", "executed_quantity", "last_share"]),
            Effect::Fractions { of: &SUBMISSIONS, field: "submitted_quantity" },
            Effect::Fractions { of: &SUBMISSIONS, field: "quantity" },
        ],
    ),
    on(
        2024,
        9,
        11,
        "Security lists have names in the language of `accept-language` only",
        &[Effect::OneName],
    ),
    on(
        2024,
        8,
        28,
        "`Depth.price` becomes optional in SDKs",
        &[Effect::Nothing("Order books are not offered here.")],
    ),
    on(
        2024,
        5,
        17,
        "`outside_rth` of orders supports overnight trading",
        &[
            Effect::Word { of: &SUBMISSIONS, field: "outside_rth", word: OVERNIGHT },
            any_time(&ORDERS, &["orders[].outside_rth"]),
            any_time(&[DETAIL], &["outside_rth"]),
        ],
    ),
    on(2024, 5, 6, "`buy_power` in account funds", &[added(&[FUNDS], &["list[].buy_power"])]),
    on(
        2024,
        4,
        29,
        "Order types `TSMPCT` and `TSMAMT` removed",
        &[Effect::Withdrawn { of: &SUBMISSIONS, field: "order_type", words: &["TSMPCT", "TSMAMT"] }],
    ),
    on(
        2024,
        4,
        15,
        "`last_share` and `last_price` in the push about orders",
        &[added(&[Source::Event(ORDER_EVENT)], &["last_share", "last_price"])],
    ),
    on(
        2024,
        4,
        13,
        "`remark` in the push about orders",
        &[added(&[Source::Event(ORDER_EVENT)], &["remark"])],
    ),
    on(
        2023,
        11,
        3,
        "History candlesticks (command 27)",
        &[
            Effect::Commands(&[command::HISTORY]),
            Effect::Endpoints(&[post("/quote/history-candlesticks"), get("/v1/quote/history-candlesticks")]),
        ],
    ),
    on(
        2023,
        8,
        17,
        "Account funds read `currency`",
        &[Effect::Parameter { of: get("/v1/asset/account"), name: "currency" }],
    ),
    on(
        2023,
        4,
        12,
        "`init_quantity` in stock positions",
        &[added(&[POSITIONS], &["list[].stock_info[].init_quantity"])],
    ),
    on(
        2023,
        4,
        11,
        "Order detail and estimated maximum quantity; market and conditional orders of US options",
        &[
            Effect::Endpoints(&[get("/v1/trade/order"), get("/v1/trade/estimate/buy_limit")]),
            Effect::OptionOrders { of: &SUBMISSIONS, only: &["LO", ""] },
        ],
    ),
    on(
        2022,
        7,
        18,
        "`board` in the basic information of securities (command 10)",
        &[
            Effect::MessageField {
                command: command::STATIC_INFO,
                path: &[1, 17],
                name: "secu_static_info[].board",
            },
            added(&[Source::Answer(post("/quote/static-info"))], &["secu_static_info[].board"]),
        ],
    ),
    on(2022, 7, 14, "Margin ratio", &[Effect::Endpoints(&[get("/v1/risk/margin-ratio")])]),
    on(2022, 6, 30, "Watchlist groups", &[Effect::Endpoints(&[all("/v1/watchlist/*")])]),
    on(
        2022,
        6,
        20,
        "`net_assets`, `init_margin` and `maintenance_margin` in account funds; options in stock positions",
        &[
            added(&[FUNDS], &["list[].net_assets", "list[].init_margin", "list[].maintenance_margin"]),
            Effect::Fields { of: &[POSITIONS], names: &["list[].stock_info"], before: Before::NoOptions },
        ],
    ),
    on(
        2022,
        6,
        15,
        "Capital flow and capital distribution of the day (commands 24 and 25)",
        &[
            Effect::Commands(&[command::CAPITAL_FLOW, command::CAPITAL_DISTRIBUTION]),
            Effect::Endpoints(&[
                post("/quote/capital-flow"),
                post("/quote/capital-distribution"),
                get("/v1/quote/capital-flow"),
                get("/v1/quote/capital-distribution"),
            ]),
        ],
    ),
];
