//! Date and time formats in JSON documents.

use std::borrow::Cow;

use market::{Date, Timestamp, Zone};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;
use world::Speed;

/// A date, such as `2026-11-13`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Day(pub(crate) Date);

/// An RFC 3339 instant, such as `2026-11-13T01:30:00Z`, in UTC or a market's time zone.
#[derive(Clone, Debug)]
pub(crate) struct Instant(String);

impl Instant {
    pub(crate) fn utc(at: Timestamp) -> Instant {
        Instant(at.to_string())
    }

    pub(crate) fn local(at: Timestamp, zone: &Zone) -> Instant {
        Instant(zone.rfc3339(at))
    }
}

/// Converts the speed of a world to JSON: a number, or `max`.
pub(crate) fn speed(speed: Speed) -> Value {
    match speed {
        Speed::Max => "max".into(),
        // The text has three decimals, which a double reproduces unchanged.
        speed => serde_json::from_str(&speed.to_string()).unwrap_or_default(),
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl JsonSchema for Day {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date"})
    }
}

impl JsonSchema for Instant {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Instant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}
