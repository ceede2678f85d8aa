-- Whether an account may look at what it trades, and change nothing.
alter table account add column read_only bigint not null default 0;

-- Paper accounts. The journal is the truth about one: what was asked of it and what came of that, numbered from 1 without a gap.
-- What an entry means is known to the crate `trading` alone.
create table journal (
    account_id bigint not null references account (id),
    number bigint not null,
    -- The market's time, in seconds.
    at bigint not null,
    entry text collate "C" not null,
    primary key (account_id, number)
);

-- How far each journal has come. The revision rises with every change, also where entries are taken away.
create table journal_head (
    account_id bigint not null primary key references account (id),
    revision bigint not null,
    last_number bigint not null,
    horizon bigint not null,
    -- The market's time at which something may happen to the account by itself; null where nothing can, or nobody waits for it.
    wake bigint
);
create index journal_head_wake on journal_head (wake);

-- What a journal comes to, for speed alone: may be deleted at any time.
create table journal_snapshot (
    account_id bigint not null primary key references account (id),
    number bigint not null,
    -- Which version of the state it is; another program's is of no use.
    format text collate "C" not null,
    state bytea not null
);

-- Requests that carry a name of the client's own, so that a repeated one is not done twice. The machine's time.
create table journal_request (
    account_id bigint not null references account (id),
    name text collate "C" not null,
    answer text collate "C" not null,
    at bigint not null,
    primary key (account_id, name)
);
create index journal_request_at on journal_request (at);

-- What a rewind took from a journal, by the name it was given.
create table journal_cut (
    account_id bigint not null references account (id),
    name text collate "C" not null,
    -- The market's time that was gone back to, the horizon before, and the machine's time.
    rewound_to bigint not null,
    horizon bigint not null,
    cut_at bigint not null,
    primary key (account_id, name)
);

create table journal_cut_entry (
    account_id bigint not null,
    name text collate "C" not null,
    number bigint not null,
    at bigint not null,
    entry text collate "C" not null,
    primary key (account_id, name, number)
);
