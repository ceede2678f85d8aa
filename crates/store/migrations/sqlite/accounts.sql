-- Accounts, their credentials and usage, paper accounts, watchlists and the community. Separate
-- from candles.db, because an import holds that file's writer for hours and accounts must be
-- changeable meanwhile. A column `seal` is a checksum of the row (`seal.rs`).

-- The next id of each kind. `version` grows with each change of accounts, not with their usage. The
-- first thousand watchlist ids are reserved: 1 is the group of all securities of every account.
create table counter (
    name text not null primary key,
    next bigint not null,
    seal bigint not null default 0
) without rowid;
insert into counter (name, next) values
    ('account', 1), ('audit', 1), ('topic', 1), ('watchlist', 1001), ('world', 1), ('version', 0);

-- Raising `epoch` ends all sessions. `level` 0 is earned by assets and orders, 1 to 6 are set by
-- the operator. A null `quota` follows the level; null `rate`, `floors` and `api_date` follow the
-- server. `password` is an Argon2id hash; null: no sign-in to the pages. `subscriptions` is the
-- most distinct securities that an account subscribes to on all its connections.
create table account (
    id integer not null primary key,
    name text not null unique,
    region text not null,
    created_at bigint not null,
    revoked_at bigint,
    epoch bigint not null,
    level bigint not null,
    quota bigint,
    rate text,
    connections bigint not null,
    role text not null default 'user',
    password text,
    seal bigint not null default 0,
    floors text,
    read_only bigint not null default 0,
    api_date text,
    subscriptions bigint not null default 500
);

-- The app secret is encrypted, because checking a signature needs the secret itself; of the token
-- there is a hash.
create table credential (
    app_key text not null primary key,
    account_id bigint not null references account (id),
    app_secret blob not null,
    token_hash blob not null unique,
    token_expires_at bigint not null,
    created_at bigint not null,
    seal bigint not null default 0
);
create index credential_account on credential (account_id);

-- Symbols charged in a month, each once.
create table usage (
    account_id bigint not null references account (id),
    month text not null,
    symbol text not null,
    first_at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, month, symbol)
) without rowid;

-- Granted market data: `HK`, `US`, `US_OVERNIGHT`, `CN`, `SG`, `US_OPTIONS`. Null: no limit in
-- time.
create table quote_right (
    account_id bigint not null references account (id),
    package text not null,
    starts_at bigint,
    ends_at bigint,
    seal bigint not null default 0,
    primary key (account_id, package)
) without rowid;

-- `assets` (HKD) must be reached, or `orders` of a month exceeded; null: not possible this way.
create table level (
    number bigint not null primary key,
    quota bigint not null,
    assets bigint,
    orders bigint,
    seal bigint not null default 0
);
insert into level (number, quota, assets, orders) values
    (1, 100, null, null), (2, 400, 10000, null), (3, 600, 80000, null),
    (4, 1000, 400000, 160), (5, 2000, 4000000, 1600), (6, 3000, 6000000, 2500);

-- Reported assets at the end of a day, in ten-thousandths. A day without rows has those of the last
-- day before.
create table asset (
    account_id bigint not null references account (id),
    day text not null,
    currency text not null,
    amount bigint not null,
    seal bigint not null default 0,
    primary key (account_id, day, currency)
) without rowid;

-- HKD for one unit of a currency, in hundred-millionths, from a day on.
create table exchange_rate (
    currency text not null,
    day text not null,
    rate bigint not null,
    seal bigint not null default 0,
    primary key (currency, day)
) without rowid;

-- Completed orders of a day, reported as a number.
create table order_count (
    account_id bigint not null references account (id),
    day text not null,
    orders bigint not null,
    seal bigint not null default 0,
    primary key (account_id, day)
) without rowid;

-- Completed orders, reported one by one.
create table completed_order (
    account_id bigint not null references account (id),
    order_id text not null,
    day text not null,
    seal bigint not null default 0,
    primary key (account_id, order_id)
) without rowid;
create index completed_order_day on completed_order (account_id, day);

-- The last recorded level, so that each change is recorded once.
create table level_seen (
    account_id bigint not null primary key references account (id),
    level bigint not null,
    since text not null,
    seal bigint not null default 0
);

-- The audit log; no secrets. `actor` is `operator`, `service`, `account 7` or `client …`.
create table audit (
    id integer not null primary key,
    at bigint not null,
    actor text not null,
    account_id bigint,
    event text not null,
    reason text not null,
    seal bigint not null default 0
);
create index audit_account on audit (account_id, id);

-- Redirect addresses and grant types have one item per line. `used_at`: the last approval.
create table oauth_client (
    id text not null primary key,
    name text not null,
    redirect_uris text not null,
    grant_types text not null,
    auth_method text not null,
    secret_hash blob,
    registration_hash blob not null,
    created_at bigint not null,
    used_at bigint,
    seal bigint not null default 0
);
create index oauth_client_used on oauth_client (used_at);

