-- Checksums of rows are SQLite's: PostgreSQL has its own of pages (`data_checksums`). What the same step says of a row beside them
-- is here too.

-- How many series and corporate actions a security has.
alter table security add column series_count bigint not null default 0;
alter table security add column action_count bigint not null default 0;

-- Each block knows where the next one begins (null for the last), and the end of its body, which is the checksum of the
-- rest of it. Where the first begins and the last ends is in `series`.
alter table block_index add column next_at bigint;
alter table block_index add column tail bytea;
