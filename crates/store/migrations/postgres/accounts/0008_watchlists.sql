-- Watchlists. What an account follows is one list, which is the group of all; the other groups hold parts of it, each in an order of its own.

-- The market's time at which a security was followed, and the price that the account saw then; null where it saw none. Places ascend in
-- the order of the list, and may have gaps.
create table watched_security (
    account_id bigint not null references account (id),
    symbol text collate "C" not null,
    watched_at bigint not null,
    price text collate "C",
    pinned bigint not null,
    place bigint not null,
    primary key (account_id, symbol)
);

create table watchlist_group (
    id bigint not null primary key,
    account_id bigint not null references account (id),
    name text collate "C" not null
);

create index watchlist_group_account on watchlist_group (account_id);

create table watchlist_member (
    account_id bigint not null references account (id),
    group_id bigint not null references watchlist_group (id),
    symbol text collate "C" not null,
    place bigint not null,
    primary key (account_id, group_id, symbol)
);

create index watchlist_member_group on watchlist_member (group_id);

-- Numbers of groups. The first thousand are not given out: 1 is the group of all, of every account.
insert into counter (name, next) values ('watchlist', 1001);
