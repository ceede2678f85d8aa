//! The cost of computing reserves.

use crate::common::play;

#[test]
fn the_cost_of_a_new_order_does_not_grow_with_open_orders() {
    let mut player = play("mark 700.HK 300\n mark 5.HK 60\n given cash HKD 100000000\n given credit 1000000");
    for number in 0..200 {
        let of = if number % 2 == 0 { "700.HK LO 290" } else { "5.HK LO 50" };
        player.line(&format!("10:00 buy 400 {of}"));
        if number == 10 {
            // The first query computes the reserve of every open order.
            player.ask(&["cash", "HKD"], player.instant("10:00"));
        }
    }
    let before = player.account.reserves_computed();
    for _ in 0..50 {
        let said = player.line("10:01 buy 100 700.HK LO 290").join("; ");
        assert!(!said.contains("refused"), "{said}");
    }
    let computed = player.account.reserves_computed() - before;
    assert!(computed <= 2 * 50, "{computed} reserves for 50 orders beside 200 open ones");
    player.check_fold();
}
