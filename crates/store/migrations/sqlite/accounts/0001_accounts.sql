-- The first shape of accounts.db: who may ask, and what they have used. It lies beside candles.db, not in it: an import
-- holds that file's writer for hours, and an account must be revocable meanwhile.

-- `version` counts what is changed about accounts, not what they use, so that a server knows when to read them again.
create table counter (
    name text not null primary key,
    next bigint not null
) without rowid;

insert into counter (name, next) values ('account', 1), ('version', 0);

-- `epoch` is part of every session; raising it ends them all. A null `quota` follows the level, a null `rate` the rule of
-- the service.
create table account (
    id integer not null primary key,
    name text not null unique,
    region text not null,
    created_at bigint not null,
    revoked_at bigint,
    epoch bigint not null,
    markets text not null,
    overnight bigint not null,
    level bigint not null,
    quota bigint,
    rate text,
    connections bigint not null
);

-- The app secret is sealed, because checking a signature needs it in clear; of the token a hash is enough.
create table credential (
    app_key text not null primary key,
    account_id bigint not null references account (id),
    app_secret blob not null,
    token_hash blob not null unique,
    token_expires_at bigint not null,
    created_at bigint not null
);

create index credential_account on credential (account_id);

-- A symbol asked for twice in a month is charged once, so usage is a set, not a counter.
create table usage (
    account_id bigint not null references account (id),
    month text not null,
    symbol text not null,
    first_at bigint not null,
    primary key (account_id, month, symbol)
) without rowid;
