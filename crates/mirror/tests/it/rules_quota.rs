use market::{Symbol, Timestamp};
use mirror::{Charge, Month, Quota};

fn symbols(numbers: std::ops::Range<u32>) -> Vec<Symbol> {
    numbers.map(|number| format!("{number}.HK").parse().unwrap()).collect()
}

/// 2026-03-18 16:00 in Hong Kong.
const NOW: Timestamp = Timestamp(1_773_820_800);

/// N4: quota 100, 97 asked this month, list of 10 new and 5 old.
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
