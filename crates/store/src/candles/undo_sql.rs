//! SQL statements of import changes and removals; see `sql.rs` for the dialect.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ALL;
    ADD_CHANGE: "write what an import changed",
        "insert into import_change (import_id, place, symbol, grain, lane, first_at, last_at, added, replaced) \
         values ($1, (select coalesce(max(place), 0) + 1 from import_change where import_id = $1), \
         $2, $3, $4, $5, $6, $7, $8)";
    CHANGES: "read what an import changed",
        "select import_id, symbol, grain, lane, first_at, last_at, added, replaced from sealed_import_change \
         where import_id = $1 order by place desc";
    CHANGED_SINCE: "look for later imports",
        "select import_id from sealed_import_change where symbol = $1 and grain = $2 and lane = $3 \
         and import_id > $4 and first_at <= $5 and last_at >= $6 order by import_id limit 1";
    FORGET_CHANGES: "forget what an import changed", "delete from import_change where import_id = $1";
    FORGET_SERIES_CHANGES: "forget what imports changed",
        "delete from import_change where symbol = $1 and grain = $2 and lane = $3";
    FORGET_IMPORT_SERIES: "forget the series of an import", "delete from import_series where import_id = $1";
    FORGET_SERIES_SOURCES: "forget the sources of a series",
        "delete from import_series where symbol = $1 and grain = $2 and lane = $3";
    FORGET_SOURCES: "forget the sources of a symbol", "delete from import_series where symbol = $1";
    FORGET_TRADE_SOURCES: "forget the sources of trades", "delete from import_trade where symbol = $1";
    UNDO_IMPORT: "write that an import was undone",
        "update import set state = $1, rows_done = 0, message = $2 where id = $3";

    REMOVE_TRADE_DAYS: "remove the trades of a symbol", "delete from trade_day where symbol = $1";
    COUNT_NO_DAYS: "remove the trades of a symbol", "update security set trade_day_count = 0 where symbol = $1";
    REMOVE_ALL_ACTIONS: "remove corporate actions", "delete from corporate_action where symbol = $1";
    REMOVE_MARGIN: "remove margin factors", "delete from margin where symbol = $1";
    REMOVE_SECURITY: "remove a security", "delete from security where symbol = $1";
    IS_NAMED_IN_LEDGER: "look for the sources of a symbol",
        "select exists (select 1 from import_series where symbol = $1) \
         or exists (select 1 from import_trade where symbol = $1)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_changes_uses_the_indexes() {
        crate::engine::statements::follow_the_keys(crate::engine::migrations::ALL, &[CHANGES, CHANGED_SINCE]);
    }
}
