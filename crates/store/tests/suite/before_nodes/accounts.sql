-- accounts.db as it was before stores could be on PostgreSQL, dumped by SQLite's own `iterdump`.
PRAGMA application_id = 1128812100;
BEGIN TRANSACTION;
CREATE TABLE account (
    id integer not null primary key,
    name text not null unique,
    region text not null,
    created_at bigint not null,
    revoked_at bigint,
    epoch bigint not null,
    level bigint not null,
    quota bigint,
    rate text,
    connections bigint not null
, role text not null default 'user', password text, seal bigint not null default 0, floors text, read_only bigint not null default 0, api_date text);
INSERT INTO "account" VALUES(1,'ann','ap',1763200000,NULL,0,0,NULL,NULL,10,'user','hash',-4669488998594506935,NULL,0,NULL);
INSERT INTO "account" VALUES(2,'bob','ap',1763200000,1763200000,1,0,NULL,NULL,10,'user',NULL,-4677617611644973818,NULL,0,NULL);
CREATE TABLE asset (
    account_id bigint not null references account (id),
    day text not null,
    currency text not null,
    amount bigint not null, seal bigint not null default 0,
    primary key (account_id, day, currency)
) without rowid;
CREATE TABLE audit (
    id integer not null primary key,
    at bigint not null,
    actor text not null,
    account_id bigint,
    event text not null,
    reason text not null
, seal bigint not null default 0);
INSERT INTO "audit" VALUES(1,1763200000,'operator',1,'account.created','a test',5781251259327004253);
INSERT INTO "audit" VALUES(2,1763200000,'operator',2,'account.created','a test',4007948073692365617);
INSERT INTO "audit" VALUES(3,1763200000,'account 1',1,'quota.spent','700.HK is 1 of 3 in 2025-11',5493789139619638778);
INSERT INTO "audit" VALUES(4,1763200000,'operator',1,'password.set','a test',595043207091992629);
INSERT INTO "audit" VALUES(5,1763200000,'operator',1,'login.accepted','a test',2245843836482148481);
INSERT INTO "audit" VALUES(6,1763200000,'operator',1,'right.granted','a test',7467122152319840898);
INSERT INTO "audit" VALUES(7,1763200000,'operator',2,'account.revoked','a test',314639767085574676);
CREATE TABLE authorization_code (
    code_hash blob not null primary key,
    client_id text not null references oauth_client (id) on delete cascade,
    account_id bigint not null references account (id),
    redirect_uri text not null,
    scope text not null,
    challenge text,
    family text,
    created_at bigint not null,
    expires_at bigint not null
, seal bigint not null default 0);
CREATE TABLE browser_session (
    hash blob not null primary key,
    account_id bigint not null references account (id),
    created_at bigint not null,
    expires_at bigint not null
, seal bigint not null default 0);
INSERT INTO "browser_session" VALUES(X'0101010101010101010101010101010101010101010101010101010101010101',1,1763200000,1763201000,5470003659436927393);
CREATE TABLE completed_order (
    account_id bigint not null references account (id),
    order_id text not null,
    day text not null, seal bigint not null default 0,
    primary key (account_id, order_id)
) without rowid;
CREATE TABLE counter (
    name text not null primary key,
    next bigint not null
, seal bigint not null default 0) without rowid;
INSERT INTO "counter" VALUES('account',3,7298213806436186548);
INSERT INTO "counter" VALUES('audit',8,5510090440701340707);
INSERT INTO "counter" VALUES('topic',1,-5077239070389564796);
INSERT INTO "counter" VALUES('version',4,5115561544748083904);
INSERT INTO "counter" VALUES('watchlist',1002,-3046787746904391524);
CREATE TABLE credential (
    app_key text not null primary key,
    account_id bigint not null references account (id),
    app_secret blob not null,
    token_hash blob not null unique,
    token_expires_at bigint not null,
    created_at bigint not null
, seal bigint not null default 0);
INSERT INTO "credential" VALUES('key of ann',1,X'010203',X'0101010101010101010101010101010101010101010101010101010101010101',1763201000,1763200000,-1146759689528131536);
INSERT INTO "credential" VALUES('key of bob',2,X'010203',X'0202020202020202020202020202020202020202020202020202020202020202',1763201000,1763200000,4986624474975114027);
CREATE TABLE device_grant (
    device_hash blob not null primary key,
    user_hash blob not null unique,
    client_id text not null references oauth_client (id) on delete cascade,
    scope text not null,
    state text not null,
    account_id bigint references account (id),
    redeemed_by text,
    created_at bigint not null,
    expires_at bigint not null
, seal bigint not null default 0);
CREATE TABLE exchange_rate (
    currency text not null,
    day text not null,
    rate bigint not null, seal bigint not null default 0,
    primary key (currency, day)
) without rowid;
CREATE TABLE journal (
    account_id bigint not null references account (id),
    number bigint not null,
    -- The market's time, in seconds.
    at bigint not null,
    entry text not null,
    seal bigint not null default 0,
    primary key (account_id, number)
) without rowid;
INSERT INTO "journal" VALUES(1,1,5,'opened',7651283698346120024);
INSERT INTO "journal" VALUES(1,2,9,'bought',-3768030324164087918);
CREATE TABLE journal_cut (
    account_id bigint not null references account (id),
    name text not null,
    -- The market's time that was gone back to, the horizon before, and the machine's time.
    rewound_to bigint not null,
    horizon bigint not null,
    cut_at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, name)
) without rowid;
CREATE TABLE journal_cut_entry (
    account_id bigint not null,
    name text not null,
    number bigint not null,
    at bigint not null,
    entry text not null,
    seal bigint not null default 0,
    primary key (account_id, name, number)
) without rowid;
CREATE TABLE journal_head (
    account_id bigint not null primary key references account (id),
    revision bigint not null,
    last_number bigint not null,
    horizon bigint not null,
    -- The market's time at which something may happen to the account by itself; null where nothing can, or nobody waits for it.
    wake bigint,
    seal bigint not null default 0
) without rowid;
INSERT INTO "journal_head" VALUES(1,1,2,9,20,-5363166053685696830);
CREATE TABLE journal_request (
    account_id bigint not null references account (id),
    name text not null,
    answer text not null,
    at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, name)
) without rowid;
INSERT INTO "journal_request" VALUES(1,'r1','order 1',1763200000,-8213534960918804239);
CREATE TABLE journal_snapshot (
    account_id bigint not null primary key references account (id),
    number bigint not null,
    -- Which version of the state it is; another program's is of no use.
    format text not null,
    state blob not null,
    seal bigint not null default 0
) without rowid;
CREATE TABLE level (
    number bigint not null primary key,
    quota bigint not null,
    assets bigint,
    orders bigint
, seal bigint not null default 0);
INSERT INTO "level" VALUES(1,100,NULL,NULL,-8053620165973387708);
INSERT INTO "level" VALUES(2,400,10000,NULL,-7875440390250724760);
INSERT INTO "level" VALUES(3,600,80000,NULL,712795389020814775);
INSERT INTO "level" VALUES(4,1000,400000,160,-4999189200362501917);
INSERT INTO "level" VALUES(5,2000,4000000,1600,-4708407001790314294);
INSERT INTO "level" VALUES(6,3000,6000000,2500,-5808528730788772845);
CREATE TABLE level_seen (
    account_id bigint not null primary key references account (id),
    level bigint not null,
    since text not null
, seal bigint not null default 0);
CREATE TABLE migration (
    version bigint not null primary key, name text not null, digest blob not null, applied_at bigint not null);
