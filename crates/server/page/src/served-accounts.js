// What an account may be called and allowed at most, and what it may see. Written by crates/server/tests/it/page.rs from the crate `access`:
// UPDATE_EXPECT=1 cargo test -p server --test it page
export const ACCOUNT_LIMITS = { name: 64, quota: 100000, connections: 1000, subscriptions: 100000 };
export const PACKAGES = ['HK', 'US', 'US_OVERNIGHT', 'CN', 'SG', 'US_OPTIONS'];
export const MARKETS = ['HK', 'US', 'CN', 'SG'];
