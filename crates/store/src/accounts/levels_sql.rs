//! SQL statements of levels and of the reports they are earned by.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    LEVELS: "list the levels", "select number, quota, assets, orders from sealed_level order by number";
    PUT_LEVEL: "change a level",
        "insert into level (number, quota, assets, orders) values ($1, $2, $3, $4) \
         on conflict (number) do update set quota = excluded.quota, assets = excluded.assets, orders = excluded.orders";

    REPORTED_ASSETS_AS_OF: "read the reported assets of an account",
        "select a.day, a.currency, a.amount, \
            coalesce( \
                (select r.rate from sealed_exchange_rate r where r.currency = a.currency and r.day <= a.day \
                 order by r.day desc limit 1), \
                (select r.rate from sealed_exchange_rate r where a.currency = 'CNH' and r.currency = 'CNY' \
                 and r.day <= a.day order by r.day desc limit 1)) \
         from sealed_asset a where a.account_id = $1 \
            and a.day = (select max(b.day) from sealed_asset b where b.account_id = $1 and b.day <= $2) \
         order by a.currency";
    REPORTED_ASSETS_OF: "list the reported assets of an account",
        "select day, currency, amount from sealed_asset where account_id = $1 order by day desc, currency limit $2";
    PUT_REPORTED_ASSETS: "note reported assets",
        "insert into asset (account_id, day, currency, amount) values ($1, $2, $3, $4) \
         on conflict (account_id, day, currency) do update set amount = excluded.amount";

    RATES: "list the exchange rates",
        "select currency, day, rate from sealed_exchange_rate where cast($1 as text) is null or currency = $1 \
         order by currency, day desc limit $2";
    HAS_RATE: "look for an exchange rate",
        "select exists (select 1 from sealed_exchange_rate where currency = $1 and day <= $2)";
    PUT_RATE: "note an exchange rate",
        "insert into exchange_rate (currency, day, rate) values ($1, $2, $3) \
         on conflict (currency, day) do update set rate = excluded.rate";

    REPORTED_ORDERS_BETWEEN: "count the reported orders of an account",
        "select (select cast(coalesce(sum(orders), 0) as bigint) from sealed_order_count \
                 where account_id = $1 and day >= $2 and day < $3) \
              + (select count(*) from sealed_completed_order where account_id = $1 and day >= $2 and day < $3)";
    HAS_REPORTS_BEFORE: "look for reports about an account",
        "select exists (select 1 from sealed_asset where account_id = $1 and day < $2) \
             or exists (select 1 from sealed_order_count where account_id = $1 and day < $2) \
             or exists (select 1 from sealed_completed_order where account_id = $1 and day < $2)";
    REPORTED_ORDERS_OF: "list the reported orders of an account",
        "select day, cast(sum(orders) as bigint) from ( \
            select day, orders from sealed_order_count where account_id = $1 \
            union all select day, 1 as orders from sealed_completed_order where account_id = $1) as told \
         group by day order by day desc limit $2";
    PUT_REPORTED_ORDER_COUNT: "note a reported count of orders",
        "insert into order_count (account_id, day, orders) values ($1, $2, $3) \
         on conflict (account_id, day) do update set orders = excluded.orders";
    PUT_REPORTED_ORDER: "note a reported order",
        "insert into completed_order (account_id, order_id, day) values ($1, $2, $3) \
         on conflict (account_id, order_id) do nothing";

    LEVEL_SEEN: "read the level of an account", "select level, since from sealed_level_seen where account_id = $1";
    SEE_LEVEL: "note the level of an account",
        "insert into level_seen (account_id, level, since) values ($1, $2, $3) \
         on conflict (account_id) do update set level = excluded.level, since = excluded.since";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These run for each account at the start of a day.
    #[test]
    fn reading_reports_for_a_level_uses_the_indexes() {
        crate::engine::statements::follow_the_keys(
            crate::engine::migrations::ACCOUNTS,
            &[REPORTED_ASSETS_AS_OF, REPORTED_ORDERS_BETWEEN, HAS_REPORTS_BEFORE, LEVEL_SEEN, HAS_RATE],
        );
    }
}
