use num_bigint::BigInt;
use num_rational::Ratio;

/// A closed interval of exact numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    pub low: Ratio<BigInt>,
    pub high: Ratio<BigInt>,
}