-- `state` is `pending`, `approved`, `denied` or `redeemed`. `redeemed_by` distinguishes two pollers
-- of one client.
create table device_grant (
    device_hash blob not null primary key,
    user_hash blob not null unique,
    client_id text not null references oauth_client (id) on delete cascade,
    scope text not null,
    state text not null,
    account_id bigint references account (id),
    redeemed_by text,
    created_at bigint not null,
    expires_at bigint not null,
    seal bigint not null default 0
);
create index device_grant_expiry on device_grant (expires_at);
create index device_grant_client on device_grant (client_id, state, created_at);

-- Rows stay after use, so that a second use is recognised; `family` is the token family of the
-- first.
create table authorization_code (
    code_hash blob not null primary key,
    client_id text not null references oauth_client (id) on delete cascade,
    account_id bigint not null references account (id),
    redirect_uri text not null,
    scope text not null,
    challenge text,
    family text,
    created_at bigint not null,
    expires_at bigint not null,
    seal bigint not null default 0
);
create index authorization_code_expiry on authorization_code (expires_at);
create index authorization_code_client on authorization_code (client_id);

-- Tokens of one approval share a `family` and end together. `replaced_at`: when a refresh token was
-- used.
create table oauth_token (
    hash blob not null primary key,
    kind text not null,
    family text not null,
    client_id text not null references oauth_client (id) on delete cascade,
    account_id bigint not null references account (id),
    scope text not null,
    begun_at bigint not null,
    issued_at bigint not null,
    expires_at bigint not null,
    replaced_at bigint,
    seal bigint not null default 0
);
create index oauth_token_family on oauth_token (family);
create index oauth_token_expiry on oauth_token (expires_at);
create index oauth_token_client on oauth_token (client_id);
create index oauth_token_account on oauth_token (account_id);

-- Sessions of the pages, by the hash of the cookie.
create table browser_session (
    hash blob not null primary key,
    account_id bigint not null references account (id),
    created_at bigint not null,
    expires_at bigint not null,
    seal bigint not null default 0
);
create index browser_session_expiry on browser_session (expires_at);
create index browser_session_account on browser_session (account_id);

-- Replaced access tokens of API keys. They remain valid for a while, in case the response was lost.
create table replaced_token (
    hash blob not null primary key,
    app_key text not null references credential (app_key),
    good_until bigint not null,
    seal bigint not null default 0
) without rowid;
create index replaced_token_key on replaced_token (app_key);
create index replaced_token_until on replaced_token (good_until);

-- The sealed tables: their columns and row counts.
create table sealed_table (
    name text not null primary key,
    key_columns text not null,
    columns text not null,
    indexed_columns text not null,
    row_count bigint not null
) without rowid;

-- Journals of paper accounts, numbered from 1 without gaps. Only the crate `trading` knows the
-- entries.
create table journal (
    account_id bigint not null references account (id),
    number bigint not null,
    at bigint not null,
    entry text not null,
    seal bigint not null default 0,
    primary key (account_id, number)
) without rowid;

-- The end of each journal. `revision` grows with every change; `wake` is the market time of the
-- next event.
create table journal_head (
    account_id bigint not null primary key references account (id),
    revision bigint not null,
    last_number bigint not null,
    horizon bigint not null,
    wake bigint,
    seal bigint not null default 0
) without rowid;
create index journal_head_wake on journal_head (wake);

-- The state after an entry, for speed: may be deleted at any time. Other programs' `format` is
-- ignored.
create table journal_snapshot (
    account_id bigint not null primary key references account (id),
    number bigint not null,
    format text not null,
    state blob not null,
    seal bigint not null default 0
) without rowid;

-- Idempotency keys of requests, with the answers.
create table journal_request (
    account_id bigint not null references account (id),
    name text not null,
    answer text not null,
    at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, name)
) without rowid;
create index journal_request_at on journal_request (at);

-- Rewinds, and the entries that they removed.
create table journal_cut (
    account_id bigint not null references account (id),
    name text not null,
    rewound_to bigint not null,
    horizon bigint not null,
    cut_at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, name)
) without rowid;

create table journal_cut_entry (
    account_id bigint not null,
    name text not null,
    number bigint not null,
    at bigint not null,
    entry text not null,
    seal bigint not null default 0,
    primary key (account_id, name, number)
) without rowid;

-- Contributions of paper accounts to levels. Derived from the journals: may be deleted at any time.
-- Amounts are in ten-thousandths at the end of a day in Hong Kong, negative for debts.
create table paper_asset (
    account_id bigint not null references account (id),
    day text not null,
    currency text not null,
    amount bigint not null,
    seal bigint not null default 0,
    primary key (account_id, day, currency)
) without rowid;

