//! A query of the shared scenarios: as an SDK call, and as a command line.

use std::process::Command;

use longbridge::QuoteContext;
use longbridge::quote::{AdjustType, Candlestick, Period, TradeSession, TradeSessions};
use serde_json::{Value, json};
use time::{Date, PrimitiveDateTime, macros::format_description};

const PERIODS: [(&str, Period); 18] = [
    ("1m", Period::OneMinute),
    ("2m", Period::TwoMinute),
    ("3m", Period::ThreeMinute),
    ("5m", Period::FiveMinute),
    ("10m", Period::TenMinute),
    ("15m", Period::FifteenMinute),
    ("20m", Period::TwentyMinute),
    ("30m", Period::ThirtyMinute),
    ("45m", Period::FortyFiveMinute),
    ("60m", Period::SixtyMinute),
    ("120m", Period::TwoHour),
    ("180m", Period::ThreeHour),
    ("240m", Period::FourHour),
    ("day", Period::Day),
    ("week", Period::Week),
    ("month", Period::Month),
    ("quarter", Period::Quarter),
    ("year", Period::Year),
];
/// The maximum number of candles in a response.
const PAGE: usize = 1000;

#[derive(Debug)]
pub(crate) struct Question(Value);

/// Stamp, prices, volume, turnover and session, as text.
pub(crate) type Row = String;

pub(crate) fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this with `make e2e-rust`"))
}

impl Question {
    /// The queries of a file, each for every period and adjustment that it lists.
    pub(crate) fn load(name: &str) -> impl Iterator<Item = Question> {
        let path = std::path::Path::new(&environment("CHANDLER_E2E_SCENARIOS")).join(name);
        let all: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        all.into_iter().flat_map(|one| {
            let periods: Vec<&str> = match one["period"].as_str().unwrap() {
                "*" => PERIODS.iter().map(|(name, _)| *name).collect(),
                period => PERIODS.iter().map(|(name, _)| *name).filter(|name| *name == period).collect(),
            };
            let adjusts: &[&str] = match one["adjust"].as_str() {
                Some("*") => &["none", "forward"],
                Some("forward") => &["forward"],
                _ => &["none"],
            };
            let mut questions = Vec::new();
            for period in periods {
                for adjust in adjusts {
                    let mut question = one.clone();
                    question["period"] = period.into();
                    question["adjust"] = (*adjust).into();
                    questions.push(Question(question));
                }
            }
            questions
        })
    }

    pub(crate) fn last_day(symbol: &str) -> Question {
        Question(json!({
            "symbol": symbol, "period": "day", "adjust": "none", "offset": {"forward": false, "count": 1},
        }))
    }

    /// The expected refusal.
    pub(crate) fn code(&self) -> Option<i64> {
        self.0["code"].as_i64()
    }

    /// Whether it is for an account that may not see every market.
    pub(crate) fn is_for_part(&self) -> bool {
        self.0["markets"].is_string()
    }

    pub(crate) fn sessions(&self) -> TradeSessions {
        if self.0["session"] == "all" { TradeSessions::All } else { TradeSessions::Intraday }
    }

    pub(crate) async fn ask(&self, quotes: &QuoteContext) -> longbridge::Result<Vec<Row>> {
        let symbol = self.text("symbol");
        let period = PERIODS.iter().find(|(name, _)| *name == self.text("period")).unwrap().1;
        let adjust = match self.text("adjust") {
            "forward" => AdjustType::ForwardAdjust,
            _ => AdjustType::NoAdjust,
        };
        let answer = match self.0.get("offset") {
            Some(offset) => {
                let shape = format_description!("[year]-[month]-[day]T[hour]:[minute]");
                let time = offset["time"].as_str().map(|text| PrimitiveDateTime::parse(text, shape).unwrap());
                let count = usize::try_from(offset["count"].as_u64().unwrap()).unwrap();
                let forward = offset["forward"].as_bool().unwrap();
                quotes
                    .history_candlesticks_by_offset(
                        symbol,
                        period,
                        adjust,
                        forward,
                        time,
                        count,
                        self.sessions(),
                    )
                    .await?
            }
            None => {
                let shape = format_description!("[year]-[month]-[day]");
                let date =
                    |name: &str| self.0["dates"][name].as_str().map(|text| Date::parse(text, shape).unwrap());
                quotes
                    .history_candlesticks_by_date(
                        symbol,
                        period,
                        adjust,
                        date("start"),
                        date("end"),
                        self.sessions(),
                    )
                    .await?
            }
        };
        Ok(answer.iter().map(row).collect())
    }

    /// The command line's response to the same query; `all` is its name for all visible sessions.
    pub(crate) fn kline(&self, all: &str) -> Vec<Row> {
        let mut command = Command::new(environment("CHANDLER_E2E_BINARY"));
        command.args(["kline", self.text("symbol"), "--period", self.text("period")]);
        command.args(["--adjust", self.text("adjust"), "--format", "json"]);
        command.args(["--session", if self.sessions() == TradeSessions::All { all } else { "intraday" }]);
        let mut from_the_start = false;
        if let Some(offset) = self.0.get("offset") {
            command.arg("-n").arg(offset["count"].to_string());
            if let Some(time) = offset["time"].as_str() {
                command.arg(if offset["forward"] == true { "--after" } else { "--before" });
                command.arg(time.replace('T', " "));
            }
        } else {
            let [start, end] = ["start", "end"].map(|name| self.0["dates"][name].as_str());
            if let Some(date) = start {
                command.args(["--start", date]);
            }
            if let Some(date) = end {
                command.args(["--end", date]);
            }
            if start.or(end).is_none() {
                command.arg("-n").arg(PAGE.to_string());
            }
            from_the_start = start.is_some() && end.is_none();
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut rows: Vec<Row> = answer["candlesticks"].as_array().unwrap().iter().map(kline_row).collect();
        if from_the_start {
            rows.truncate(PAGE);
        } else {
            rows.drain(..rows.len().saturating_sub(PAGE));
        }
        rows
    }

    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }
}

fn row(candle: &Candlestick) -> Row {
    let session = match candle.trade_session {
        TradeSession::Intraday => 0,
        TradeSession::Pre => 1,
        TradeSession::Post => 2,
        TradeSession::Overnight => 3,
    };
    let Candlestick { open, high, low, close, volume, turnover, timestamp, .. } = candle;
    format!("{} {open} {high} {low} {close} {volume} {turnover} {session}", timestamp.unix_timestamp())
}

fn kline_row(candle: &Value) -> Row {
    let text = |name: &str| candle[name].as_str().unwrap();
    let [open, high, low, close, turnover] = ["open", "high", "low", "close", "turnover"].map(text);
    let [timestamp, volume, session] = ["timestamp", "volume", "trade_session"].map(|name| &candle[name]);
    format!("{timestamp} {open} {high} {low} {close} {volume} {turnover} {session}")
}
