//! Names of charges in the caller's language.

use trading::ChargeGroup;

use crate::caller::Language;

pub(super) fn group(group: ChargeGroup, language: Language) -> &'static str {
    let [en, cn, hk] = match group {
        ChargeGroup::Broker => ["Broker Fees", "券商费用", "券商費用"],
        ChargeGroup::Third => ["Third-party Fees", "第三方费用", "第三方費用"],
    };
    in_language(language, en, cn, hk)
}

/// The name of a charge; the code itself for one that an operator has added.
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

/// The same in English, for the command line.
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
