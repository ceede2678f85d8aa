use market::{Candle, Price, Session, Symbol, Timestamp, Turnover};
use mirror::verify::{DIFFERENCES_MAX, Difference, Field, Report, Sample};

fn candle(time: i64, close: i64) -> Candle {
    Candle {
        time: Timestamp(time),
        open: Price(100_000_000),
        high: Price(110_000_000),
        low: Price(90_000_000),
        close: Price(close),
        volume: 1,
        turnover: Turnover(0),
        session: Session::Intraday,
    }
}

#[test]
fn prices_may_differ_by_one_thousandth() {
    let mut report = Report::default();
    report.add(
        [candle(1, 100_001_000), candle(2, 100_001_001)],
        [candle(1, 100_000_000), candle(2, 100_000_000)],
    );
    let close = |time, ours, received| Difference::Price {
        time: Timestamp(time),
        field: Field::Close,
        ours: Price(ours),
        received: Price(received),
    };
    assert_eq!(report.differences, [close(2, 100_001_001, 100_000_000)]);
    assert_eq!((report.compared, report.different, report.is_equal()), (2, 1, false));
}

#[test]
fn candles_missing_on_one_side_are_listed() {
    let mut report = Report::default();
    report.add([1, 2, 4].map(|time| candle(time, 1)), [2, 3, 4, 5].map(|time| candle(time, 1)));
    let at = Timestamp;
    assert_eq!(
        report.differences,
        [
            Difference::Surplus { time: at(1) },
            Difference::Missing { time: at(3) },
            Difference::Missing { time: at(5) }
        ]
    );
    assert_eq!((report.compared, report.different), (2, 3));
    let mut equal = Report::default();
    equal.add([candle(1, 1)], [candle(1, 1)]);
    assert!(equal.is_equal());
}

#[test]
fn all_differences_are_counted_but_only_the_first_are_listed() {
    let mut report = Report::default();
    report.add([], (0..20_000).map(|time| candle(time, 1)));
    assert_eq!((report.different, report.differences.len()), (20_000, DIFFERENCES_MAX));
}

#[test]
fn a_larger_sample_contains_a_smaller_one() {
    let symbols: Vec<Symbol> = (1..=10_000).map(|number| format!("{number}.HK").parse().unwrap()).collect();
    let select = |text: &str, seed| {
        let sample = Sample::parse(text, seed).unwrap();
        symbols.iter().filter(|symbol| sample.includes(symbol)).count()
    };
    assert!((70..=130).contains(&select("1%", 7)), "{}", select("1%", 7));
    assert!((2_800..=3_200).contains(&select("0.3", 7)), "{}", select("0.3", 7));
    assert_eq!(select("100%", 7), 10_000);
    let (small, large) = (Sample::parse("1%", 7).unwrap(), Sample::parse("5%", 7).unwrap());
    assert!(symbols.iter().all(|symbol| !small.includes(symbol) || large.includes(symbol)));
    let other = Sample::parse("1%", 8).unwrap();
    assert!(symbols.iter().any(|symbol| small.includes(symbol) != other.includes(symbol)));
    for text in ["0", "0%", "101%", "1.1", "-1%", "1 %%", "some"] {
        assert!(Sample::parse(text, 0).is_err(), "{text}");
    }
}
