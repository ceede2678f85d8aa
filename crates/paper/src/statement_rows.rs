//! The rows of a statement file, in the stored and sent format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines structs of text fields that are both written and read, with the names of the brokers'
/// files.
macro_rules! rows {
    ($($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)+ })+) => {$(
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "PascalCase")]
        $(#[$about])*
        pub struct $name { $($(#[$field_about])* pub $field: $type,)+ }
    )+};
}

rows! {
    StatementMember {
        account_no: String,
        account_type: String,
        name: String,
        name_en: String,
    }

    /// The totals of the account. Empty where a currency has no rate; `Remark` names it.
    StatementAsset {
        currency: String,
        /// `LedgerAmount` and `MarketValue`.
        total: String,
        ledger_amount: String,
        market_value: String,
        /// Receivables less payables.
        outstanding_amount: String,
        im_margin: String,
        mm_margin: String,
        remark: String,
    }

    #[schemars(rename = "StatementBalances")]
    AccountBalanceSum {
        account_balances: Vec<AccountBalance>,
    }

    #[schemars(rename = "StatementBalance")]
    AccountBalance {
        currency_code: String,
        begin_amount: String,
        change_amount: String,
        /// All booked amounts, settled or not.
        ledger_amount: String,
        settled_amount: String,
        /// Reserved for open buys.
        lock_amount: String,
        /// Debit interest that is not booked yet.
        accrued_interest: String,
    }

    AccountBalanceChangeSum {
        currency_code: String,
        change_amount: String,
        account_balance_changes: Vec<AccountBalanceChange>,
    }

    AccountBalanceChange {
        date: String,
        /// The name used by `/v1/asset/cashflow`.
        #[serde(rename = "Type")]
        kind: String,
        currency_code: String,
        /// Negative when money leaves.
        amount: String,
        remark: String,
    }

    AccountBalanceLockSum {
        currency_code: String,
        lock_amount: String,
        account_balance_locks: Vec<AccountBalanceLock>,
    }

    /// The reserve of an open buy.
    AccountBalanceLock {
        contract_no: String,
        code: String,
        amount: String,
        /// The fees within the amount.
        fees: String,
    }

    #[schemars(rename = "StatementTradeSum")]
    TradeSum {
        market: String,
        currency_code: String,
        clear_amount: String,
        trades: Vec<Trade>,
    }

    /// The trades of an order on a day.
    #[schemars(rename = "StatementTrade")]
    Trade {
        trade_date: String,
        settle_date: String,
        /// The id of the order.
        contract_no: String,
        direction: String,
        code: String,
        currency_code: String,
        trade_quantity: String,
        /// The average price.
        trade_price: String,
        trade_amount: String,
        fees: Vec<StatementFee>,
        /// The effect on the cash, after fees.
        clear_amount: String,
    }

    StatementFee {
        code: String,
        group: String,
        amount: String,
        currency_code: String,
    }

    EquityHoldingSum {
        market: String,
        currency_code: String,
        market_value: String,
        equity_holdings: Vec<EquityHolding>,
    }

    EquityHolding {
        code: String,
        name: String,
        name_cn: String,
        name_hk: String,
        currency_code: String,
        /// Shares behind one unit of quantity.
        multiplier: String,
        begin_quantity: String,
        change_quantity: String,
        ledger_quantity: String,
        /// Empty where there was never a price: the holding is then valued at cost.
        close_price: String,
        market_value: String,
        cost_price: String,
        im_ratio: String,
        mm_ratio: String,
        fm_ratio: String,
    }

    EquityHoldingChangeSum {
        market: String,
        equity_holding_changes: Vec<EquityHoldingChange>,
    }

    EquityHoldingChange {
        date: String,
        code: String,
        #[serde(rename = "Type")]
        kind: String,
        quantity: String,
        /// The id of the order, if there was one.
        remark: String,
    }

    EquityHoldingLockSum {
        market: String,
        equity_holding_locks: Vec<EquityHoldingLock>,
    }

    /// The quantity reserved for an open sale.
    EquityHoldingLock {
        contract_no: String,
        code: String,
        quantity: String,
    }

    /// A corporate action.
    #[schemars(rename = "StatementCorporateAction")]
    Corp {
        date: String,
        code: String,
        #[serde(rename = "Type")]
        kind: String,
        /// `Due` or `Done`.
        status: String,
        ex_date: String,
        pay_date: String,
        entitled_quantity: String,
        currency_code: String,
        cash_amount: String,
        share_quantity: String,
    }

    #[schemars(rename = "StatementInterest")]
    Interest {
        date: String,
        currency_code: String,
        /// `Accrued` or `Booked`.
        #[serde(rename = "Type")]
        kind: String,
        balance: String,
        days: String,
        /// The annual rate.
        rate: String,
        year_days: String,
        amount: String,
    }
}
