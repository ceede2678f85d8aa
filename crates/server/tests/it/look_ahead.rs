//! Tests that worlds have no look-ahead.

use crate::ahead::{Extent, compare, states};

/// Returns a number from the environment.
fn number<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// `CHANDLER_TEST_SEED=7 CHANDLER_TEST_INSTANTS=100` runs more comparisons with another seed.
#[tokio::test(flavor = "multi_thread")]
async fn a_world_responds_as_if_no_later_data_were_stored() {
    let seed = number("CHANDLER_TEST_SEED", 0x5eed_0028);
    compare(Extent { seed, instants: number("CHANDLER_TEST_INSTANTS", 5), times: 2 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_in_a_world_equal_the_state_built_from_pushes() {
    let seed = number("CHANDLER_TEST_SEED", 0x5eed_0029);
    states::compare(seed, number("CHANDLER_TEST_INSTANTS", 30)).await;
}
