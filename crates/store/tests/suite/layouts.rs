//! Tests of chart layouts: they belong to an account, by name.

use market::Timestamp;
use store::{Accounts, LayoutRow, StoreError};

use crate::accounts::add;
use crate::fixture::{Home, NOW};

fn row(name: &str, query: &str, at: i64) -> LayoutRow {
    LayoutRow { name: name.to_owned(), query: query.to_owned(), changed_at: Timestamp(at) }
}

struct Undone;

impl From<StoreError> for Undone {
    fn from(error: StoreError) -> Undone {
        panic!("{error}")
    }
}

#[test]
fn layouts_are_stored_replaced_renamed_and_removed_by_account_and_name() {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let (ann, ben) = (add(&accounts, "ann").unwrap(), add(&accounts, "ben").unwrap());
    let changed = accounts.change_layouts(ann, |names, writes| {
        assert!(names.is_empty());
        writes.put(&row("two", "symbol=700.HK", 1))?;
        writes.put(&row("日线", "symbol=5.HK", 2))?;
        Ok::<_, StoreError>(names.len())
    });
    assert_eq!(changed.unwrap(), 0);
    accounts.change_layouts(ben, |_, writes| writes.put(&row("two", "symbol=1.HK", 3))).unwrap();
    accounts
        .change_layouts(ann, |names, writes| {
            assert_eq!(names, ["two", "日线"]);
            writes.put(&row("two", "symbol=700.HK&period=5m", 4))?;
            writes.rename("日线", "days")
        })
        .unwrap();
    let of_ann = [row("days", "symbol=5.HK", 2), row("two", "symbol=700.HK&period=5m", 4)];
    assert_eq!(accounts.layouts(ann).unwrap(), of_ann);
    assert_eq!(accounts.layouts(ben).unwrap(), [row("two", "symbol=1.HK", 3)]);
    accounts.change_layouts(ben, |_, writes| writes.remove("two")).unwrap();
    assert_eq!(accounts.layouts(ben).unwrap(), []);
    // A failed change writes nothing.
    let failed = accounts.change_layouts(ann, |_, writes| {
        writes.remove("days")?;
        Err::<(), _>(Undone)
    });
    assert!(failed.is_err());
    assert_eq!(accounts.layouts(ann).unwrap(), of_ann);
}
