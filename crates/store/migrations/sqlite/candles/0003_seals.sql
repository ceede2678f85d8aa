-- Rows that an answer rests on say so themselves: a column `seal` is a checksum over the row, kept and verified by the
-- program (`seal.rs`). Tables that have one are listed with their columns and the number of their rows.
create table sealed_table (
    name text not null primary key,
    key_columns text not null,
    columns text not null,
    indexed_columns text not null,
    row_count bigint not null
) without rowid;

alter table counter add column seal bigint not null default 0;
alter table corporate_action add column seal bigint not null default 0;
alter table adjustment add column seal bigint not null default 0;
alter table series add column seal bigint not null default 0;

-- How many series and corporate actions a security has, so that one that is missing is missed.
alter table security add column series_count bigint not null default 0;
alter table security add column action_count bigint not null default 0;
alter table security add column seal bigint not null default 0;

update security set
    series_count = (select count(*) from series s where s.symbol = security.symbol),
    action_count = (select count(*) from corporate_action a where a.symbol = security.symbol);

-- Each block knows where the next one begins (null for the last), and the end of its body, which is the checksum of the
-- rest of it. Where the first begins and the last ends is in `series`.
alter table block_index add column next_at bigint;
alter table block_index add column tail blob;
alter table block_index add column seal bigint not null default 0;

update block_index set
    next_at = (select min(n.first_at) from block_index n
        where n.series_id = block_index.series_id and n.first_at > block_index.first_at),
    tail = (select substr(y.body, -8) from block_body y where y.id = block_index.body_id);
