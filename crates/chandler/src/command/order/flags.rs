//! Validates order flags against the order type. The API ignores fields that do not apply to a
//! type; the command line rejects the flags, because a flag that the user typed must not be
//! ignored.

use trading::{OrderType, TriggerStatus};

use crate::failure::{Failure, usage};

pub(super) const OFFERED: [OrderType; 11] = [
    OrderType::Limit,
    OrderType::Market,
    OrderType::LimitIfTouched,
    OrderType::MarketIfTouched,
    OrderType::TrailingAmount,
    OrderType::TrailingPercent,
    OrderType::EnhancedLimit,
    OrderType::Auction,
    OrderType::AuctionLimit,
    OrderType::OddLot,
    OrderType::SpecialLimit,
];

/// Flag, and a predicate for the order types that the flag applies to.
type Rule = (&'static str, fn(OrderType) -> bool);

static RULES: [Rule; 8] = [
    ("--limit", OrderType::has_limit),
    ("--trigger", OrderType::is_touch),
    ("--trailing-amount", |one| one == OrderType::TrailingAmount),
    ("--trailing-percent", |one| one == OrderType::TrailingPercent),
    ("--limit-offset", OrderType::is_trailing),
    ("--depth-level", OrderType::is_trailing),
    ("--monitor", OrderType::is_trailing),
    ("--trigger-count", OrderType::is_conditional),
];

/// Returns an error for a flag that does not apply to a new order of this type. Unsupported order
/// types are accepted here and rejected when the order is submitted.
pub(super) fn check_new(order_type: OrderType, given: &[&str]) -> Result<(), Failure> {
    if !OFFERED.contains(&order_type) {
        return Ok(());
    }
    let wrong = RULES.iter().find(|(flag, belongs)| given.contains(flag) && !belongs(order_type));
    wrong.map_or(Ok(()), |rule| Err(misplaced(rule, order_type)))
}

/// Returns an error for a flag that does not apply to an open order. A triggered order has no
/// trigger price to change, and a triggered trailing order has a limit price.
pub(super) fn check_open(
    order_type: OrderType,
    status: TriggerStatus,
    given: &[&str],
) -> Result<(), Failure> {
    let is_released = status == TriggerStatus::Released;
    for rule in RULES.iter().filter(|(flag, _)| given.contains(flag)) {
        let (flag, belongs) = rule;
        let is_limit = *flag == "--limit";
        if is_limit && is_released && order_type.is_trailing() {
            continue;
        }
        if !belongs(order_type) {
            return Err(misplaced(rule, order_type));
        }
        if is_released && !is_limit {
            return Err(usage(format!(
                "{flag} is for an order that waits for its trigger price: this one is already triggered"
            )));
        }
    }
    Ok(())
}

fn misplaced((flag, belongs): &Rule, order_type: OrderType) -> Failure {
    let types: Vec<&str> = OFFERED.into_iter().filter(|one| belongs(*one)).map(OrderType::as_str).collect();
    usage(format!("{flag} does not apply to {order_type}: it is for {}", types.join(", ")))
}

/// Returns the names of the flags that were given.
pub(super) fn given<'a>(flags: &[(&'a str, bool)]) -> Vec<&'a str> {
    flags.iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| *flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_for_another_order_type_is_rejected() {
        for (order_type, flag, is_fine) in [
            ("LO", "--limit", true),
            ("SLO", "--limit", true),
            ("LIT", "--limit", true),
            ("MO", "--limit", false),
            ("AO", "--limit", false),
            ("MIT", "--limit", false),
            ("TSLPAMT", "--limit", false),
            ("LIT", "--trigger", true),
            ("LO", "--trigger", false),
            ("TSLPAMT", "--trailing-amount", true),
            ("TSLPPCT", "--trailing-amount", false),
            ("LO", "--limit-offset", false),
            ("MIT", "--trigger-count", true),
            ("LO", "--remark", true),
        ] {
            let order_type: OrderType = order_type.parse().unwrap();
            assert_eq!(check_new(order_type, &[flag]).is_ok(), is_fine, "{order_type} {flag}");
            let open = check_open(order_type, TriggerStatus::NotUsed, &[flag]);
            assert_eq!(open.is_ok(), is_fine, "{order_type} {flag}, open");
        }
        let refusal = check_new(OrderType::Market, &["--limit"]).unwrap_err().to_string();
        assert_eq!(refusal, "--limit does not apply to MO: it is for LO, LIT, ELO, ALO, ODD, SLO");
    }

    #[test]
    fn a_triggered_order_rejects_trigger_flags() {
        let check = |order_type: OrderType, flag: &str| {
            check_open(order_type, TriggerStatus::Released, &[flag]).is_ok()
        };
        assert!(check(OrderType::LimitIfTouched, "--limit") && check(OrderType::TrailingAmount, "--limit"));
        assert!(
            !check(OrderType::LimitIfTouched, "--trigger") && !check(OrderType::MarketIfTouched, "--limit")
        );
        assert!(!check(OrderType::TrailingAmount, "--trailing-amount"));
    }
}
