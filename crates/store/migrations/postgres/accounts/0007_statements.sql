-- Statements of paper accounts, as they were made out of their journals. One never changes: what comes later is in a later one. Those that
-- were made after an instant go with the part of the journal that a rewind to it takes away.
create table statement (
    account_id bigint not null references account (id),
    -- 1 of a date, 2 of a month.
    kind bigint not null,
    -- The last date of it.
    day text collate "C" not null,
    -- The market's time, in seconds.
    made_at bigint not null,
    -- What it says is known to the crate `paper` alone.
    document bytea not null,
    primary key (account_id, kind, day)
);

-- When the next one of an account is due, by the market's time. It follows from the statements: may be deleted at any time.
create table statement_due (
    account_id bigint not null primary key references account (id),
    next_at bigint not null
);
