-- Worlds: accounts with a market clock of their own. `now_at` is where the clock stands, or was when
-- it was last stored. `settings` is text that only the server interprets. `digest` is the hash over
-- everything that the world has done.
insert into counter (name, next) values ('world', 1);

create table world (
    account_id bigint not null primary key references account (id),
    id bigint not null,
    owner_id bigint not null references account (id),
    name text collate "C" not null,
    state text collate "C" not null,
    starts_at bigint not null,
    ends_at bigint not null,
    now_at bigint not null,
    step bigint not null,
    settings text collate "C" not null,
    digest bytea not null,
    created_at bigint not null
);
create unique index world_name on world (owner_id, name);
