-- The log of each world. Lines are numbered without gaps from 1. `step` and `entries` are the last
-- step and the last journal entry of the account up to the line, and `digest` is the hash over all
-- lines up to the line.
create table world_line (
    account_id bigint not null references account (id),
    number bigint not null,
    at bigint not null,
    step bigint not null,
    entries bigint not null,
    kind text collate "C" not null,
    entry text collate "C" not null,
    request text collate "C" not null,
    digest bytea not null,
    primary key (account_id, number)
);
