use std::sync::LazyLock;

use market::{Date, Floors, Market, Period, Symbol, Timestamp, Venues};
use mirror::{
    Adjust, DateRange, Month, Plan, PlanOptions, Quota, RateLimits, Security, Sessions, Step, gaps,
};

static VENUES: LazyLock<Venues> = LazyLock::new(|| Venues::built_in().unwrap());

/// 2026-03-18 17:00 in Hong Kong.
const NOW: Timestamp = Timestamp(1_773_824_400);

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn range(from: &str, through: &str) -> DateRange {
    DateRange { from: date(from), through: date(through) }
}

fn security(symbol: &str) -> Security {
    Security { symbol: symbol.parse().unwrap(), stored: Vec::new(), is_unfinished: false }
}

fn options(periods: &[Period]) -> PlanOptions {
    let periods = periods.to_vec();
    PlanOptions {
        periods,
        from: None,
        through: None,
        sessions: Sessions::Intraday,
        max_new: None,
        with_today: false,
    }
}

fn no_quota() -> Quota {
    Quota::new(Month::of(NOW), [], None, None)
}

fn plan(securities: &[Security], options: &PlanOptions) -> Plan {
    Plan::of(&VENUES, securities, options, &no_quota(), NOW).unwrap()
}

/// Formats each step as a line, except those for calendars.
fn lines(plan: &Plan) -> Vec<String> {
    let line = |step: &Step| match step {
        Step::Profile => Some("profile".to_owned()),
        Step::Calendar { .. } => None,
        Step::Statics { symbols } => Some(format!("statics {}", symbols.len())),
        Step::Series(job) => Some(format!("{} {} {}", job.series, job.dates, job.requests)),
        Step::Today { symbol, period } => Some(format!("today {symbol} {period}")),
    };
    plan.steps.iter().filter_map(line).collect()
}

#[test]
fn a_page_covers_999_days_and_both_adjustments_are_read() {
    let days = VENUES.of(Market::Hk).calendar().days(date("2004-06-01"), date("2026-12-31"));
    let days: Vec<Date> = days.map(|(date, _)| date).take(5_300).collect();
    let mut options = options(&[Period::DAY]);
    // 5,300 days are six pages, like the 5,600 of the specification.
    options.through = days.last().copied();
    let plan = plan(&[security("700.HK")], &options);
    assert_eq!((plan.candles(), plan.history_requests()), (2 * 5_300, 12));
    assert_eq!((5_600_u64.div_ceil(999) * 2, 331_000_u64.div_ceil(999)), (12, 332));
}

#[test]
fn minutes_are_counted_by_calendar_and_sessions() {
    let of = |symbol: &str, period: &str, sessions, dates: DateRange| {
        let options = PlanOptions {
            from: Some(dates.from),
            through: Some(dates.through),
            sessions,
            ..options(&[period.parse().unwrap()])
        };
        plan(&[security(symbol)], &options).candles()
    };
    let (week, intraday, all) = (range("2025-12-22", "2025-12-26"), Sessions::Intraday, Sessions::All);
    // 24 December is a half day, and 25 and 26 December are holidays.
    assert_eq!(of("700.HK", "1m", intraday, week), 331 + 331 + 151);
    assert_eq!(of("700.HK", "60m", intraday, week), 7 + 7 + 3);
    assert_eq!(of("600519.SH", "1m", all, week), 5 * 241);
    assert_eq!(of("AAPL.US", "1m", intraday, week), 4 * 390 - 180);
    assert_eq!(of("AAPL.US", "1m", all, range("2025-12-22", "2025-12-23")), 2 * 1440);
    assert_eq!(of("AAPL.US", "1d", all, week), 2 * 4);
}

