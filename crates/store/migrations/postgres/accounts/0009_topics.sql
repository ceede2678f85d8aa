-- The community: topics, and replies to them. One counter numbers both, so that a number names one thing.
insert into counter (name, next) values ('topic', 1);

create table topic (
    id bigint not null primary key,
    account_id bigint not null references account (id),
    kind text collate "C" not null,
    title text collate "C" not null,
    -- The beginning of the text, for lists.
    description text collate "C" not null,
    body text collate "C" not null,
    -- Symbols and words, one a line, in the order in which they are listed.
    tickers text collate "C" not null,
    hashtags text collate "C" not null,
    -- The machine's time.
    created_at bigint not null,
    -- Null where everybody may read it; else the machine's time, and the operator's reason.
    hidden_at bigint,
    hidden_because text collate "C",
    -- Replies that are not hidden, and accounts that have opened it, its author apart.
    replies bigint not null default 0,
    views bigint not null default 0
);
create index topic_author on topic (account_id, id);

-- Which topics are about a security.
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

create table topic_reply (
    id bigint not null primary key,
    topic_id bigint not null references topic (id),
    account_id bigint not null references account (id),
    -- The reply that it is a reply to; null where it is one to the topic.
    reply_to_id bigint,
    body text collate "C" not null,
    created_at bigint not null,
    hidden_at bigint,
    hidden_because text collate "C",
    -- Replies to it that are not hidden.
    replies bigint not null default 0
);
create index topic_reply_topic on topic_reply (topic_id, id);
create index topic_reply_author on topic_reply (account_id, id);
create index topic_reply_author_topic on topic_reply (account_id, topic_id, id);
