use market::{Symbol, Timestamp};
use mirror::{Charge, Month, Quota};

fn symbols(numbers: std::ops::Range<u32>) -> Vec<Symbol> {
    numbers.map(|number| format!("{number}.HK").parse().unwrap()).collect()
}

/// 2026-03-18 16:00 in Hong Kong.
const NOW: Timestamp = Timestamp(1_773_820_800);

/// Example N4: quota 100, 97 requested this month, list of 10 new and 5 old.
#[test]
fn old_securities_come_first_and_new_ones_wait_for_the_next_month() {
    let (old, new) = (symbols(1..98), symbols(1001..1011));
    let mut quota = Quota::new(Month::of(NOW), old.clone(), Some(100), None);
    let list: Vec<Symbol> = new.iter().chain(&old[..5]).cloned().collect();
    let order = quota.order(&list, |_| false, None);
    assert_eq!(order.now, [&old[..5], &new[..3]].concat());
    assert_eq!((order.new, order.waiting.as_slice()), (3, &new[3..]));

    let charges: Vec<Charge> = order.now.iter().map(|symbol| quota.charge(symbol, NOW)).collect();
    assert_eq!(charges, [[Charge::Free; 5].as_slice(), &[Charge::New; 3]].concat());
    // 2026-04-01 00:00 in Hong Kong.
    assert_eq!(quota.charge(&new[3], NOW), Charge::Wait(Timestamp(1_774_972_800)));
}

#[test]
fn a_refusal_uses_up_the_quota_but_free_securities_continue() {
    let list = symbols(1..4);
    let mut quota = Quota::new(Month::of(NOW), [list[0].clone()], None, None);
    assert_eq!((quota.left(), quota.limit()), (None, None));
    assert_eq!(quota.charge(&list[1], NOW), Charge::New);
    let april = Timestamp(1_774_972_800);
    assert_eq!(quota.refused(&list[1], NOW), april);
    assert_eq!((quota.left(), quota.used()), (Some(0), 1));
    assert_eq!(quota.charge(&list[0], NOW), Charge::Free);
    assert_eq!(quota.charge(&list[1], NOW), Charge::Wait(april));
    assert_eq!(quota.order(&list, |_| false, None).waiting, &list[1..]);
    // The next month begins at midnight in Hong Kong.
    assert_eq!(quota.charge(&list[1], Timestamp(april.0 - 1)), Charge::Wait(april));
    assert_eq!(quota.charge(&list[1], april), Charge::New);
    assert_eq!(quota.charge(&list[0], april), Charge::New, "nothing is free in a new month");
    assert_eq!(quota.month().to_string(), "2026-04");
    // A clock that is set back does not return to the previous month.
    assert_eq!(quota.charge(&list[0], NOW), Charge::Free);
    assert_eq!(quota.month().to_string(), "2026-04");
}

#[test]
fn the_smaller_limit_applies() {
    let quota = |limit, own| Quota::new(Month::of(NOW), symbols(1..11), limit, own).left();
    assert_eq!(quota(Some(100), Some(30)), Some(20));
    assert_eq!(quota(Some(30), Some(100)), Some(20));
    assert_eq!(quota(Some(5), None), Some(0), "a limit that was lowered");
}

#[test]
fn unfinished_jobs_come_before_the_list() {
    let list = symbols(1..6);
    let quota = Quota::new(Month::of(NOW), [list[4].clone()], None, None);
    let order = quota.order(&list, |symbol| *symbol == list[2], Some(2));
    assert_eq!(order.now, [&list[4], &list[2], &list[0]].map(Symbol::clone));
    assert_eq!((order.new, order.held.as_slice()), (2, &[list[1].clone(), list[3].clone()][..]));
    assert_eq!(order.waiting, []);
}
