use market::{Market, Timestamp};
use world::{Auto, Markets, Reserved, Settings, Span, SpanError, Speed, WorldName};

#[test]
fn speeds_have_at_most_three_decimals_and_a_maximum() {
    for (text, thousandths) in [
        ("0.001", 1),
        ("0.5", 500),
        ("1", 1_000),
        ("1.50000", 1_500),
        ("60", 60_000),
        ("1000000", world::SPEED_THOUSANDTHS_MAX),
    ] {
        assert_eq!(text.parse(), Ok(Speed::Factor { thousandths }), "{text}");
    }
    for (text, speed) in [("0", Speed::Stepped), ("0.0", Speed::Stepped), ("max", Speed::Max)] {
        assert_eq!(text.parse(), Ok(speed), "{text}");
    }
    for text in ["", "0.0001", "1000000.001", "1000001", "-1", "1e3", ".5", "1.", "MAX", "1.2.3", "٣"] {
        let error = text.parse::<Speed>().unwrap_err();
        assert_eq!(error.to_string(), format!("{text:?} is not a speed: write 0, 0.001 to 1000000, or max"));
    }
    assert!("9".repeat(100).parse::<Speed>().is_err());
}

#[test]
fn missing_keys_have_their_defaults() {
    let settings: Settings = "".parse().unwrap();
    let text = "speed=0 skip=closed markets=HK,US limits=none auto=off pause_when_alone=on overnight=off";
    assert_eq!(settings.to_string(), text);
    let settings: Settings = "auto=50 overnight=on markets=cn".parse().unwrap();
    assert_eq!(settings.auto, Some(Auto { quiet_ms: 50 }));
    assert_eq!(settings.markets.iter().collect::<Vec<_>>(), [Market::Cn]);
    for (text, error) in [
        ("markets=", "\"\" is not a list of markets: write HK,US or HK,US,CN"),
        ("markets=HK,", "\"HK,\" is not a list of markets: write HK,US or HK,US,CN"),
        ("auto=0", "\"0\" is not a quiet time: write 1 to 60000 milliseconds"),
        ("auto=60001", "\"60001\" is not a quiet time: write 1 to 60000 milliseconds"),
        ("skip=open", "\"open\" is not a value of skip: write closed or none"),
        ("limits=some", "\"some\" is not a value of limits: write none or owner"),
        ("overnight=yes", "\"yes\" is neither on nor off"),
        ("colour=red", "\"colour=red\" is not a setting of a world"),
        ("speed", "\"speed\" is not a setting of a world"),
    ] {
        assert_eq!(text.parse::<Settings>().unwrap_err().to_string(), error);
    }
    assert_eq!(Markets::of([]), None);
}

#[test]
fn a_world_cannot_end_before_its_start() {
    let (a, b) = (Timestamp(1_773_797_400), Timestamp(1_773_797_401));
    assert!(Span::new(a, a).unwrap().contains(a));
    let span = Span::new(a, b).unwrap();
    assert_eq!((span.start(), span.end(), span.contains(Timestamp(b.0 + 1))), (a, b, false));
    assert_eq!(Span::new(b, a), Err(SpanError::EndBeforeStart { start: b, end: a }));
    for at in [Timestamp(-1), Timestamp(4_102_444_800), Timestamp(i64::MAX)] {
        assert_eq!(Span::new(a, at).unwrap_err(), SpanError::Year(at));
    }
}

#[test]
fn names_are_short_and_lower_case() {
    for name in ["a", "march-18", "2026", &"x".repeat(40)] {
        assert_eq!(name.parse::<WorldName>().unwrap().as_str(), name);
    }
    for name in ["", "March", "a/b", "a b", "é", "a_b", &"x".repeat(41)] {
        assert!(name.parse::<WorldName>().is_err(), "{name:?}");
    }
}

#[test]
fn reserved_symbols_ignore_case() {
    for (symbol, meaning) in [
        ("CLOCK.WORLD", Some(Reserved::Clock)),
        ("clock.world", Some(Reserved::Clock)),
        ("STEP.WORLD", Some(Reserved::StepNext)),
        ("STEP-60.WORLD", Some(Reserved::StepBy(60))),
        ("step-1.World", Some(Reserved::StepBy(1))),
        ("STEP-4000000000.WORLD", Some(Reserved::StepBy(4_000_000_000))),
        ("STEP-4000000001.WORLD", None),
        ("STEP-0.WORLD", None),
        ("STEP-060.WORLD", None),
        ("STEP-+60.WORLD", None),
        ("STEP-.WORLD", None),
        ("STEP60.WORLD", None),
        (".WORLD", None),
        ("WORLD", None),
        ("CLOCK.US", None),
        ("700.HK", None),
        ("é.WORLD", None),
        ("éWORLD", None),
        ("", None),
    ] {
        assert_eq!(Reserved::parse(symbol), meaning, "{symbol:?}");
    }
}
