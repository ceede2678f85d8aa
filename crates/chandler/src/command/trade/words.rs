//! Refusals in the words of the command line: its flags instead of the fields of the interface.

const FLAGS: [(&str, &str); 12] = [
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
];

pub(crate) fn in_flags(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (field, flag)| text.replace(field, flag))
}

/// What the interface says of an id that no order has.
pub(super) const NOT_FOUND: &str = "order not found";
/// What helps then.
pub(super) const WHERE_ORDERS_ARE: &str =
    "`chandler order list` shows today's, `--history` those of earlier days";

#[cfg(test)]
mod tests {
    use super::in_flags;

    #[test]
    fn a_field_is_called_by_its_flag() {
        assert_eq!(
            in_flags("submitted_price required (check 3, fields)"),
            "--limit required (check 3, fields)"
        );
        assert_eq!(in_flags("trigger_price must differ from 305"), "--trigger must differ from 305");
        assert_eq!(in_flags("insufficient funds"), "insufficient funds");
    }
}
