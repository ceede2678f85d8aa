//! Stored and transmitted format of a statement: JSON with the field names of the brokers' files.
//! Every value is a string. The stored form is compressed.

use std::collections::BTreeMap;
use std::io::Read;

use market::{Market, Price, Symbol, Zone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::STATEMENT_BYTES_MAX;
use trading::statement::{
    AssetLine, CorporateKind, CorporateLine, HoldingLine, InterestKind, InterestLine, ShareChange, ShareLine,
    Statement, TradeLine,
};
use trading::{Currency, Money, exact_price, plain_price};

use crate::statement_rows::{
    AccountBalance, AccountBalanceChange, AccountBalanceChangeSum, AccountBalanceLock, AccountBalanceLockSum,
    AccountBalanceSum, Corp, EquityHolding, EquityHoldingChange, EquityHoldingChangeSum, EquityHoldingLock,
    EquityHoldingLockSum, EquityHoldingSum, Interest, StatementAsset, StatementFee, StatementMember, Trade,
    TradeSum,
};

/// Channel name that clients expect for paper accounts.
pub const CHANNEL: &str = "lb_papertrading";

/// Account holder of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    pub(crate) number: i64,
    pub(crate) name: String,
}

/// Names of a security by language. Unknown names are empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecurityNames {
    pub(crate) en: String,
    pub(crate) cn: String,
    pub(crate) hk: String,
}

/// A statement file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct StatementDocument {
    /// Creation time by the market clock, in Hong Kong time.
    pub generated_at: String,
    /// Last date of the period.
    pub date: String,
    pub begin_date: String,
    /// `daily` or `monthly`.
    pub file_type: String,
    pub account_channel: String,
    pub lang: String,
    /// Number of entries in the account's journal.
    pub journal_entries: String,
    pub member_info: StatementMember,
    /// Totals in HKD.
    pub asset: StatementAsset,
    pub account_balance_sum: AccountBalanceSum,
    pub account_balance_change_sums: Vec<AccountBalanceChangeSum>,
    pub account_balance_lock_sums: Vec<AccountBalanceLockSum>,
    pub stock_trade_sums: Vec<TradeSum>,
    pub option_trade_sums: Vec<TradeSum>,
    pub fund_trade_sums: Vec<String>,
    pub ipo_trade_sums: Vec<String>,
    pub equity_holding_sums: Vec<EquityHoldingSum>,
    pub equity_holding_change_sums: Vec<EquityHoldingChangeSum>,
    pub equity_holding_lock_sums: Vec<EquityHoldingLockSum>,
    pub corps: Vec<Corp>,
    pub interests: Vec<Interest>,
    pub lending_fees: Vec<String>,
    pub custodian_fees: Vec<String>,
}

impl StatementDocument {
    pub(crate) fn of(
        statement: &Statement,
        holder: &Holder,
        zone: &Zone,
        names: &dyn Fn(&Symbol) -> SecurityNames,
    ) -> StatementDocument {
        let (stocks, options) = statement.trades.iter().partition(|trade: &&TradeLine| !trade.is_option);
        StatementDocument {
            generated_at: zone.rfc3339(statement.made_at),
            date: statement.date.to_string(),
            begin_date: statement.first.to_string(),
            file_type: statement.kind.to_string(),
            account_channel: CHANNEL.to_owned(),
            lang: "en".to_owned(),
            journal_entries: statement.last_entry.to_string(),
            member_info: StatementMember {
                account_no: holder.number.to_string(),
                account_type: statement.account_type.to_string(),
                name: holder.name.clone(),
                name_en: holder.name.clone(),
            },
            asset: asset(&statement.assets),
            account_balance_sum: AccountBalanceSum { account_balances: balances(statement) },
            account_balance_change_sums: balance_changes(statement),
            account_balance_lock_sums: balance_locks(statement),
            stock_trade_sums: trades(stocks),
            option_trade_sums: trades(options),
            fund_trade_sums: Vec::new(),
            ipo_trade_sums: Vec::new(),
            equity_holding_sums: holdings(&statement.holdings, names),
            equity_holding_change_sums: holding_changes(&statement.share_changes),
            equity_holding_lock_sums: holding_locks(statement),
            corps: statement.corporate.iter().map(corp).collect(),
            interests: statement.interest.iter().map(interest).collect(),
            lending_fees: Vec::new(),
            custodian_fees: Vec::new(),
        }
    }
}

fn text(money: Money) -> String {
    money.exact_text().to_string()
}

/// Groups rows by key, in key order.
fn grouped<K: Ord, T>(rows: impl IntoIterator<Item = (K, T)>) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    for (key, row) in rows {
        groups.entry(key).or_default().push(row);
    }
    groups
}

