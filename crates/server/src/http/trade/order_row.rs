//! An order in the JSON format of the SDKs, in which every key is present and an absent value is an
//! empty string.

use market::{Price, Symbol};
use paper::waiting;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, ChargeGroup, MarketView, Order, TimeInForce, exact_price};

use super::attached::AttachedRow;
use crate::caller::Language;
use crate::names::Names;

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Order")]
pub(super) struct OrderRow {
    order_id: String,
    status: &'static str,
    stock_name: String,
    quantity: String,
    executed_quantity: String,
    price: String,
    executed_price: String,
    submitted_at: String,
    side: &'static str,
    symbol: String,
    order_type: &'static str,
    last_done: String,
    trigger_price: String,
    msg: String,
    tag: &'static str,
    time_in_force: &'static str,
    expire_date: String,
    updated_at: String,
    trigger_at: String,
    trailing_amount: String,
    trailing_percent: String,
    limit_offset: String,
    trigger_status: &'static str,
    currency: String,
    outside_rth: &'static str,
    limit_depth_level: i32,
    trigger_count: i32,
    monitor_price: String,
    remark: String,
    /// Time at which a delayed order is placed, in Unix seconds.
    delayed_until: String,
    /// Why an open order waits for candles, as a sentence. Empty for other orders and in the history.
    waiting: String,
    /// Take profit and stop loss of the order, open or not, oldest first.
    attached_orders: Vec<AttachedRow>,
    #[serde(skip)]
    security: Symbol,
}

impl OrderRow {
    /// Converts an order without its security names. The caller adds the names, which are looked up
    /// for all rows together.
    pub(super) fn of(account: &Account, order: &Order) -> OrderRow {
        let terms = &order.terms;
        let price = |price: Option<Price>| price_text(price, order.facts.decimals);
        let is_dated = terms.time_in_force == TimeInForce::GoodTilDate;
        OrderRow {
            order_id: order.id.to_string(),
            status: order.status().as_str(),
            stock_name: String::new(),
            quantity: terms.quantity.to_string(),
            executed_quantity: order.executed.to_string(),
            price: price(terms.price),
            executed_price: order.executed_price().map_or_else(|| "0".to_owned(), |price| price.to_string()),
            submitted_at: order.submitted_at.0.to_string(),
            side: terms.side.as_str(),
            symbol: terms.symbol.to_string(),
            order_type: terms.order_type.as_str(),
            last_done: order.last_price().map(|price| price.to_string()).unwrap_or_default(),
            trigger_price: price(terms.trigger_price),
            msg: order.msg.clone(),
            tag: terms.tag().as_str(),
            time_in_force: terms.time_in_force.as_str(),
            expire_date: terms
                .expire_date
                .filter(|_| is_dated)
                .map(|date| date.to_string())
                .unwrap_or_default(),
            updated_at: order.updated_at.0.to_string(),
            trigger_at: order.trigger_at.unwrap_or_default().0.to_string(),
            trailing_amount: price(terms.trailing_amount),
            trailing_percent: terms.trailing_percent.map(|percent| percent.to_string()).unwrap_or_default(),
            limit_offset: price(terms.limit_offset),
            trigger_status: order.trigger_status.as_str(),
            currency: order.facts.currency.to_string(),
            outside_rth: order.outside_rth().as_str(),
            limit_depth_level: terms.depth_level,
            trigger_count: terms.trigger_count,
            monitor_price: price(terms.monitor_price),
            remark: terms.remark.clone(),
            delayed_until: terms.delayed_until.map(|at| at.0.to_string()).unwrap_or_default(),
            waiting: String::new(),
            attached_orders: account.attached_orders(order).filter_map(AttachedRow::of).collect(),
            security: terms.symbol.clone(),
        }
    }

    /// Converts an open or recent order, with the effect of the stored candles on it.
    pub(super) fn current(order: &Order, account: &Account, view: &MarketView<'_>) -> OrderRow {
        let waiting = waiting(account, view, order).map(|waiting| waiting.words);
        OrderRow { waiting: waiting.unwrap_or_default(), ..OrderRow::of(account, order) }
    }

    pub(super) fn security(&self) -> &Symbol {
        &self.security
    }

    pub(super) fn name(&mut self, names: &Names) {
        self.stock_name = names.get(&self.security);
    }
}

/// Formats a price with at least as many decimals as its security has. Returns an empty string for
/// `None`.
pub(super) fn price_text(price: Option<Price>, decimals: u32) -> String {
    price.map(|price| exact_price(price, decimals).to_string()).unwrap_or_default()
}

pub(super) fn group(group: ChargeGroup, language: Language) -> &'static str {
    let [en, cn, hk] = match group {
        ChargeGroup::Broker => ["Broker Fees", "券商费用", "券商費用"],
        ChargeGroup::Third => ["Third-party Fees", "第三方费用", "第三方費用"],
    };
    in_language(language, en, cn, hk)
}

/// Returns the name of a charge, or the code itself for charges that operators have added.
pub(super) fn charge(code: &str, language: Language) -> &str {
    let [en, cn, hk] = match code {
        "COMMISSION" => ["Commission", "佣金", "佣金"],
        "PLATFORM" => ["Platform fee", "平台费", "平台費"],
        "STAMP_DUTY" => ["Stamp duty", "印花税", "印花稅"],
        "TRADING_FEE" => ["Trading fee", "交易费", "交易費"],
        "SFC_LEVY" => ["SFC transaction levy", "证监会交易征费", "證監會交易徵費"],
        "AFRC_LEVY" => ["AFRC transaction levy", "会财局交易征费", "會財局交易徵費"],
        "SETTLEMENT" => ["Settlement fee", "交收费", "交收費"],
        "CLEARING" => ["Clearing fee", "结算费", "結算費"],
        "SEC_FEE" => ["SEC fee", "证监会规费", "證監會規費"],
        "TAF" => ["Trading activity fee", "交易活动费", "交易活動費"],
        "CAT" => ["Consolidated audit trail fee", "综合审计跟踪费", "綜合審計追蹤費"],
        other => return other,
    };
    in_language(language, en, cn, hk)
}

/// Returns the English name of a charge, for the command line.
pub fn charge_name(code: &str) -> &str {
    charge(code, Language::En)
}

fn in_language(language: Language, en: &'static str, cn: &'static str, hk: &'static str) -> &'static str {
    match language {
        Language::En => en,
        Language::ZhCn => cn,
        Language::ZhHk => hk,
    }
}
