//! Translates errors of the API and of paper accounts for the command line, by replacing field
//! names with flags.

use anyhow::anyhow;
use paper::{PaperError, Reason};

use crate::failure::Failure;

/// Field names with their flags. A name that contains another name must precede it.
const FLAGS: [(&str, &str); 33] = [
    ("trigger_price_type", "--spread or --percent"),
    ("submitted_price", "--limit"),
    ("submitted_quantity", "the quantity"),
    ("trigger_price", "--trigger"),
    ("monitor_price", "--monitor"),
    ("limit_depth_level", "--depth-level"),
    ("limit_offset", "--limit-offset"),
    ("trailing_amount", "--trailing-amount"),
    ("trailing_percent", "--trailing-percent"),
    ("trigger_count", "--trigger-count"),
    ("expire_date", "--expire"),
    ("delayed_until", "--delay-until"),
    ("client_request_id", "--request-id"),
    ("profit_taker_submit_price", "--take-profit-limit"),
    ("stop_loss_submit_price", "--stop-loss-limit"),
    ("profit_taker_price", "--take-profit"),
    ("stop_loss_price", "--stop-loss"),
    ("submitted_base_price", "--base"),
    ("upper_limit_price", "--upper"),
    ("lower_limit_price", "--lower"),
    ("trigger_spread_up", "--spread-up"),
    ("trigger_spread_down", "--spread-down"),
    ("trigger_percent_up", "--percent-up"),
    ("trigger_percent_down", "--percent-down"),
    ("trigger_quantity", "--quantity"),
    ("upper_limit_quantity", "--max-position"),
    ("lower_limit_quantity", "--min-position"),
    ("trigger_sell_depth", "--sell-depth"),
    ("trigger_buy_depth", "--buy-depth"),
    ("grid_order_type_up", "--sell-type"),
    ("grid_order_type_down", "--buy-type"),
    ("expire_time", "--expire"),
    ("settlement_currency", "--currency"),
];

pub(crate) fn in_flags(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (field, flag)| text.replace(field, flag))
}

/// Converts an error of a paper account. The message for a rejection includes the failed check with
/// its numbers.
pub(crate) fn to_failure(error: PaperError) -> Failure {
    match error {
        PaperError::Refused(refusal) => anyhow!(in_flags(&Reason::of(&refusal).words)).into(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::in_flags;

    #[test]
    fn field_names_in_messages_become_flags() {
        assert_eq!(
            in_flags("submitted_price required (check 3, fields)"),
            "--limit required (check 3, fields)"
        );
        assert_eq!(in_flags("trigger_price must differ from 305"), "--trigger must differ from 305");
        assert_eq!(
            in_flags("upper_limit_price must be above lower_limit_price"),
            "--upper must be above --lower"
        );
        assert_eq!(in_flags("trigger_price_type must be 1 or 2"), "--spread or --percent must be 1 or 2");
        assert_eq!(in_flags("insufficient funds"), "insufficient funds");
    }
}
