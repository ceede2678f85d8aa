-- Named layouts of the chart page, each as the query part of an address.
create table chart_layout (
    account_id bigint not null references account (id),
    name text not null,
    query text not null,
    changed_at bigint not null,
    seal bigint not null default 0,
    primary key (account_id, name)
) without rowid;
