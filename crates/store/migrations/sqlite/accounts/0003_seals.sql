-- Each row carries a checksum over itself, as in candles.db: `seal.rs` keeps and verifies it. Tables that have one are listed
-- with their columns and the number of their rows.
create table sealed_table (
    name text not null primary key,
    key_columns text not null,
    columns text not null,
    indexed_columns text not null,
    row_count bigint not null
) without rowid;

alter table counter add column seal bigint not null default 0;
alter table account add column seal bigint not null default 0;
alter table credential add column seal bigint not null default 0;
alter table usage add column seal bigint not null default 0;
alter table quote_right add column seal bigint not null default 0;
alter table level add column seal bigint not null default 0;
alter table asset add column seal bigint not null default 0;
alter table exchange_rate add column seal bigint not null default 0;
alter table order_count add column seal bigint not null default 0;
alter table completed_order add column seal bigint not null default 0;
alter table level_seen add column seal bigint not null default 0;
alter table audit add column seal bigint not null default 0;
alter table oauth_client add column seal bigint not null default 0;
alter table device_grant add column seal bigint not null default 0;
alter table authorization_code add column seal bigint not null default 0;
alter table oauth_token add column seal bigint not null default 0;
alter table browser_session add column seal bigint not null default 0;
alter table replaced_token add column seal bigint not null default 0;
