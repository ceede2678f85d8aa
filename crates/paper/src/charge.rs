use schemars::JsonSchema;
use serde::Serialize;
use trading::Fee;

/// One charge on an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Charge {
    /// Charge code, such as `STAMP_DUTY`.
    pub code: String,
    pub amount: String,
}

impl Charge {
    pub(crate) fn of(fee: &Fee) -> Charge {
        Charge { code: fee.code.clone(), amount: fee.amount.text().to_string() }
    }
}
