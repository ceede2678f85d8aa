//! Rows that serialize decisions of all nodes about a name, such as a sign-in or the start of a
//! world.

use crate::engine::Sql;

/// Number of lock rows, which names share.
const LOCKS: u8 = 16;

/// Returns the lock row of a name or address. The mapping must not change between releases, because
/// nodes of different releases run concurrently. Names that share a lock row only wait for each
/// other.
pub(super) fn lock_of(text: &str) -> String {
    let [first, ..] = *blake3::hash(text.as_bytes()).as_bytes();
    (first % LOCKS).to_string()
}

pub(super) const LOCK: Sql = Sql::new(
    "lock a name",
    "select number from guard where kind = 'lock' and key in ($1, $2) order by key for update",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_a_name_is_stable() {
        assert_eq!(lock_of("ann"), lock_of("ann"));
        assert!((0..100).all(|number| lock_of(&number.to_string()).parse::<u8>().unwrap() < LOCKS));
    }
}
