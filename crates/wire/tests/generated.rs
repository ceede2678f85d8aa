//! Checks that the committed Rust code matches the generator's output for `proto/`.
//! `UPDATE_EXPECT=1` regenerates the code.

use std::fs;
use std::path::Path;

use prost_build::{Config, Module};

/// Messages that are also used over HTTP and described in the OpenAPI document.
const DESCRIBED: [&str; 37] = [
    "QuoteProfileRequest",
    "QuoteProfileResponse",
    "RateLimit",
    "QuoteLevelDetail",
    "PackageDetail",
    "MarketPackageDetail",
    "TradingSessionsResponse",
    "MarketSessions",
    "SessionHours",
    "TradingDaysRequest",
    "TradingDaysResponse",
    "SymbolsRequest",
    "SymbolRequest",
    "StaticInfoResponse",
    "StaticInfo",
    "QuoteResponse",
    "Quote",
    "PrePost",
    "TradesRequest",
    "TradesResponse",
    "Trade",
    "IntradayRequest",
    "IntradayResponse",
    "IntradayLine",
    "SecurityCandlestickRequest",
    "OffsetRequest",
    "DateRequest",
    "SecurityHistoryCandlestickRequest",
    "SecurityCandlestickResponse",
    "Candlestick",
    "CalcIndexesRequest",
    "CalcIndexesResponse",
    "CalcIndexes",
    "CapitalFlowResponse",
    "CapitalFlowLine",
    "CapitalDistributionResponse",
    "CapitalBySize",
];

/// Schema attributes of request fields, needed because Protobuf makes every field optional.
const RULES: [(&str, &str); 18] = [
    ("QuoteProfileRequest.language", "default"),
    ("TradingDaysRequest.market", r#"extend("enum" = ["US", "HK", "CN", "SG"])"#),
    ("SymbolsRequest.symbol", "length(min = 1, max = 500)"),
    ("TradesRequest.count", "range(min = 1, max = 1000)"),
    ("IntradayRequest.trade_session", r#"default, extend("enum" = [0, 100])"#),
    ("SecurityCandlestickRequest.period", r#"schema_with = "crate::schema::period""#),
    ("SecurityCandlestickRequest.count", "range(min = 1, max = 1000)"),
    ("SecurityCandlestickRequest.adjust_type", r#"default, extend("enum" = [0, 1])"#),
    ("SecurityCandlestickRequest.trade_session", r#"default, extend("enum" = [0, 100])"#),
    ("SecurityHistoryCandlestickRequest.period", r#"schema_with = "crate::schema::period""#),
    ("SecurityHistoryCandlestickRequest.adjust_type", r#"default, extend("enum" = [0, 1])"#),
    ("SecurityHistoryCandlestickRequest.query_type", r#"extend("enum" = [1, 2])"#),
    ("SecurityHistoryCandlestickRequest.trade_session", r#"default, extend("enum" = [0, 100])"#),
    ("OffsetRequest.direction", r#"default, extend("enum" = [0, 1])"#),
    ("OffsetRequest.date", "default"),
    ("OffsetRequest.minute", "default"),
    ("OffsetRequest.count", "default, range(min = 0, max = 1000)"),
    ("DateRequest", "default"),
];

#[test]
fn the_generated_code_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = ["control", "quote", "trade"];
    let files =
        protox::compile(names.map(|name| format!("{name}.proto")), [root.join("proto")]).unwrap().file;
    let requests = files.into_iter().map(|file| (Module::from_protobuf_package_name(file.package()), file));
    let mut config = Config::new();
    config
        // Ordered maps make the encoding deterministic.
        .btree_map(["."])
        // These messages hold secrets, which the `Debug` implementations in `src/secret.rs` omit.
        .skip_debug(["AuthRequest", "AuthResponse", "ReconnectRequest", "ReconnectResponse"])
        // HTTP uses the same messages as JSON, in which absent fields have their default value.
        .message_attribute(".quote", "#[derive(::serde::Serialize, ::serde::Deserialize)] #[serde(default)]")
        .message_attribute(".trade", "#[derive(::serde::Serialize, ::serde::Deserialize)] #[serde(default)]");
    for message in DESCRIBED {
        let attribute = "#[derive(::schemars::JsonSchema)] #[schemars(!default)]";
        config.message_attribute(format!(".quote.{message}"), attribute);
    }
    for (fields, rule) in RULES {
        config.field_attribute(format!(".quote.{fields}"), format!("#[schemars({rule})]"));
    }
    let generated = config.generate(requests.collect()).unwrap();
    assert_eq!(generated.len(), names.len());
    for name in names {
        let path = root.join("src/generated").join(format!("{name}.rs"));
        let code = &generated[&Module::from_protobuf_package_name(name)];
        let expected =
            format!("// Generated from proto/{name}.proto by tests/generated.rs; do not edit.\n\n{code}");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, &expected).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap();
        assert!(committed == expected, "{name}.rs is not what its proto file says; run with UPDATE_EXPECT=1");
    }
}
