//! Tests that worlds on a node have no look-ahead: neither its copy nor its page cache, which
//! contain the newest data, reveal data after a world's instant.

use crate::ahead::{Extent, compare};

#[tokio::test(flavor = "multi_thread")]
async fn a_world_on_a_node_responds_as_if_no_later_data_were_stored() {
    compare(Extent { seed: 0x5eed_0030, instants: 2, times: 1 }).await;
}
