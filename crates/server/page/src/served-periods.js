// The periods that are served, shortest first. Written by crates/server/tests/it/page.rs from the list of the crate `market`:
// UPDATE_EXPECT=1 cargo test -p server --test it page
export const MINUTES = [1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240];
export const SPANS = ['day', 'week', 'month', 'quarter', 'year'];
