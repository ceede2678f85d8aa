//! Statement labels in English, Simplified Chinese and Traditional Chinese.

use crate::caller::Language;

/// A label in each language.
#[derive(Clone, Copy)]
pub(super) struct Label([&'static str; 3]);

impl Label {
    pub(super) fn text(self, language: Language) -> &'static str {
        let [en, cn, hk] = self.0;
        match language {
            Language::En => en,
            Language::ZhCn => cn,
            Language::ZhHk => hk,
        }
    }
}

macro_rules! labels {
    ($($name:ident = $en:literal, $cn:literal, $hk:literal;)+) => {
        $(pub(super) const $name: Label = Label([$en, $cn, $hk]);)+
    };
}

labels! {
    DAILY = "Daily statement", "日结单", "日結單";
    MONTHLY = "Monthly statement", "月结单", "月結單";
    PAPER = "Paper account: no real money", "模拟账户：非真实资金", "模擬賬戶：非真實資金";
    ACCOUNT = "Account", "账户", "賬戶";
    PERIOD = "Period", "期间", "期間";
    MADE = "Made", "生成时间", "生成時間";
    KIND = "Type", "类型", "類型";

    ASSETS = "Assets", "资产总览", "資產總覽";
    TOTAL = "Total", "总额", "總額";
    MARKET_VALUE = "Market value", "市值", "市值";
    OUTSTANDING = "Unsettled", "未交收", "未交收";
    INIT_MARGIN = "Initial margin", "初始保证金", "初始保證金";
    MAINTENANCE = "Maintenance margin", "维持保证金", "維持保證金";

    BALANCES = "Cash", "现金结余", "現金結餘";
    CURRENCY = "Currency", "币种", "幣種";
    BEGIN = "Opening", "期初", "期初";
    CHANGE = "Change", "变动", "變動";
    LEDGER = "Ledger", "账面", "賬面";
    SETTLED = "Settled", "已交收", "已交收";
    LOCKED = "On hold", "冻结", "凍結";
    INTEREST_DUE = "Interest accrued", "应计利息", "應計利息";

    MOVEMENTS = "Movements of cash", "资金变动", "資金變動";
    DATE = "Date", "日期", "日期";
    AMOUNT = "Amount", "金额", "金額";
    REMARK = "Remark", "备注", "備註";

    STOCK_TRADES = "Trades", "证券交易", "證券交易";
    OPTION_TRADES = "Option trades", "期权交易", "期權交易";
    SETTLES = "Settles", "交收日", "交收日";
    ORDER = "Order", "订单", "訂單";
    SIDE = "Side", "方向", "方向";
    CODE = "Code", "代码", "代碼";
    QUANTITY = "Quantity", "数量", "數量";
    PRICE = "Price", "价格", "價格";
    FEES = "Fees", "费用", "費用";
    NET = "Net", "净额", "淨額";
    BUY = "Buy", "买入", "買入";
    SELL = "Sell", "卖出", "賣出";

    HOLDINGS = "Holdings", "持仓", "持倉";
    NAME = "Name", "名称", "名稱";
    CLOSE = "Close", "收市价", "收市價";
    COST = "Cost", "成本价", "成本價";
    RATIO = "Margin ratio", "保证金率", "保證金率";
    HOLDING_CHANGES = "Movements of securities", "证券变动", "證券變動";

    CORPORATE = "Corporate actions", "公司行动", "公司行動";
    EX_DATE = "Ex-date", "除净日", "除淨日";
    PAY_DATE = "Pay date", "派付日", "派付日";
    ENTITLED = "Entitled", "登记数量", "登記數量";
    SHARES = "Shares", "股份", "股份";
    STATUS = "Status", "状态", "狀態";

    LOCKS = "On hold for open orders", "未成交订单冻结", "未成交訂單凍結";
    INTERESTS = "Interest", "利息", "利息";
    BALANCE = "Balance", "余额", "餘額";
    DAYS = "Days", "天数", "天數";
    RATE = "Yearly rate", "年利率", "年利率";
}

/// Returns the label for a movement's name in the document, or the name itself if it has no label.
pub(super) fn movement(name: &str, language: Language) -> &str {
    let label = match name {
        "BuyStock" => Label(["Buy", "买入证券", "買入證券"]),
        "SellStock" => Label(["Sell", "卖出证券", "賣出證券"]),
        "Fee" => Label(["Fee", "费用", "費用"]),
        "Dividend" => Label(["Dividend", "股息", "股息"]),
        "CashInLieu" => Label(["Cash in lieu", "碎股现金", "碎股現金"]),
        "RightsValue" | "Rights" => Label(["Rights", "供股权", "供股權"]),
        "Interest" => Label(["Interest", "利息", "利息"]),
        "Deposit" => Label(["Deposit", "存入", "存入"]),
        "Withdrawal" => Label(["Withdrawal", "提取", "提取"]),
        "ExchangeOut" => Label(["Exchange out", "换汇支出", "換匯支出"]),
        "ExchangeIn" => Label(["Exchange in", "换汇收入", "換匯收入"]),
        "Adjustment" => Label(["Adjustment", "调整", "調整"]),
        "OptionExpiry" => Label(["Option expiry", "期权到期", "期權到期"]),
        "CorporateAction" | "Shares" => Label(["Split or bonus", "拆并或送股", "拆併或送股"]),
        "Entry" => Label(["Entered", "录入", "錄入"]),
        "Accrued" => Label(["Accrued", "应计", "應計"]),
        "Booked" => Label(["Booked", "入账", "入賬"]),
        "Due" => Label(["Due", "待付", "待付"]),
        "Done" => Label(["Done", "完成", "完成"]),
        "Buy" => BUY,
        "Sell" => SELL,
        "margin" => Label(["Margin account", "保证金账户", "保證金賬戶"]),
        "cash" => Label(["Cash account", "现金账户", "現金賬戶"]),
        _ => return name,
    };
    label.text(language)
}

/// Groups thousands: `-80000.5` becomes `-80,000.5`. Text that is not a number is unchanged.
pub(super) fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.bytes().any(|byte| !byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or_default()).collect();
    format!("{sign}{}{rest}", groups.join(","))
}

/// Formats an amount with its currency. Returns an empty string if the amount is empty.
pub(super) fn with_currency(amount: &str, currency: &str) -> String {
    if amount.is_empty() { String::new() } else { format!("{} {currency}", grouped(amount)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        for (text, shown) in [
            ("0.00", "0.00"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-1000", "-1,000"),
            ("123456", "123,456"),
            ("-1096517.35", "-1,096,517.35"),
            ("1605.6426410959", "1,605.6426410959"),
            ("", ""),
            ("-", "-"),
            ("no rate for USD", "no rate for USD"),
            ("1e9", "1e9"),
        ] {
            assert_eq!(grouped(text), shown);
        }
        assert_eq!(with_currency("2675.67", "HKD"), "2,675.67 HKD");
        assert_eq!(with_currency("", "HKD"), "");
    }
}
