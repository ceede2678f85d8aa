-- Named layouts of the chart page, each as the query part of an address.
create table chart_layout (
    account_id bigint not null references account (id),
    name text collate "C" not null,
    query text collate "C" not null,
    changed_at bigint not null,
    primary key (account_id, name)
);