fn asset(assets: &Result<AssetLine, String>) -> StatementAsset {
    let currency = Currency::HKD.to_string();
    match assets {
        Ok(assets) => StatementAsset {
            currency,
            total: text(assets.total()),
            ledger_amount: text(assets.ledger),
            market_value: text(assets.market_value),
            outstanding_amount: text(assets.outstanding),
            im_margin: text(assets.init_margin),
            mm_margin: text(assets.maintenance_margin),
            remark: String::new(),
        },
        Err(missing) => StatementAsset { currency, remark: missing.clone(), ..StatementAsset::default() },
    }
}

fn balances(statement: &Statement) -> Vec<AccountBalance> {
    let row = |line: &trading::statement::CashLine| AccountBalance {
        currency_code: line.currency.to_string(),
        begin_amount: text(line.begin),
        change_amount: text(line.change),
        ledger_amount: text(line.ledger),
        settled_amount: text(line.settled),
        lock_amount: text(line.reserved),
        accrued_interest: text(line.accrued),
    };
    statement.balances.iter().map(row).collect()
}

fn balance_changes(statement: &Statement) -> Vec<AccountBalanceChangeSum> {
    let groups = grouped(statement.flows.iter().map(|line| (line.flow.currency, line)));
    let sum = |(currency, lines): (Currency, Vec<&trading::statement::FlowLine>)| {
        let changes = lines.iter().map(|line| AccountBalanceChange {
            date: line.date.to_string(),
            kind: line.flow.name.to_owned(),
            currency_code: currency.to_string(),
            amount: text(line.flow.amount),
            remark: line.flow.description.clone(),
        });
        AccountBalanceChangeSum {
            currency_code: currency.to_string(),
            change_amount: text(lines.iter().map(|line| line.flow.amount).sum()),
            account_balance_changes: changes.collect(),
        }
    };
    groups.into_iter().map(sum).collect()
}

fn balance_locks(statement: &Statement) -> Vec<AccountBalanceLockSum> {
    let groups = grouped(statement.cash_locks.iter().map(|lock| (lock.currency, lock)));
    let sum = |(currency, locks): (Currency, Vec<&trading::statement::CashLock>)| AccountBalanceLockSum {
        currency_code: currency.to_string(),
        lock_amount: text(locks.iter().map(|lock| lock.amount).sum()),
        account_balance_locks: locks
            .iter()
            .map(|lock| AccountBalanceLock {
                contract_no: lock.order.to_string(),
                code: lock.symbol.to_string(),
                amount: text(lock.amount),
                fees: text(lock.fees),
            })
            .collect(),
    };
    groups.into_iter().map(sum).collect()
}

fn trades(lines: Vec<&TradeLine>) -> Vec<TradeSum> {
    let groups = grouped(lines.into_iter().map(|line| ((line.symbol.market(), line.currency), line)));
    let sum = |((market, currency), lines): ((Market, Currency), Vec<&TradeLine>)| TradeSum {
        market: market.as_str().to_owned(),
        currency_code: currency.to_string(),
        clear_amount: text(lines.iter().map(|line| line.clear()).sum()),
        trades: lines.into_iter().map(trade).collect(),
    };
    groups.into_iter().map(sum).collect()
}

fn trade(line: &TradeLine) -> Trade {
    let fee = |fee: &trading::Fee| StatementFee {
        code: fee.code.clone(),
        group: fee.group.to_string(),
        amount: text(fee.amount),
        currency_code: line.currency.to_string(),
    };
    Trade {
        trade_date: line.day.to_string(),
        settle_date: line.settles_on.to_string(),
        contract_no: line.order.to_string(),
        direction: line.side.to_string(),
        code: line.symbol.to_string(),
        currency_code: line.currency.to_string(),
        trade_quantity: line.quantity.to_string(),
        trade_price: line.price().to_string(),
        trade_amount: text(line.amount),
        fees: line.fees.iter().map(fee).collect(),
        clear_amount: text(line.clear()),
    }
}

fn holdings(lines: &[HoldingLine], names: &dyn Fn(&Symbol) -> SecurityNames) -> Vec<EquityHoldingSum> {
    let groups = grouped(lines.iter().map(|line| ((line.symbol.market(), line.currency), line)));
    let sum = |((market, currency), lines): ((Market, Currency), Vec<&HoldingLine>)| EquityHoldingSum {
        market: market.as_str().to_owned(),
        currency_code: currency.to_string(),
        market_value: text(lines.iter().map(|line| line.value).sum()),
        equity_holdings: lines.into_iter().map(|line| holding(line, names(&line.symbol))).collect(),
    };
    groups.into_iter().map(sum).collect()
}

