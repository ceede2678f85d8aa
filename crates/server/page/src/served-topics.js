// How long topics and replies may be, in characters, and how many things they name. Written by crates/server/tests/it/page.rs from
// the crate `social`: UPDATE_EXPECT=1 cargo test -p server --test it page
export const TOPIC_LIMITS = { title: 200, post: 5000, article: 20000, reply: 2000, tickers: 10, hashtags: 5, hashtag: 50, reason: 200 };
