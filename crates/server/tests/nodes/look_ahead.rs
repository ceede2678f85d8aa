//! Look-ahead is impossible in worlds on a node: neither its copy nor its page cache, which have the
//! newest data, show anything after a world's instant.

use crate::ahead::{Extent, compare};

#[tokio::test(flavor = "multi_thread")]
async fn a_world_on_a_node_answers_as_if_nothing_after_its_instant_were_stored() {
    compare(Extent { seed: 0x5eed_0030, instants: 2, times: 1 }).await;
}