fn holding(line: &HoldingLine, names: SecurityNames) -> EquityHolding {
    // Factors are stored in millionths, like prices.
    let factor = |millionths: i64| plain_price(Price(millionths)).to_string();
    EquityHolding {
        code: line.symbol.to_string(),
        name: names.en,
        name_cn: names.cn,
        name_hk: names.hk,
        currency_code: line.currency.to_string(),
        multiplier: line.multiplier.to_string(),
        begin_quantity: line.begin.to_string(),
        change_quantity: line.change.to_string(),
        ledger_quantity: line.ledger.to_string(),
        close_price: line
            .close
            .map(|close| exact_price(close, line.decimals).to_string())
            .unwrap_or_default(),
        market_value: text(line.value),
        cost_price: line.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        im_ratio: factor(line.factors.im),
        mm_ratio: factor(line.factors.mm),
        fm_ratio: factor(line.factors.fm),
    }
}

fn holding_changes(lines: &[ShareLine]) -> Vec<EquityHoldingChangeSum> {
    let groups = grouped(lines.iter().map(|line| (line.symbol.market(), line)));
    let row = |line: &ShareLine| EquityHoldingChange {
        date: line.date.to_string(),
        code: line.symbol.to_string(),
        kind: share_change(line.change).to_owned(),
        quantity: line.quantity.to_string(),
        remark: line.order.map(|order| order.to_string()).unwrap_or_default(),
    };
    let sum = |(market, lines): (Market, Vec<&ShareLine>)| EquityHoldingChangeSum {
        market: market.as_str().to_owned(),
        equity_holding_changes: lines.into_iter().map(row).collect(),
    };
    groups.into_iter().map(sum).collect()
}

fn share_change(change: ShareChange) -> &'static str {
    match change {
        ShareChange::Buy => "Buy",
        ShareChange::Sell => "Sell",
        ShareChange::Corporate => "CorporateAction",
        ShareChange::OptionExpiry => "OptionExpiry",
        ShareChange::Entry => "Entry",
    }
}

fn holding_locks(statement: &Statement) -> Vec<EquityHoldingLockSum> {
    let groups = grouped(statement.share_locks.iter().map(|lock| (lock.symbol.market(), lock)));
    let sum = |(market, locks): (Market, Vec<&trading::statement::ShareLock>)| EquityHoldingLockSum {
        market: market.as_str().to_owned(),
        equity_holding_locks: locks
            .iter()
            .map(|lock| EquityHoldingLock {
                contract_no: lock.order.to_string(),
                code: lock.symbol.to_string(),
                quantity: lock.quantity.to_string(),
            })
            .collect(),
    };
    groups.into_iter().map(sum).collect()
}

fn corp(line: &CorporateLine) -> Corp {
    let (kind, status) = match line.kind {
        CorporateKind::DividendDue => ("Dividend", "Due"),
        CorporateKind::DividendPaid => ("Dividend", "Done"),
        CorporateKind::Shares => ("Shares", "Done"),
        CorporateKind::Rights => ("Rights", "Done"),
    };
    Corp {
        date: line.date.to_string(),
        code: line.symbol.to_string(),
        kind: kind.to_owned(),
        status: status.to_owned(),
        ex_date: line.ex_date.to_string(),
        pay_date: line.pay_date.map(|date| date.to_string()).unwrap_or_default(),
        entitled_quantity: line.entitled.map(|quantity| quantity.to_string()).unwrap_or_default(),
        currency_code: line.currency.to_string(),
        cash_amount: text(line.cash),
        share_quantity: line.shares.to_string(),
    }
}

fn interest(line: &InterestLine) -> Interest {
    let row = Interest {
        date: line.date.to_string(),
        currency_code: line.currency.to_string(),
        amount: text(line.amount),
        ..Interest::default()
    };
    match &line.kind {
        InterestKind::Booked => Interest { kind: "Booked".to_owned(), ..row },
        InterestKind::Accrued { balance, days, rate_millionths, year } => Interest {
            kind: "Accrued".to_owned(),
            balance: text(*balance),
            days: days.to_string(),
            // The rate is stored in millionths, like prices.
            rate: plain_price(Price(*rate_millionths)).to_string(),
            year_days: year.to_string(),
            ..row
        },
    }
}

/// Zstd compression level. Most of a statement consists of repeated field names, so a higher level
/// saves little.
const LEVEL: i32 = 3;
/// Maximum decompressed size in bytes, enough for a month with a hundred thousand trades.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Encodes and compresses a document. Returns `None` if the result is too long.
pub(crate) fn encode(document: &StatementDocument) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(document).ok()?;
    let packed = zstd::encode_all(text.as_slice(), LEVEL).ok()?;
    (packed.len() <= STATEMENT_BYTES_MAX).then_some(packed)
}

/// Decompresses a document to JSON. Returns `None` if the data is invalid.
pub(crate) fn decode(packed: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    zstd::Decoder::new(packed).ok()?.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}
