-- candles.db as it was before stores could be on PostgreSQL, dumped by SQLite's own `iterdump`.
PRAGMA application_id = 1128812100;
BEGIN TRANSACTION;
CREATE TABLE adjustment (
    symbol text not null primary key references security (symbol),
    factors blob not null
, seal bigint not null default 0);
INSERT INTO "adjustment" VALUES('700.HK',X'666163746F7273',-1525545983678807156);
CREATE TABLE block_body (
    id integer not null primary key,
    body blob not null
);
INSERT INTO "block_body" VALUES(1,X'302E2E3D39');
INSERT INTO "block_body" VALUES(2,X'31302E2E3D3139');
INSERT INTO "block_body" VALUES(3,X'33302E2E3D3339');
INSERT INTO "block_body" VALUES(4,X'302E2E3D39');
INSERT INTO "block_body" VALUES(5,X'32302E2E3D3239');
CREATE TABLE block_index (
    series_id bigint not null references series (id),
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references block_body (id), next_at bigint, tail blob, seal bigint not null default 0,
    primary key (series_id, first_at)
) without rowid;
INSERT INTO "block_index" VALUES(1,0,9,10,5,1,10,X'000000302E2E3D39',545561351406557563);
INSERT INTO "block_index" VALUES(1,10,19,10,7,2,30,X'0031302E2E3D3139',-1887959687940613559);
INSERT INTO "block_index" VALUES(1,30,39,10,7,3,NULL,X'0033302E2E3D3339',-6023616387470861568);
INSERT INTO "block_index" VALUES(2,0,9,10,5,4,20,X'000000302E2E3D39',-5229309544776309597);
INSERT INTO "block_index" VALUES(2,20,29,10,7,5,NULL,X'0032302E2E3D3239',3235785166177121678);
CREATE TABLE corporate_action (
    symbol text not null references security (symbol),
    ex_date text not null,
    cash text not null,
    split text not null,
    bonus text not null,
    rights text not null,
    rights_price text not null, seal bigint not null default 0, pay_date text,
    primary key (symbol, ex_date, cash, split, bonus, rights, rights_price)
) without rowid;
INSERT INTO "corporate_action" VALUES('700.HK','2024-05-17','3.4','1','0','0','0',7162232045888255359,NULL);
CREATE TABLE counter (
    name text not null primary key,
    next bigint not null
, seal bigint not null default 0) without rowid;
INSERT INTO "counter" VALUES('block',6,660989387767060884);
INSERT INTO "counter" VALUES('import',2,-4868672889189062255);
INSERT INTO "counter" VALUES('quarantine',2,-5397039313715494179);
INSERT INTO "counter" VALUES('series',3,-3196696165267299165);
INSERT INTO "counter" VALUES('trade',2,6868515286180993556);
INSERT INTO "counter" VALUES('version',3,-5546519662910155771);
CREATE TABLE import (
    id integer not null primary key,
    file text not null,
    digest blob not null,
    byte_count bigint not null,
    kind text not null,
    options text not null,
    state text not null,
    started_at bigint not null,
    finished_at bigint,
    rows_read bigint not null default 0,
    rows_done bigint not null default 0,
    added bigint not null default 0,
    replaced bigint not null default 0,
    unchanged bigint not null default 0,
    quarantined bigint not null default 0,
    message text
);
INSERT INTO "import" VALUES(1,'a.csv',X'0101010101010101010101010101010101010101010101010101010101010101',5,'candles','tz=HK','done',1763200000,1763200000,31,30,30,0,0,1,NULL);
CREATE TABLE import_change (
    import_id bigint not null references import (id),
    place bigint not null,
    symbol text not null,
    grain text not null,
    lane text not null,
    first_at bigint not null,
    last_at bigint not null,
    added blob not null,
    replaced blob not null,
    seal bigint not null default 0,
    primary key (import_id, place)
);
INSERT INTO "import_change" VALUES(1,1,'700.HK','1m','regular',0,39,X'0102',X'03',-4123420011397084929);
CREATE TABLE import_series (
    import_id bigint not null references import (id),
    symbol text not null references security (symbol),
    grain text not null,
    lane text not null,
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, grain, lane, import_id)
) without rowid;
INSERT INTO "import_series" VALUES(1,'700.HK','1m','regular',30,0,39);
CREATE TABLE import_trade (
    import_id bigint not null references import (id),
    symbol text not null references security (symbol),
    row_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    primary key (symbol, import_id)
) without rowid;
CREATE TABLE margin (
    symbol text not null primary key,
    im text not null,
    mm text not null,
    fm text not null,
    seal bigint not null default 0
) without rowid;
INSERT INTO "margin" VALUES('700.HK','0.35','0.3','0.25',8613608580439102862);
CREATE TABLE migration (
    version bigint not null primary key, name text not null, digest blob not null, applied_at bigint not null);
