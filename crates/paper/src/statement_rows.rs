//! The rows of a statement file, as they are kept and sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Structs of texts, each both sent and read, with the names of the brokers' files.
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

    /// What the account had in all. Empty where a currency has no rate, and `Remark` says which.
    StatementAsset {
        currency: String,
        /// `LedgerAmount` and `MarketValue`.
        total: String,
        ledger_amount: String,
        market_value: String,
        /// What is still to be received, less what is still to be paid.
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
        /// All that is booked, settled or not.
        ledger_amount: String,
        settled_amount: String,
        /// Held back for open buys.
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
        /// As `/v1/asset/cashflow` calls it.
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

    /// What an open buy holds back.
    AccountBalanceLock {
        contract_no: String,
        code: String,
        amount: String,
        /// Of the amount.
        fees: String,
    }

    #[schemars(rename = "StatementTradeSum")]
    TradeSum {
        market: String,
        currency_code: String,
        clear_amount: String,
        trades: Vec<Trade>,
    }

    /// What an order traded on a day.
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
        /// The average.
        trade_price: String,
        trade_amount: String,
        fees: Vec<StatementFee>,
        /// What it does to the cash, after fees.
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
        /// Empty where there was never a price: then it is valued at cost.
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
        /// The id of the order, if it was one.
        remark: String,
    }

    EquityHoldingLockSum {
        market: String,
        equity_holding_locks: Vec<EquityHoldingLock>,
    }

    /// What an open sale will take.
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
        /// Of a year.
        rate: String,
        year_days: String,
        amount: String,
    }
}
