//! `chandler demo`: the first thing a newcomer sees.

use crate::world::World;

#[test]
fn the_demo_draws_a_market_and_is_made_once() {
    let world = World::new();
    let first = world.run(&["demo"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(first.stderr.contains("making the demo market"), "{}", first.stderr);
    assert!(first.stdout.contains("9001.HK") && first.stdout.contains("CNDL.US"), "{}", first.stdout);
    let second = world.run(&["demo"]);
    assert_eq!(second.code, Some(0));
    assert!(second.stderr.is_empty(), "{}", second.stderr);
    assert_eq!(second.stdout, first.stdout);
    assert!(world.ok(&["check"]).contains("all whole"));
    assert_eq!(world.ok(&["quarantine"]), "nothing is quarantined\n");
}
