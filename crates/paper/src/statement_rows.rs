//! Rows of a statement file, in the stored and transmitted format.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Defines serializable structs of string fields, with the field names of the brokers' files.
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

    /// Account totals. All values are empty if a currency has no exchange rate, and `Remark` names
    /// that currency.
    StatementAsset {
        currency: String,
        /// Sum of `LedgerAmount` and `MarketValue`.
        total: String,
        ledger_amount: String,
        market_value: String,
        /// Receivables minus payables.
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
        /// All booked amounts, whether settled or not.
        ledger_amount: String,
        settled_amount: String,
        /// Amount reserved for open buy orders.
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
        /// Cash flow type, as in `/v1/asset/cashflow`.
        #[serde(rename = "Type")]
        kind: String,
        currency_code: String,
        /// Negative for outgoing amounts.
        amount: String,
        remark: String,
    }

    AccountBalanceLockSum {
        currency_code: String,
        lock_amount: String,
        account_balance_locks: Vec<AccountBalanceLock>,
    }

    /// Cash reserved for an open buy order.
    AccountBalanceLock {
        contract_no: String,
        code: String,
        amount: String,
        /// Fees included in the reserved amount.
        fees: String,
    }

    #[schemars(rename = "StatementTradeSum")]
    TradeSum {
        market: String,
        currency_code: String,
        clear_amount: String,
        trades: Vec<Trade>,
    }

    /// Trades of one order on one day.
    #[schemars(rename = "StatementTrade")]
    Trade {
        trade_date: String,
        settle_date: String,
        /// Order id.
        contract_no: String,
        direction: String,
        code: String,
        currency_code: String,
        trade_quantity: String,
        /// Average price.
        trade_price: String,
        trade_amount: String,
        fees: Vec<StatementFee>,
        /// Effect on cash, after fees.
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
        /// Shares per unit of quantity.
        multiplier: String,
        begin_quantity: String,
        change_quantity: String,
        ledger_quantity: String,
        /// Closing price. Empty if the security never had a price, in which case the holding is
        /// valued at cost.
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
        /// Id of the order that caused the change, if any.
        remark: String,
    }

    EquityHoldingLockSum {
        market: String,
        equity_holding_locks: Vec<EquityHoldingLock>,
    }

    /// Quantity reserved for an open sell order.
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
        /// Annual rate.
        rate: String,
        year_days: String,
        amount: String,
    }
}
