use world::{Change, State, WrongState};

#[test]
fn each_state_permits_only_its_changes() {
    use Change::{Delete, End, Pause, Reset, Run, Set, Step};
    use State::{Created, Ended, Paused, Running};
    let table = [
        (Set, [Some(Created), None, None, None]),
        (Run, [Some(Running), None, Some(Running), None]),
        (Pause, [None, Some(Paused), None, None]),
        (Step, [Some(Paused), None, Some(Paused), None]),
        (End, [None, Some(Ended), Some(Ended), None]),
        (Reset, [Some(Paused), Some(Paused), Some(Paused), Some(Paused)]),
        (Delete, [Some(Ended), None, None, Some(Ended)]),
    ];
    for (change, after) in table {
        for (state, after) in [Created, Running, Paused, Ended].into_iter().zip(after) {
            assert_eq!(state.after(change), after.ok_or(WrongState { state, change }), "{state} {change:?}");
        }
    }
}

#[test]
fn errors_of_refused_changes_say_what_to_do() {
    for (state, change, text) in [
        (State::Running, Change::Step, "the world is running: pause it first"),
        (State::Paused, Change::Set, "the world is paused: it has begun, reset it to its start first"),
        (State::Ended, Change::Set, "the world is ended: reset it to its start first"),
        (State::Ended, Change::Run, "the world is ended: reset it, or fork it at an earlier instant"),
        (State::Paused, Change::Delete, "the world is paused: end it first"),
        (State::Created, Change::End, "the world is created: it has not begun, delete it instead"),
    ] {
        assert_eq!(state.after(change).unwrap_err().to_string(), text);
    }
}

#[test]
fn states_round_trip_and_a_restart_pauses_a_running_world() {
    for state in State::ALL {
        assert_eq!(State::parse(state.as_str()), Some(state));
        let after = if state == State::Running { State::Paused } else { state };
        assert_eq!(state.after_restart(), after);
    }
    assert_eq!(State::parse("Running"), None);
}