#[test]
fn days_come_before_minutes_and_newer_gaps_before_older_ones() {
    let mut stored = security("700.HK");
    stored.stored.push((Period::MINUTE, Adjust::None, range("2026-03-03", "2026-03-12")));
    stored.stored.push((Period::DAY, Adjust::None, range("2026-03-02", "2026-03-11")));
    let mut options = options(&[Period::MINUTE, Period::DAY]);
    options.from = Some(date("2026-03-02"));
    options.with_today = true;
    let plan = plan(&[stored, security("9988.HK")], &options);
    assert_eq!(
        lines(&plan),
        [
            "profile",
            "statics 2",
            "700.HK day 2026-03-12..=2026-03-18 1",
            "700.HK day adjusted 2026-03-02..=2026-03-18 1",
            "9988.HK day 2026-03-02..=2026-03-18 1",
            "9988.HK day adjusted 2026-03-02..=2026-03-18 1",
            "700.HK 1m 2026-03-13..=2026-03-18 2",
            "700.HK 1m 2026-03-02..=2026-03-02 1",
            "9988.HK 1m 2026-03-02..=2026-03-18 5",
            "today 700.HK day",
            "today 700.HK 1m",
            "today 9988.HK day",
            "today 9988.HK 1m",
        ]
    );
    assert_eq!((plan.history_requests(), plan.new_securities()), (12, 2));
    let calendar: Vec<&Step> =
        plan.steps.iter().filter(|step| matches!(step, Step::Calendar { .. })).collect();
    // 366 days in requests of at most 31 days.
    assert_eq!(calendar.len(), 12);
    assert_eq!(calendar[0], &Step::Calendar { market: Market::Hk, dates: range("2025-03-18", "2025-04-17") });
    assert_eq!(plan.other_requests(), 18);
    assert_eq!(plan.time(&RateLimits::PUBLISHED).as_millis(), 12 * 30_000 / 55 + 18 * 1000 / 8);
}

#[test]
fn the_floor_and_the_latest_trading_day_limit_a_range() {
    let plan = plan(&[security("700.HK"), security("AAPL.US")], &options(&[Period::DAY, Period::MINUTE]));
    let dates: Vec<(Market, Period, DateRange)> = plan
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Series(job) if job.series.adjust == Adjust::None => {
                Some((job.series.symbol.market(), job.series.period(), job.dates))
            }
            _ => None,
        })
        .collect();
    // 17:00 in Hong Kong is before the open in New York.
    let through = date("2026-03-18");
    for (market, period, dates) in dates {
        let from = Floors::published(market).of(period).unwrap();
        assert_eq!(dates, DateRange { from, through }, "{market} {period}");
    }
}

#[test]
fn the_quota_orders_and_limits_the_securities() {
    let symbol = |text: &str| -> Symbol { text.parse().unwrap() };
    let quota = Quota::new(Month::of(NOW), [symbol("5.HK")], Some(3), None);
    let mut begun = security("4.HK");
    begun.is_unfinished = true;
    let list =
        [security("1.HK"), security("2.HK"), security("3.HK"), begun, security("5.HK"), security("1.HK")];
    let of = |max_new| {
        let options = PlanOptions { max_new, ..options(&[Period::DAY]) };
        Plan::of(&VENUES, &list, &options, &quota, NOW).unwrap()
    };
    let plan = of(None);
    assert_eq!(plan.order.now, ["5.HK", "4.HK", "1.HK"].map(symbol));
    assert_eq!(
        (plan.order.waiting.as_slice(), plan.new_securities()),
        (&["2.HK", "3.HK"].map(symbol)[..], 2)
    );
    let plan = of(Some(1));
    assert_eq!(plan.order.now, ["5.HK", "4.HK"].map(symbol));
    assert_eq!(plan.order.held, ["1.HK", "2.HK", "3.HK"].map(symbol));
    assert_eq!(lines(&plan)[1], "statics 2");
}

#[test]
fn unstored_periods_and_empty_ranges_are_refused() {
    let of = |options: &PlanOptions| Plan::of(&VENUES, &[security("700.HK")], options, &no_quota(), NOW);
    let week = of(&options(&["week".parse().unwrap()])).unwrap_err();
    assert_eq!(week.to_string(), "week candles are not stored: mirror day or 1m candles");
    let mut backward = options(&[Period::DAY]);
    (backward.from, backward.through) = (Some(date("2026-03-03")), Some(date("2026-03-02")));
    assert_eq!(
        of(&backward).unwrap_err().to_string(),
        "the range begins on 2026-03-03, after its end on 2026-03-02"
    );
}

#[test]
fn gaps_are_the_dates_that_are_not_stored() {
    let wanted = range("2026-03-02", "2026-03-20");
    assert_eq!(gaps(wanted, []), [wanted]);
    assert_eq!(gaps(wanted, [range("2026-01-01", "2026-12-31")]), []);
    let stored = [
        range("2026-03-10", "2026-03-12"),
        range("2026-02-01", "2026-03-02"),
        range("2026-03-11", "2026-03-15"),
    ];
    assert_eq!(gaps(wanted, stored), [range("2026-03-03", "2026-03-09"), range("2026-03-16", "2026-03-20")]);
    assert_eq!(gaps(wanted, [range("2026-03-20", "2026-03-25")]), [range("2026-03-02", "2026-03-19")]);
}
