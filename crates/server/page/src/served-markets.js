// The regions that symbols end in, the market of each, and whether it trades outside regular hours. Written by
// crates/server/tests/it/page.rs from the tables of the crate `market`: UPDATE_EXPECT=1 cargo test -p server --test it page
export const REGIONS = {
  HK: { market: 'HK', extended: false },
  US: { market: 'US', extended: true },
  SH: { market: 'CN', extended: false },
  SZ: { market: 'CN', extended: false },
};
