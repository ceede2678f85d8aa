// Candles that count as one call of the rate limit ("Cost" in docs/http.md). Written by crates/server/tests/it/page.rs from the crate
// `history`: UPDATE_EXPECT=1 cargo test -p server --test it page
export const CANDLES_A_CALL = 1000;
