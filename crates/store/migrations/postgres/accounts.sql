-- Accounts, their credentials and usage, paper accounts, watchlists and the community, and the
-- state that several servers share. Text has the collation "C", as in the schema of the candles.

-- The next id of each kind. `version` grows with each change of accounts, not with their usage. The
-- first thousand watchlist ids are reserved: 1 is the group of all securities of every account.
create table counter (
    name text collate "C" not null primary key,
    next bigint not null
);
insert into counter (name, next) values
    ('account', 1), ('audit', 1), ('topic', 1), ('watchlist', 1001), ('world', 1), ('version', 0);

-- Raising `epoch` ends all sessions. `level` 0 is earned by assets and orders, 1 to 6 are set by
-- the operator. A null `quota` follows the level; null `rate`, `floors` and `api_date` follow the
-- server. `password` is an Argon2id hash; null: no sign-in to the pages. `subscriptions` is the
-- most distinct securities that an account subscribes to on all its connections.
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
    connections bigint not null,
    role text collate "C" not null default 'user',
    password text collate "C",
    floors text collate "C",
    read_only bigint not null default 0,
    api_date text collate "C",
    subscriptions bigint not null default 500
);

-- The app secret is encrypted, because checking a signature needs the secret itself; of the token
-- there is a hash.
create table credential (
    app_key text collate "C" not null primary key,
    account_id bigint not null references account (id),
    app_secret bytea not null,
    token_hash bytea not null unique,
    token_expires_at bigint not null,
    created_at bigint not null
);
create index credential_account on credential (account_id);

-- Symbols charged in a month, each once.
create table usage (
    account_id bigint not null references account (id),
    month text collate "C" not null,
    symbol text collate "C" not null,
    first_at bigint not null,
    primary key (account_id, month, symbol)
);

-- Granted market data: `HK`, `US`, `US_OVERNIGHT`, `CN`, `SG`, `US_OPTIONS`. Null: no limit in
-- time.
create table quote_right (
    account_id bigint not null references account (id),
    package text collate "C" not null,
    starts_at bigint,
    ends_at bigint,
    primary key (account_id, package)
);

-- `assets` (HKD) must be reached, or `orders` of a month exceeded; null: not possible this way.
create table level (
    number bigint not null primary key,
    quota bigint not null,
    assets bigint,
    orders bigint
);
insert into level (number, quota, assets, orders) values
    (1, 100, null, null), (2, 400, 10000, null), (3, 600, 80000, null),
    (4, 1000, 400000, 160), (5, 2000, 4000000, 1600), (6, 3000, 6000000, 2500);

-- Reported assets at the end of a day, in ten-thousandths. A day without rows has those of the last
-- day before.
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

-- Completed orders of a day, reported as a number.
create table order_count (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    orders bigint not null,
    primary key (account_id, day)
);

-- Completed orders, reported one by one.
create table completed_order (
    account_id bigint not null references account (id),
    order_id text collate "C" not null,
    day text collate "C" not null,
    primary key (account_id, order_id)
);
create index completed_order_day on completed_order (account_id, day);

-- The last recorded level, so that each change is recorded once.
create table level_seen (
    account_id bigint not null primary key references account (id),
    level bigint not null,
    since text collate "C" not null
);

-- The audit log; no secrets. `actor` is `operator`, `service`, `account 7` or `client …`.
create table audit (
    id bigint not null primary key,
    at bigint not null,
    actor text collate "C" not null,
    account_id bigint,
    event text collate "C" not null,
    reason text collate "C" not null
);
create index audit_account on audit (account_id, id);

-- Redirect addresses and grant types have one item per line. `used_at`: the last approval.
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

-- `state` is `pending`, `approved`, `denied` or `redeemed`. `redeemed_by` distinguishes two pollers
-- of one client.
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

-- Rows stay after use, so that a second use is recognised; `family` is the token family of the
-- first.
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

-- Tokens of one approval share a `family` and end together. `replaced_at`: when a refresh token was
-- used.
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

-- Sessions of the pages, by the hash of the cookie.
create table browser_session (
    hash bytea not null primary key,
    account_id bigint not null references account (id),
    created_at bigint not null,
    expires_at bigint not null
);
create index browser_session_expiry on browser_session (expires_at);
create index browser_session_account on browser_session (account_id);

-- Replaced access tokens of API keys. They remain valid for a while, in case the response was lost.
create table replaced_token (
    hash bytea not null primary key,
    app_key text collate "C" not null references credential (app_key),
    good_until bigint not null
);
create index replaced_token_key on replaced_token (app_key);
create index replaced_token_until on replaced_token (good_until);