INSERT INTO "migration" VALUES(1,'candles',X'08AE53ED2C69A145DF91F13539A813B7A6FE61565843B4F894E50DD135BB90E0',1763200000);
INSERT INTO "migration" VALUES(2,'adjustment',X'E5B0CDEC3400DB8A286574D74FE84C46E5A6435568867EFA38654594AE286D43',1763200000);
INSERT INTO "migration" VALUES(3,'seals',X'6057A377F167FC797F5F28498A84FF2B71C0FAA04B455739C86286B387466434',1763200000);
INSERT INTO "migration" VALUES(4,'trading',X'9D35C5ADB6C9E1E18F89E709B76EA3A320C35C0345E07E231B017A22CC108CFB',1763200000);
INSERT INTO "migration" VALUES(5,'trades',X'620B23CA7D0F0DFC4A49F11A97744A67406417B2E9BB434A33D3DD562F724741',1763200000);
INSERT INTO "migration" VALUES(6,'own_grains',X'160FCD23E3432C997693829E3E4728B61B90FCF45D437BFC0D8968E26F6D48BD',1763200000);
INSERT INTO "migration" VALUES(7,'undo',X'A118C8A252FCDD055766A3E01A46636616C91F3B8221607F27CB1FC07F8ED94D',1763200000);
CREATE TABLE quarantine (
    id integer not null primary key,
    import_id bigint not null references import (id),
    line bigint not null,
    symbol text,
    content text not null,
    reason text not null
);
INSERT INTO "quarantine" VALUES(1,1,7,'700.HK','row 7','high is below low');
CREATE TABLE sealed_table (
    name text not null primary key,
    key_columns text not null,
    columns text not null,
    indexed_columns text not null,
    row_count bigint not null
) without rowid;
INSERT INTO "sealed_table" VALUES('adjustment','symbol','symbol, factors','symbol',1);
INSERT INTO "sealed_table" VALUES('block_index','series_id, first_at','series_id, first_at, last_at, row_count, byte_count, body_id, next_at, tail','series_id, first_at, body_id',5);
INSERT INTO "sealed_table" VALUES('corporate_action','symbol, ex_date, cash, split, bonus, rights, rights_price','symbol, ex_date, cash, split, bonus, rights, rights_price, pay_date','symbol, ex_date, cash, split, bonus, rights, rights_price',1);
INSERT INTO "sealed_table" VALUES('counter','name','name, next','name',6);
INSERT INTO "sealed_table" VALUES('import_change','import_id, place','import_id, place, symbol, grain, lane, first_at, last_at, added, replaced','import_id, place, symbol, grain, lane',1);
INSERT INTO "sealed_table" VALUES('margin','symbol','symbol, im, mm, fm','symbol',1);
INSERT INTO "sealed_table" VALUES('security','symbol','symbol, name_en, name_cn, name_hk, exchange, currency, lot_size, board, listing_date, decimals, total_shares, circulating_shares, hk_shares, eps, eps_ttm, bps, dividend_yield, series_count, action_count, kind, delisted_on, trade_day_count','symbol',2);
INSERT INTO "sealed_table" VALUES('series','id','id, symbol, grain, lane, row_count, block_count, byte_count, first_at, last_at, version','id, symbol, grain, lane',2);
INSERT INTO "sealed_table" VALUES('trade_day','symbol, day','symbol, day, row_count, block_count, byte_count, first_at, last_at, version, next_day, large_percent, medium_percent, large_from, medium_from','symbol, day',1);
INSERT INTO "sealed_table" VALUES('trade_index','symbol, day, place','symbol, day, place, first_at, last_at, row_count, byte_count, body_id, tail','symbol, day, place, body_id',1);
CREATE TABLE security (
    symbol text not null primary key,
    name_en text,
    name_cn text,
    name_hk text,
    exchange text,
    currency text,
    lot_size bigint,
    board text,
    listing_date text,
    decimals bigint not null default 3,
    total_shares bigint,
    circulating_shares bigint,
    hk_shares bigint,
    eps text,
    eps_ttm text,
    bps text,
    dividend_yield text
, series_count bigint not null default 0, action_count bigint not null default 0, seal bigint not null default 0, kind text, delisted_on text, trade_day_count bigint not null default 0) without rowid;
INSERT INTO "security" VALUES('700.HK','A name',NULL,NULL,NULL,NULL,100,NULL,NULL,3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,1,2712224160310347746,NULL,NULL,1);
INSERT INTO "security" VALUES('AAPL.US',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,0,8001586153558421616,NULL,NULL,0);
CREATE TABLE series (
    id integer not null primary key,
    symbol text not null references security (symbol),
    grain text not null,
    lane text not null,
    row_count bigint not null,
    block_count bigint not null,
    byte_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    version bigint not null, seal bigint not null default 0,
    unique (symbol, grain, lane)
);
INSERT INTO "series" VALUES(1,'700.HK','1m','regular',30,3,19,0,39,1,-1667002845729408414);
INSERT INTO "series" VALUES(2,'AAPL.US','1m','regular',20,2,12,0,29,2,9125708221430743969);
CREATE TABLE trade_body (
    id integer not null primary key,
    body blob not null
);
INSERT INTO "trade_body" VALUES(1,X'31302E2E3D3139');
CREATE TABLE trade_day (
    symbol text not null references security (symbol),
    day text not null,
    row_count bigint not null,
    block_count bigint not null,
    byte_count bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    version bigint not null,
    next_day text,
    -- The amounts in millionths from which on a trade of this day is large or medium, and the shares in percent that they are
    -- for; null where that is reckoned when it is asked for.
    large_percent bigint,
    medium_percent bigint,
    large_from bigint,
    medium_from bigint,
    seal bigint not null default 0,
    primary key (symbol, day)
) without rowid;
INSERT INTO "trade_day" VALUES('700.HK','2026-03-18',10,1,7,10,19,3,NULL,NULL,NULL,NULL,NULL,8686626263555536067);
CREATE TABLE trade_index (
    symbol text not null,
    day text not null,
    place bigint not null,
    first_at bigint not null,
    last_at bigint not null,
    row_count bigint not null,
    byte_count bigint not null,
    body_id bigint not null references trade_body (id),
    tail blob not null,
    seal bigint not null default 0,
    primary key (symbol, day, place)
) without rowid;
INSERT INTO "trade_index" VALUES('700.HK','2026-03-18',0,10,19,10,7,1,X'0031302E2E3D3139',-6086590161271161030);
CREATE UNIQUE INDEX block_index_body on block_index (body_id);
CREATE INDEX import_content on import (digest, options, id);
CREATE INDEX import_series_import on import_series (import_id);
CREATE INDEX quarantine_import on quarantine (import_id, id);
CREATE INDEX quarantine_symbol on quarantine (symbol, id);
CREATE UNIQUE INDEX trade_index_body on trade_index (body_id);
CREATE INDEX import_trade_import on import_trade (import_id);
CREATE INDEX import_change_series on import_change (symbol, grain, lane, import_id);
COMMIT;