INSERT INTO "migration" VALUES(1,'accounts',X'B71832F9C9663E5CAE1D68A9C752C81ABFF4E5ADCD73C665E19B981E52203A9D',1763200000);
INSERT INTO "migration" VALUES(2,'access',X'A184A772DF5830937D14C6CD2AE792C9847C9BCBEFD5468CDF99EF48F6DBF644',1763200000);
INSERT INTO "migration" VALUES(3,'seals',X'1217568D76FE2B59A1CEC4215F53710702D3726AE86DE27620ACA801C64FD41E',1763200000);
INSERT INTO "migration" VALUES(4,'floors',X'5F4B1CB2E1C55C13C6096E24B481EF72441C34179F8ED8B74C6E0AB6E41EBCFD',1763200000);
INSERT INTO "migration" VALUES(5,'journal',X'B9A89365CCCD42DED69FAD67C68159857265C0EE6F2A7AA7DD1A1025E2A19F1E',1763200000);
INSERT INTO "migration" VALUES(6,'paper_levels',X'8D85DC2DC18E490D1514AA945EE6CBCC31814AE057DA69359D9B72C126B1268C',1763200000);
INSERT INTO "migration" VALUES(7,'statements',X'6030C8F5AFFA72C011BB698B13687DEE8C46F6DE3B23EAFDCFBCEF1EA56E66D0',1763200000);
INSERT INTO "migration" VALUES(8,'watchlists',X'7E0E50CFA5D9DCE9375563EAFDD9CE26BE14833436FC03EA401617DAB1BA550C',1763200000);
INSERT INTO "migration" VALUES(9,'topics',X'97A05592BA0F0A3076F8A8B3CED0F21772A7206558A6D1AC4C110E2E5A238147',1763200000);
INSERT INTO "migration" VALUES(10,'api_date',X'0E3576BC80D013F855A6C2E8DE167B9C4BE98DDD3D8CF2CF38CDA86CDD79A77A',1763200000);
INSERT INTO "migration" VALUES(11,'sign_in_links',X'39B721EB9A1AFFB61A60E354596CD219753951C30F91240F92906885B4FA6FD9',1763200000);
CREATE TABLE oauth_client (
    id text not null primary key,
    name text not null,
    redirect_uris text not null,
    grant_types text not null,
    auth_method text not null,
    secret_hash blob,
    registration_hash blob not null,
    created_at bigint not null,
    used_at bigint
, seal bigint not null default 0);
CREATE TABLE oauth_token (
    hash blob not null primary key,
    kind text not null,
    family text not null,
    client_id text not null references oauth_client (id) on delete cascade,
    account_id bigint not null references account (id),
    scope text not null,
    begun_at bigint not null,
    issued_at bigint not null,
    expires_at bigint not null,
    replaced_at bigint
, seal bigint not null default 0);
CREATE TABLE order_count (
    account_id bigint not null references account (id),
    day text not null,
    orders bigint not null, seal bigint not null default 0,
    primary key (account_id, day)
) without rowid;
CREATE TABLE paper_asset (
    account_id bigint not null references account (id),
    day text not null,
    currency text not null,
    amount bigint not null,
    seal bigint not null default 0,
    primary key (account_id, day, currency)
) without rowid;
CREATE TABLE paper_order_count (
    account_id bigint not null references account (id),
    day text not null,
    orders bigint not null,
    seal bigint not null default 0,
    primary key (account_id, day)
) without rowid;
CREATE TABLE paper_tally (
    account_id bigint not null primary key references account (id),
    day text not null,
    era bigint not null,
    seal bigint not null default 0
) without rowid;
CREATE TABLE quote_right (
    account_id bigint not null references account (id),
    package text not null,
    starts_at bigint,
    ends_at bigint, seal bigint not null default 0,
    primary key (account_id, package)
) without rowid;
INSERT INTO "quote_right" VALUES(1,'HK',1763200000,NULL,4404578902444235749);
INSERT INTO "quote_right" VALUES(1,'US',1763200000,NULL,928732050588631507);
INSERT INTO "quote_right" VALUES(2,'HK',1763200000,NULL,-9191374221181543408);
CREATE TABLE replaced_token (
    hash blob not null primary key,
    app_key text not null references credential (app_key),
    good_until bigint not null
, seal bigint not null default 0) without rowid;
CREATE TABLE sealed_table (
    name text not null primary key,
    key_columns text not null,
    columns text not null,
    indexed_columns text not null,
    row_count bigint not null
) without rowid;
INSERT INTO "sealed_table" VALUES('account','id','id, name, region, created_at, revoked_at, epoch, level, quota, rate, connections, role, password, floors, read_only, api_date','id, name',2);
INSERT INTO "sealed_table" VALUES('asset','account_id, day, currency','account_id, day, currency, amount','account_id, day, currency',0);
INSERT INTO "sealed_table" VALUES('audit','id','id, at, actor, account_id, event, reason','id, account_id',7);
INSERT INTO "sealed_table" VALUES('authorization_code','code_hash','code_hash, client_id, account_id, redirect_uri, scope, challenge, family, created_at, expires_at','code_hash, client_id, expires_at',0);
INSERT INTO "sealed_table" VALUES('browser_session','hash','hash, account_id, created_at, expires_at','hash, account_id, expires_at',1);
INSERT INTO "sealed_table" VALUES('completed_order','account_id, order_id','account_id, order_id, day','account_id, order_id, day',0);
INSERT INTO "sealed_table" VALUES('counter','name','name, next','name',5);
INSERT INTO "sealed_table" VALUES('credential','app_key','app_key, account_id, app_secret, token_hash, token_expires_at, created_at','app_key, account_id, token_hash',2);
INSERT INTO "sealed_table" VALUES('device_grant','device_hash','device_hash, user_hash, client_id, scope, state, account_id, redeemed_by, created_at, expires_at','device_hash, user_hash, client_id, state, created_at, expires_at',0);
INSERT INTO "sealed_table" VALUES('exchange_rate','currency, day','currency, day, rate','currency, day',0);
INSERT INTO "sealed_table" VALUES('journal','account_id, number','account_id, number, at, entry','account_id, number',2);
INSERT INTO "sealed_table" VALUES('journal_cut','account_id, name','account_id, name, rewound_to, horizon, cut_at','account_id, name',0);
INSERT INTO "sealed_table" VALUES('journal_cut_entry','account_id, name, number','account_id, name, number, at, entry','account_id, name, number',0);
INSERT INTO "sealed_table" VALUES('journal_head','account_id','account_id, revision, last_number, horizon, wake','account_id, wake',1);
INSERT INTO "sealed_table" VALUES('journal_request','account_id, name','account_id, name, answer, at','account_id, name, at',1);
INSERT INTO "sealed_table" VALUES('journal_snapshot','account_id','account_id, number, format, state','account_id',0);
INSERT INTO "sealed_table" VALUES('level','number','number, quota, assets, orders','number',6);
INSERT INTO "sealed_table" VALUES('level_seen','account_id','account_id, level, since','account_id',0);
INSERT INTO "sealed_table" VALUES('oauth_client','id','id, name, redirect_uris, grant_types, auth_method, secret_hash, registration_hash, created_at, used_at','id, used_at',0);
INSERT INTO "sealed_table" VALUES('oauth_token','hash','hash, kind, family, client_id, account_id, scope, begun_at, issued_at, expires_at, replaced_at','hash, family, client_id, account_id, expires_at',0);
INSERT INTO "sealed_table" VALUES('order_count','account_id, day','account_id, day, orders','account_id, day',0);
INSERT INTO "sealed_table" VALUES('paper_asset','account_id, day, currency','account_id, day, currency, amount','account_id, day, currency',0);
INSERT INTO "sealed_table" VALUES('paper_order_count','account_id, day','account_id, day, orders','account_id, day',0);
INSERT INTO "sealed_table" VALUES('paper_tally','account_id','account_id, day, era','account_id',0);
INSERT INTO "sealed_table" VALUES('quote_right','account_id, package','account_id, package, starts_at, ends_at','account_id, package',3);
INSERT INTO "sealed_table" VALUES('replaced_token','hash','hash, app_key, good_until','hash, app_key, good_until',0);
INSERT INTO "sealed_table" VALUES('sign_in_link','hash','hash, account_id, server, next, created_at, expires_at, used_at','hash, account_id, expires_at',0);
INSERT INTO "sealed_table" VALUES('statement','account_id, kind, day','account_id, kind, day, made_at, document','account_id, kind, day',0);
INSERT INTO "sealed_table" VALUES('statement_due','account_id','account_id, next_at','account_id',0);
INSERT INTO "sealed_table" VALUES('topic','id','id, account_id, kind, title, description, body, tickers, hashtags, created_at, hidden_at, hidden_because, replies, views','id, account_id',0);
INSERT INTO "sealed_table" VALUES('topic_reply','id','id, topic_id, account_id, reply_to_id, body, created_at, hidden_at, hidden_because, replies','id, topic_id, account_id',0);
INSERT INTO "sealed_table" VALUES('topic_symbol','symbol, topic_id','symbol, topic_id','symbol, topic_id',0);
INSERT INTO "sealed_table" VALUES('topic_view','topic_id, account_id','topic_id, account_id','topic_id, account_id',0);
INSERT INTO "sealed_table" VALUES('usage','account_id, month, symbol','account_id, month, symbol, first_at','account_id, month, symbol',1);
INSERT INTO "sealed_table" VALUES('watched_security','account_id, symbol','account_id, symbol, watched_at, price, pinned, place','account_id, symbol',1);
INSERT INTO "sealed_table" VALUES('watchlist_group','id','id, account_id, name','id, account_id',1);
INSERT INTO "sealed_table" VALUES('watchlist_member','account_id, group_id, symbol','account_id, group_id, symbol, place','account_id, group_id, symbol',1);
CREATE TABLE sign_in_link (
    hash blob not null primary key,
    account_id bigint not null references account (id),
    server text not null,
    next text not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint,
    seal bigint not null default 0
) without rowid;
CREATE TABLE statement (
    account_id bigint not null references account (id),
    -- 1 of a date, 2 of a month.
    kind bigint not null,
    -- The last date of it.
    day text not null,
    -- The market's time, in seconds.
    made_at bigint not null,
    -- What it says is known to the crate `paper` alone.
    document blob not null,
    seal bigint not null default 0,
    primary key (account_id, kind, day)
) without rowid;
CREATE TABLE statement_due (
    account_id bigint not null primary key references account (id),
    next_at bigint not null,
    seal bigint not null default 0
) without rowid;
CREATE TABLE topic (
    id bigint not null primary key,
    account_id bigint not null references account (id),
    kind text not null,
    title text not null,
    -- The beginning of the text, for lists.
    description text not null,
    body text not null,
    -- Symbols and words, one a line, in the order in which they are listed.
    tickers text not null,
    hashtags text not null,
    -- The machine's time.
    created_at bigint not null,
    -- Null where everybody may read it; else the machine's time, and the operator's reason.
    hidden_at bigint,
    hidden_because text,
    -- Replies that are not hidden, and accounts that have opened it, its author apart.
    replies bigint not null default 0,
    views bigint not null default 0,
    seal bigint not null default 0
) without rowid;
CREATE TABLE topic_reply (
    id bigint not null primary key,
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    -- The reply that it is a reply to; null where it is one to the topic.
    reply_to_id bigint,
    body text not null,
    created_at bigint not null,
    hidden_at bigint,
    hidden_because text,
    -- Replies to it that are not hidden.
    replies bigint not null default 0,
    seal bigint not null default 0
) without rowid;
CREATE TABLE topic_symbol (
    symbol text not null,
    topic_id bigint not null references topic (id),
    seal bigint not null default 0,
    primary key (symbol, topic_id)
) without rowid;
CREATE TABLE topic_view (
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    seal bigint not null default 0,
    primary key (topic_id, account_id)
) without rowid;
CREATE TABLE usage (
    account_id bigint not null references account (id),
    month text not null,
    symbol text not null,
    first_at bigint not null, seal bigint not null default 0,
    primary key (account_id, month, symbol)
) without rowid;
INSERT INTO "usage" VALUES(1,'2025-11','700.HK',1763200000,-5307268876923640580);
CREATE TABLE watched_security (
    account_id bigint not null references account (id),
    symbol text not null,
    watched_at bigint not null,
    price text,
    pinned bigint not null,
    place bigint not null,
    seal bigint not null default 0,
    primary key (account_id, symbol)
) without rowid;
INSERT INTO "watched_security" VALUES(1,'700.HK',1763200000,'305.20',1,1,-4967039567284310121);
CREATE TABLE watchlist_group (
    id integer not null primary key,
    account_id bigint not null references account (id),
    name text not null,
    seal bigint not null default 0
);
INSERT INTO "watchlist_group" VALUES(1001,1,'mine',1644431414756524021);
CREATE TABLE watchlist_member (
    account_id bigint not null references account (id),
    group_id bigint not null references watchlist_group (id),
    symbol text not null,
    place bigint not null,
    seal bigint not null default 0,
    primary key (account_id, group_id, symbol)
) without rowid;
INSERT INTO "watchlist_member" VALUES(1,1001,'700.HK',1,5934336431764614466);
CREATE INDEX credential_account on credential (account_id);
CREATE INDEX completed_order_day on completed_order (account_id, day);
CREATE INDEX audit_account on audit (account_id, id);
CREATE INDEX oauth_client_used on oauth_client (used_at);
CREATE INDEX device_grant_expiry on device_grant (expires_at);
CREATE INDEX device_grant_client on device_grant (client_id, state, created_at);
CREATE INDEX authorization_code_expiry on authorization_code (expires_at);
CREATE INDEX authorization_code_client on authorization_code (client_id);
CREATE INDEX oauth_token_family on oauth_token (family);
CREATE INDEX oauth_token_expiry on oauth_token (expires_at);
CREATE INDEX oauth_token_client on oauth_token (client_id);
CREATE INDEX oauth_token_account on oauth_token (account_id);
CREATE INDEX browser_session_expiry on browser_session (expires_at);
CREATE INDEX browser_session_account on browser_session (account_id);
CREATE INDEX replaced_token_key on replaced_token (app_key);
CREATE INDEX replaced_token_until on replaced_token (good_until);
CREATE INDEX journal_head_wake on journal_head (wake);
CREATE INDEX journal_request_at on journal_request (at);
CREATE INDEX watchlist_group_account on watchlist_group (account_id);
CREATE INDEX watchlist_member_group on watchlist_member (group_id);
CREATE INDEX topic_author on topic (account_id, id);
CREATE INDEX topic_reply_topic on topic_reply (topic_id, id);
CREATE INDEX topic_reply_author on topic_reply (account_id, id);
CREATE INDEX topic_reply_author_topic on topic_reply (account_id, topic_id, id);
CREATE INDEX sign_in_link_expiry on sign_in_link (expires_at);
CREATE INDEX sign_in_link_account on sign_in_link (account_id);
COMMIT;