-- Journals of paper accounts, numbered from 1 without gaps. Only the crate `trading` knows the
-- entries.
create table journal (
    account_id bigint not null references account (id),
    number bigint not null,
    at bigint not null,
    entry text collate "C" not null,
    primary key (account_id, number)
);

-- The end of each journal. `revision` grows with every change; `wake` is the market time of the
-- next event.
create table journal_head (
    account_id bigint not null primary key references account (id),
    revision bigint not null,
    last_number bigint not null,
    horizon bigint not null,
    wake bigint
);
create index journal_head_wake on journal_head (wake);

-- The state after an entry, for speed: may be deleted at any time. Other programs' `format` is
-- ignored.
create table journal_snapshot (
    account_id bigint not null primary key references account (id),
    number bigint not null,
    format text collate "C" not null,
    state bytea not null
);

-- Idempotency keys of requests, with the answers.
create table journal_request (
    account_id bigint not null references account (id),
    name text collate "C" not null,
    answer text collate "C" not null,
    at bigint not null,
    primary key (account_id, name)
);
create index journal_request_at on journal_request (at);

-- Rewinds, and the entries that they removed.
create table journal_cut (
    account_id bigint not null references account (id),
    name text collate "C" not null,
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

-- Contributions of paper accounts to levels. Derived from the journals: may be deleted at any time.
-- Amounts are in ten-thousandths at the end of a day in Hong Kong, negative for debts.
create table paper_asset (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    currency text collate "C" not null,
    amount bigint not null,
    primary key (account_id, day, currency)
);

-- Orders by the day of their first fill.
create table paper_order_count (
    account_id bigint not null references account (id),
    day text collate "C" not null,
    orders bigint not null,
    primary key (account_id, day)
);

-- The market day and the journal era of the last computation.
create table paper_tally (
    account_id bigint not null primary key references account (id),
    day text collate "C" not null,
    era bigint not null
);

-- Statements of paper accounts; never changed. `kind` 1 is of a day, 2 of a month; `day` is the
-- last one.
create table statement (
    account_id bigint not null references account (id),
    kind bigint not null,
    day text collate "C" not null,
    made_at bigint not null,
    document bytea not null,
    primary key (account_id, kind, day)
);

-- When the next statement is due. Derived: may be deleted at any time.
create table statement_due (
    account_id bigint not null primary key references account (id),
    next_at bigint not null
);

-- Followed securities, with the price at that time. Places ascend, and may have gaps.
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

-- `tickers` and `hashtags` have one item per line. Hidden topics have a time and a reason. Replies
-- share the ids.
create table topic (
    id bigint not null primary key,
    account_id bigint not null references account (id),
    kind text collate "C" not null,
    title text collate "C" not null,
    description text collate "C" not null,
    body text collate "C" not null,
    tickers text collate "C" not null,
    hashtags text collate "C" not null,
    created_at bigint not null,
    hidden_at bigint,
    hidden_because text collate "C",
    replies bigint not null default 0,
    views bigint not null default 0
);
create index topic_author on topic (account_id, id);

create table topic_symbol (
    symbol text collate "C" not null,
    topic_id bigint not null references topic (id),
    primary key (symbol, topic_id)
);

create table topic_view (
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    primary key (topic_id, account_id)
);

-- `reply_to_id` is null for a reply to the topic.
create table topic_reply (
    id bigint not null primary key,
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    reply_to_id bigint,
    body text collate "C" not null,
    created_at bigint not null,
    hidden_at bigint,
    hidden_because text collate "C",
    replies bigint not null default 0
);
create index topic_reply_topic on topic_reply (topic_id, id);
create index topic_reply_author on topic_reply (account_id, id);
create index topic_reply_author_topic on topic_reply (account_id, topic_id, id);

-- One-time links that sign the user of this machine in. Only the process `server` accepts its link.
-- Rows stay after use, so that a second use is recognised.
create table sign_in_link (
    hash bytea not null primary key,
    account_id bigint not null references account (id),
    server text collate "C" not null,
    next text collate "C" not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint
);
create index sign_in_link_expiry on sign_in_link (expires_at);
create index sign_in_link_account on sign_in_link (account_id);

-- Write locks: a change of one account locks the row `account % 16`, any other change all rows in
-- order.
create table gate (
    number bigint not null primary key
);
insert into gate (number) select number from generate_series(0, 15) as number;

-- Account locks of paper accounts: the row `account % 256`.
create table turn (
    number bigint not null primary key
);
insert into turn (number) select high.number * 16 + low.number from gate high cross join gate low;

-- A sequence, because a counter row would serialise changes of different accounts. Rolled-back ids
-- are missing.
create sequence audit_id;

-- As in the schema of the candles. From here on: state that with SQLite is in the memory of the one
-- process. Times in microseconds are of the database's clock. Nodes remove expired rows.
create table lease (
    name text collate "C" not null primary key,
    holder text collate "C" not null,
    until_us bigint not null
);

-- Running servers. One not seen for 15 s does not count. `incarnation` is not used any more: it is
-- empty, and stays for stores that were created before.
create table node (
    id bytea not null primary key,
    name text collate "C" not null,
    started_us bigint not null,
    seen_us bigint not null,
    incarnation text collate "C" not null
) with (fillfactor = 50);

-- Times of the last admitted history requests: newest first, 8 bytes each, big-endian. Not
-- compressed: that costs more than the decision.
create table rate_window (
    account_id bigint not null primary key,
    times bytea not null
) with (fillfactor = 30);
alter table rate_window alter column times set storage external;

-- Token buckets of quote commands: when the bucket is full again.
create table call_bucket (
    account_id bigint not null primary key,
    full_us bigint not null
) with (fillfactor = 50);

-- Other rate windows, by address, by account, or overall. No index on `until_us`: every request
-- changes it, and updates then could not stay within the page.
create table pace (
    kind text collate "C" not null,
    key text collate "C" not null,
    times bytea not null,
    until_us bigint not null,
    primary key (kind, key)
) with (fillfactor = 50);

-- Unused one-time passwords. Expired ones stay for ten minutes, to be distinguished from unknown
-- ones.
create table one_time_password (
    hash bytea not null primary key,
    account_id bigint not null,
    caller bytea not null,
    issued_us bigint not null
);
create index one_time_password_account on one_time_password (account_id, issued_us);
create index one_time_password_issued on one_time_password (issued_us);

-- Signed-in connections of nodes. `lineage` is the same for successive connections of a client. A
-- silent connection may lose its slot to another; one with an `ending` is to be closed, and is not
-- counted.
create sequence seat_id;
create table seat (
    id bigint not null primary key,
    account_id bigint not null,
    node bytea not null,
    lineage bytea not null,
    door text collate "C" not null,
    address text collate "C" not null,
    since bigint not null,
    is_silent boolean not null default false,
    ending text collate "C"
);
create index seat_account on seat (account_id);
create index seat_node on seat (node);
create index seat_ending on seat (node) where ending is not null;

-- Securities that signed-in connections subscribe to.
create table subscription (
    seat bigint not null references seat (id) on delete cascade,
    symbol text collate "C" not null,
    primary key (seat, symbol)
);

-- Accounts that lost something (rights, tokens, terms), by version: nodes drop what they have
-- cached of them.
create table withdrawal (
    version bigint not null,
    account_id bigint not null,
    at_us bigint not null,
    primary key (version, account_id)
);

-- The gateway of a client, for reconnects that do not name it.
create table session (
    lineage bytea not null primary key,
    gateway text collate "C" not null,
    seen_us bigint not null
) with (fillfactor = 80);
create index session_seen on session (seen_us);

-- Signatures of changes, each valid once.
create table signature (
    fingerprint bytea not null primary key,
    app_key bytea not null,
    first_at bigint not null,
    until_at bigint not null
);
create index signature_until on signature (until_at);
create index signature_key on signature (app_key, until_at);

-- Failed sign-ins, their queue, known addresses, and device polls. The rows `lock` are locked while
-- a sign-in is checked, by a hash of name and address.
create table guard (
    kind text collate "C" not null,
    key text collate "C" not null,
    number bigint not null,
    at_us bigint not null,
    until_us bigint not null,
    primary key (kind, key)
) with (fillfactor = 70);
create index guard_until on guard (until_us);
insert into guard (kind, key, number, at_us, until_us)
select 'lock', cast(number as text), 0, 0, 9223372036854775807 from generate_series(0, 15) as number;

-- The fingerprint of the key of app secrets. The key itself is in a file of every node.
create table sealing_key (
    number bigint not null primary key check (number = 1),
    fingerprint bytea not null
);

-- Candles that arrived late, and the market time from which they are effective instead. For a week.
create table arrival (
    symbol text collate "C" not null,
    session bigint not null,
    stamp bigint not null,
    arrived_at bigint not null,
    primary key (symbol, session, stamp)
);
create index arrival_at on arrival (arrived_at);

-- Worlds: accounts with a market clock of their own. `now_at` is where the clock stands, or was
-- when it was last stored. `settings` is text that only the server interprets. `digest` is the hash
-- over everything that the world has done. `ended_at` is the machine time at which a server noticed
-- that the world has ended; null while it has not.
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
    created_at bigint not null,
    ended_at bigint
);
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
    kind text collate "C" not null,
    entry text collate "C" not null,
    request text collate "C" not null,
    digest bytea not null,
    primary key (account_id, number)
);
