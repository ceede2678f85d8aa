-- Trades that the last connection of a client did not receive: securities with the first missing
-- number of each. The client's next connection takes the row, at any node.
create table missed_trades (
    lineage bytea not null primary key,
    trades text collate "C" not null,
    left_us bigint not null
);
create index missed_trades_left on missed_trades (left_us);

-- What a connection requested and does not get yet or at all, shown on every node.
alter table seat add column pending text collate "C" not null default '';
