-- Accounts whole: rights with a beginning and an end, levels that are earned, OAuth, and a book of who did what.

-- `role` is `user` or `operator`; `password` is an Argon2id text or null for an account that cannot sign in to pages.
alter table account add column role text collate "C" not null default 'user';
alter table account add column password text collate "C";

-- What an account may see: `HK`, `US`, `US_OVERNIGHT`, `CN`, `SG`, `US_OPTIONS`. Granting again replaces the times,
-- withdrawing removes the row; the history of it is in `audit`. The times are the market's; a null one is no limit.
create table quote_right (
    account_id bigint not null references account (id),
    package text collate "C" not null,
    starts_at bigint,
    ends_at bigint,
    primary key (account_id, package)
);

-- The ladder. `assets` is in HKD and must be reached, `orders` of a month must be exceeded; null is no way up.
create table level (
    number bigint not null primary key,
    quota bigint not null,
    assets bigint,
    orders bigint
);

insert into level (number, quota, assets, orders) values
    (1, 100, null, null), (2, 400, 10000, null), (3, 600, 80000, null),
    (4, 1000, 400000, 160), (5, 2000, 4000000, 1600), (6, 3000, 6000000, 2500);

-- What an account was worth at the end of a day, in ten-thousandths of the currency. All rows of a day are one total;
-- a day without rows has the total of the last day that has some. Days are `YYYY-MM-DD`.
create table asset (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    currency text collate "C" not null,
    amount bigint not null,
    primary key (account_id, day, currency)
);

-- HKD for one unit of a currency, in hundred-millionths, from a day on.
create table exchange_rate (
    currency text collate "C" not null,
    day text collate "C" not null,
    rate bigint not null,
    primary key (currency, day)
);

-- Completed orders of a day that were reported as a number.
create table order_count (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    orders bigint not null,
    primary key (account_id, day)
);

-- Completed orders that were reported one by one: however many fills are told, an order is here once.
create table completed_order (
    account_id bigint not null references account (id),
    order_id text collate "C" not null,
    day text collate "C" not null,
    primary key (account_id, order_id)
);

create index completed_order_day on completed_order (account_id, day);

-- The level an account was last seen at, so that a change is noticed and written down once.
create table level_seen (
    account_id bigint not null primary key references account (id),
    level bigint not null,
    since text collate "C" not null
);

-- Who did what to whom, and why. Never a secret. `actor` is `operator`, `service`, `account 7` or `client …`.
create table audit (
    id bigint not null primary key,
    at bigint not null,
    actor text collate "C" not null,
    account_id bigint,
    event text collate "C" not null,
    reason text collate "C" not null
);

create index audit_account on audit (account_id, id);

insert into counter (name, next) values ('audit', 1);

-- Clients of OAuth. Redirect addresses and grant types are lists, an item a line; `used_at` is when somebody last
-- approved the client.
create table oauth_client (
    id text collate "C" not null primary key,
    name text collate "C" not null,
    redirect_uris text collate "C" not null,
    grant_types text collate "C" not null,
    auth_method text collate "C" not null,
    secret_hash bytea,
    registration_hash bytea not null,
    created_at bigint not null,
    used_at bigint
);

create index oauth_client_used on oauth_client (used_at);

-- A device that waits for a person. `state` is `pending`, `approved`, `denied` or `redeemed`; codes are kept as hashes.
-- `redeemed_by` tells which of a client's two pollers got the tokens.
create table device_grant (
    device_hash bytea not null primary key,
    user_hash bytea not null unique,
    client_id text collate "C" not null references oauth_client (id) on delete cascade,
    scope text collate "C" not null,
    state text collate "C" not null,
    account_id bigint references account (id),
    redeemed_by text collate "C",
    created_at bigint not null,
    expires_at bigint not null
);

create index device_grant_expiry on device_grant (expires_at);
create index device_grant_client on device_grant (client_id, state, created_at);

-- A code of the authorization-code flow. It stays after its use, so that a second use can be told from an unknown code;
-- `family` is what the first use made.
create table authorization_code (
    code_hash bytea not null primary key,
    client_id text collate "C" not null references oauth_client (id) on delete cascade,
    account_id bigint not null references account (id),
    redirect_uri text collate "C" not null,
    scope text collate "C" not null,
    challenge text collate "C",
    family text collate "C",
    created_at bigint not null,
    expires_at bigint not null
);

create index authorization_code_expiry on authorization_code (expires_at);
create index authorization_code_client on authorization_code (client_id);

-- Access and refresh tokens. All that descend from one approval share a `family`, and end together: their
-- rows are removed. `begun_at` is when the family's first pair was issued, `replaced_at` when a refresh token was used and
-- its successor issued.
create table oauth_token (
    hash bytea not null primary key,
    kind text collate "C" not null,
    family text collate "C" not null,
    client_id text collate "C" not null references oauth_client (id) on delete cascade,
    account_id bigint not null references account (id),
    scope text collate "C" not null,
    begun_at bigint not null,
    issued_at bigint not null,
    expires_at bigint not null,
    replaced_at bigint
);

create index oauth_token_family on oauth_token (family);
create index oauth_token_expiry on oauth_token (expires_at);
create index oauth_token_client on oauth_token (client_id);
create index oauth_token_account on oauth_token (account_id);

-- People who are signed in to the pages of the server, by the hash of their cookie.
create table browser_session (
    hash bytea not null primary key,
    account_id bigint not null references account (id),
    created_at bigint not null,
    expires_at bigint not null
);

create index browser_session_expiry on browser_session (expires_at);
create index browser_session_account on browser_session (account_id);

-- Access tokens of API keys that newer ones have replaced: good a little longer, for whoever has lost the answer.
create table replaced_token (
    hash bytea not null primary key,
    app_key text collate "C" not null references credential (app_key),
    good_until bigint not null
);

create index replaced_token_key on replaced_token (app_key);
create index replaced_token_until on replaced_token (good_until);
