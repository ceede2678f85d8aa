-- The first shape of the accounts: who may ask, and what they have used. Texts are ordered by their bytes, as in the schema of the
-- candles. What an earlier shape of these tables held is left out here: no database on PostgreSQL has it.

-- `version` counts what is changed about accounts, not what they use, so that a server knows when to read them again.
create table counter (
    name text collate "C" not null primary key,
    next bigint not null
);

insert into counter (name, next) values ('account', 1), ('version', 0);

-- `epoch` is part of every session; raising it ends them all. A level of 0 is earned by assets and orders; 1 to 6 is what the
-- operator has set. A null `quota` follows the level, a null `rate` the rule of the service.
create table account (
    id bigint not null primary key,
    name text collate "C" not null unique,
    region text collate "C" not null,
    created_at bigint not null,
    revoked_at bigint,
    epoch bigint not null,
    level bigint not null,
    quota bigint,
    rate text collate "C",
    connections bigint not null
);

-- The app secret is sealed, because checking a signature needs it in clear; of the token a hash is enough.
create table credential (
    app_key text collate "C" not null primary key,
    account_id bigint not null references account (id),
    app_secret bytea not null,
    token_hash bytea not null unique,
    token_expires_at bigint not null,
    created_at bigint not null
);

create index credential_account on credential (account_id);

-- A symbol asked for twice in a month is charged once, so usage is a set, not a counter.
create table usage (
    account_id bigint not null references account (id),
    month text collate "C" not null,
    symbol text collate "C" not null,
    first_at bigint not null,
    primary key (account_id, month, symbol)
);
