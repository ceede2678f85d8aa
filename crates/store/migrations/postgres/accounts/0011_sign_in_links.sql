-- Links that sign the user of this machine in to the pages, each once. Of the token there is a hash; `server` names the process that
-- gave the link out, which alone accepts it; `next` is the page that it leads to. A row stays after its use, so that a second use can
-- be told from an unknown token.
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
