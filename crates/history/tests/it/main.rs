//! Tests queries and imports against the specification's chapter on candles, with text as input and
//! output. All tests are in one binary, because linking the database and the file formats is slow.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod coarse_files;
mod common;
mod coverage;
mod import_files;
mod import_options;
mod import_properties;
mod import_replacing;
mod import_resume;
mod import_tables;
mod import_undo;
mod ingest;
mod page_cache;
mod plans;
mod pushes;
mod quotes;
mod reference;
mod roll_ups;
mod rules_d6_sessions;
mod rules_f_adjusted;
mod rules_g_paging;
mod rules_g_queries;
mod rules_h_ranges;
mod rules_i_forming;
mod rules_live;
mod rules_r_replay;
mod stored_minutes;
mod trades;