-- Orders by the day of their first fill.
create table paper_order_count (
    account_id bigint not null references account (id),
    day text not null,
    orders bigint not null,
    seal bigint not null default 0,
    primary key (account_id, day)
) without rowid;

-- The market day and the journal era of the last computation.
create table paper_tally (
    account_id bigint not null primary key references account (id),
    day text not null,
    era bigint not null,
    seal bigint not null default 0
) without rowid;

-- Statements of paper accounts; never changed. `kind` 1 is of a day, 2 of a month; `day` is the
-- last one.
create table statement (
    account_id bigint not null references account (id),
    kind bigint not null,
    day text not null,
    made_at bigint not null,
    document blob not null,
    seal bigint not null default 0,
    primary key (account_id, kind, day)
) without rowid;

-- When the next statement is due. Derived: may be deleted at any time.
create table statement_due (
    account_id bigint not null primary key references account (id),
    next_at bigint not null,
    seal bigint not null default 0
) without rowid;

-- Followed securities, with the price at that time. Places ascend, and may have gaps.
create table watched_security (
    account_id bigint not null references account (id),
    symbol text not null,
    watched_at bigint not null,
    price text,
    pinned bigint not null,
    place bigint not null,
    seal bigint not null default 0,
    primary key (account_id, symbol)
) without rowid;

create table watchlist_group (
    id integer not null primary key,
    account_id bigint not null references account (id),
    name text not null,
    seal bigint not null default 0
);
create index watchlist_group_account on watchlist_group (account_id);

create table watchlist_member (
    account_id bigint not null references account (id),
    group_id bigint not null references watchlist_group (id),
    symbol text not null,
    place bigint not null,
    seal bigint not null default 0,
    primary key (account_id, group_id, symbol)
) without rowid;
create index watchlist_member_group on watchlist_member (group_id);

-- `tickers` and `hashtags` have one item per line. Hidden topics have a time and a reason. Replies
-- share the ids.
create table topic (
    id bigint not null primary key,
    account_id bigint not null references account (id),
    kind text not null,
    title text not null,
    description text not null,
    body text not null,
    tickers text not null,
    hashtags text not null,
    created_at bigint not null,
    hidden_at bigint,
    hidden_because text,
    replies bigint not null default 0,
    views bigint not null default 0,
    seal bigint not null default 0
) without rowid;
create index topic_author on topic (account_id, id);

create table topic_symbol (
    symbol text not null,
    topic_id bigint not null references topic (id),
    seal bigint not null default 0,
    primary key (symbol, topic_id)
) without rowid;

create table topic_view (
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    seal bigint not null default 0,
    primary key (topic_id, account_id)
) without rowid;

-- `reply_to_id` is null for a reply to the topic.
create table topic_reply (
    id bigint not null primary key,
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    reply_to_id bigint,
    body text not null,
    created_at bigint not null,
    hidden_at bigint,
    hidden_because text,
    replies bigint not null default 0,
    seal bigint not null default 0
) without rowid;
create index topic_reply_topic on topic_reply (topic_id, id);
create index topic_reply_author on topic_reply (account_id, id);
create index topic_reply_author_topic on topic_reply (account_id, topic_id, id);

-- One-time links that sign the user of this machine in. Only the process `server` accepts its link.
-- Rows stay after use, so that a second use is recognised.
create table sign_in_link (
    hash blob not null primary key,
    account_id bigint not null references account (id),
    server text not null,
    next text not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint,
    seal bigint not null default 0
) without rowid;
create index sign_in_link_expiry on sign_in_link (expires_at);
create index sign_in_link_account on sign_in_link (account_id);

-- Worlds: accounts with a market clock of their own. `now_at` is where the clock stands, or was
-- when it was last stored. `settings` is text that only the server interprets. `digest` is the hash
-- over everything that the world has done. `ended_at` is the machine time at which a server noticed
-- that the world has ended; null while it has not.
create table world (
    account_id bigint not null primary key references account (id),
    id bigint not null,
    owner_id bigint not null references account (id),
    name text not null,
    state text not null,
    starts_at bigint not null,
    ends_at bigint not null,
    now_at bigint not null,
    step bigint not null,
    settings text not null,
    digest blob not null,
    created_at bigint not null,
    seal bigint not null default 0,
    ended_at bigint
) without rowid;
create unique index world_name on world (owner_id, name);

-- The log of each world. Lines are numbered without gaps from 1. `step` and `entries` are the last
-- step and the last journal entry of the account up to the line, and `digest` is the hash over all
-- lines up to the line.
create table world_line (
    account_id bigint not null references account (id),
    number bigint not null,
    at bigint not null,
    step bigint not null,
    entries bigint not null,
    kind text not null,
    entry text not null,
    request text not null,
    digest blob not null,
    seal bigint not null default 0,
    primary key (account_id, number)
) without rowid;
