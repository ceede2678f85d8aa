//! OpenAPI description of an endpoint, referenced by its row. Bodies are described by the types
//! that are actually deserialized and serialized, so the document matches the data.
//! `http/document/` assembles `GET /openapi.json` from the descriptions.

pub(crate) mod refusals;

use access::{Region, Right, Role};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::codes;
use super::counter;
use super::envelope::{ProblemBody, Success};

/// Description of one endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc {
    /// The `operationId`, which generated clients use as the method name.
    pub(crate) id: &'static str,
    pub(crate) tag: Tag,
    pub(crate) summary: &'static str,
    pub(crate) about: Option<&'static str>,
    pub(crate) credentials: Credentials,
    pub(crate) parameters: &'static [Parameter],
    /// Additional path parameters, for endpoints with several paths.
    pub(crate) path: &'static [Parameter],
    /// Accepted request body formats. Empty if the body is not read.
    pub(crate) body: &'static [Media],
    pub(crate) answers: &'static [AnswerDoc],
    /// Refusals other than those for authentication and authorization.
    pub(crate) refusals: &'static [RefusalDoc],
}

/// Tags that group the endpoints in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Candles,
    Udf,
    Mirrors,
    Service,
    Account,
    Trade,
    Community,
    Admin,
    OAuth,
    Pages,
    NotOffered,
}

/// How the caller is authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// As declared by the row.
    ByRow,
    /// No credentials, although the row is for monitoring.
    None,
    /// The registration access token of an OAuth client.
    Registration,
}

/// A path, query or header parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// Location of the parameter: `path`, `query` or `header`.
    pub(crate) place: &'static str,
    pub(crate) is_required: bool,
    pub(crate) kind: Kind,
    pub(crate) default: Option<Word>,
    pub(crate) example: Option<&'static str>,
    pub(crate) words: &'static str,
}

/// Type of a parameter or header.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    TextUpTo(usize),
    Pattern(&'static str),
    OneOf(&'static [&'static str]),
    Date,
    Instant,
    Whole,
    Stamp,
    AtLeast(u32),
    Between(u32, u32),
    NumberOf(&'static [i32]),
}

/// Default value of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    Text(&'static str),
    Number(u32),
}

/// Adds a type's schema to the generator, which collects all schemas.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// One media type of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Media {
    pub(crate) kind: &'static str,
    pub(crate) shape: Shape,
    pub(crate) words: Option<&'static str>,
    pub(crate) example: Option<&'static str>,
}

/// A response other than the shared refusals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerDoc {
    pub(crate) status: &'static str,
    pub(crate) words: &'static str,
    pub(crate) headers: &'static [HeaderDoc],
    pub(crate) forms: &'static [Media],
}

/// A refusal shared by several endpoints and described once under its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusalDoc {
    /// HTTP status, or `default` for every status that is not listed.
    pub(crate) status: &'static str,
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    /// Codes that `kit/codes.rs` defines for this status, used instead of `words`.
    pub(crate) codes: &'static [u64],
    pub(crate) headers: &'static [HeaderDoc],
    pub(crate) shape: Shape,
}

/// A response header, described once under its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderDoc {
    pub(crate) field: &'static str,
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) kind: Kind,
}

impl Doc {
    pub(crate) const fn new(tag: Tag, id: &'static str, summary: &'static str) -> Doc {
        Doc {
            id,
            tag,
            summary,
            about: None,
            credentials: Credentials::ByRow,
            parameters: &[],
            path: &[],
            body: &[],
            answers: &[],
            refusals: &[],
        }
    }

    /// Returns whether the endpoint has a `symbol` parameter, which clients may also send as a
    /// counter id.
    pub(crate) fn has_symbol(&self) -> bool {
        self.parameters.iter().any(Parameter::is_symbol)
    }

    pub(crate) const fn about(self, about: &'static str) -> Doc {
        Doc { about: Some(about), ..self }
    }

    pub(crate) const fn credentials(self, credentials: Credentials) -> Doc {
        Doc { credentials, ..self }
    }

    pub(crate) const fn parameters(self, parameters: &'static [Parameter]) -> Doc {
        Doc { parameters, ..self }
    }

    /// Describes the same endpoint at another path.
    pub(crate) const fn also(self, id: &'static str, path: &'static [Parameter]) -> Doc {
        Doc { id, path, ..self }
    }

    pub(crate) const fn body(self, body: &'static [Media]) -> Doc {
        Doc { body, ..self }
    }

    pub(crate) const fn answers(self, answers: &'static [AnswerDoc]) -> Doc {
        Doc { answers, ..self }
    }

    pub(crate) const fn refuses(self, refusals: &'static [RefusalDoc]) -> Doc {
        Doc { refusals, ..self }
    }
}

impl Parameter {
    /// Parameter that is documented with every `symbol` query parameter, as its alternative.
    pub(crate) const COUNTER_ID: Parameter = Parameter::query(
        counter::COUNTER_ID,
        Kind::Text,
        "Alternative to symbol: type, market and code, such as ST/HK/700, ETF/US/SPY or IX/US/.DJI",
    );

    pub(crate) fn is_symbol(&self) -> bool {
        (self.place, self.name) == ("query", "symbol")
    }

    pub(crate) const fn path(name: &'static str, words: &'static str) -> Parameter {
        Parameter { is_required: true, ..Parameter::new(name, "path", Kind::Text, words) }
    }

    pub(crate) const fn query(name: &'static str, kind: Kind, words: &'static str) -> Parameter {
        Parameter::new(name, "query", kind, words)
    }

    pub(crate) const fn header(name: &'static str, kind: Kind, words: &'static str) -> Parameter {
        Parameter::new(name, "header", kind, words)
    }

    const fn new(name: &'static str, place: &'static str, kind: Kind, words: &'static str) -> Parameter {
        Parameter { name, place, is_required: false, kind, default: None, example: None, words }
    }

    pub(crate) const fn required(self) -> Parameter {
        Parameter { is_required: true, ..self }
    }

    /// Sets the default value of the parameter.
    pub(crate) const fn or(self, default: Word) -> Parameter {
        Parameter { default: Some(default), ..self }
    }

    pub(crate) const fn such_as(self, example: &'static str) -> Parameter {
        Parameter { example: Some(example), ..self }
    }
}

impl Kind {
    pub(crate) fn schema(self) -> Schema {
        match self {
            Kind::Text => json_schema!({"type": "string"}),
            Kind::TextUpTo(length) => json_schema!({"type": "string", "maxLength": length}),
            Kind::Pattern(pattern) => json_schema!({"type": "string", "pattern": pattern}),
            Kind::OneOf(words) => one_of(words),
            Kind::Date => json_schema!({"type": "string", "format": "date"}),
            Kind::Instant => json_schema!({"type": "string", "format": "date-time"}),
            Kind::Whole => json_schema!({"type": "integer"}),
            Kind::Stamp => json_schema!({"type": "integer", "format": "int64"}),
            Kind::AtLeast(least) => json_schema!({"type": "integer", "minimum": least}),
            Kind::Between(least, most) => {
                json_schema!({"type": "integer", "minimum": least, "maximum": most})
            }
            Kind::NumberOf(numbers) => json_schema!({"type": "integer", "enum": numbers}),
        }
    }
}

/// Returns the schema of a string enumeration.
pub(crate) fn one_of(words: &[&str]) -> Schema {
    json_schema!({"type": "string", "enum": words})
}

/// Defines types that are used only as schemas, for responses and forms that are serialized or
/// deserialized in another way.
macro_rules! described_only {
    ($($item:item)*) => {
        $(
            #[derive(schemars::JsonSchema)]
            #[expect(dead_code, reason = "its shape alone is used")]
            $item
        )*
    };
}
pub(crate) use described_only;

/// Removes null from the field types of a form, because form fields are text or absent.
pub(crate) fn of_form(schema: &mut Schema) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(|fields| fields.values_mut()) {
        if let Some(kind) = field.get_mut("type").filter(|kind| kind.is_array()) {
            *kind = "string".into();
        }
    }
}

impl Word {
    pub(crate) fn value(self) -> Value {
        match self {
            Word::Text(text) => text.into(),
            Word::Number(number) => number.into(),
        }
    }
}

impl Media {
    pub(crate) const fn json<T: JsonSchema>() -> Media {
        Media::new("application/json", named::<T>)
    }

    pub(crate) const fn form<T: JsonSchema>() -> Media {
        Media::new("application/x-www-form-urlencoded", named::<T>)
    }

    /// Describes a text format without a schema.
    pub(crate) const fn text(kind: &'static str) -> Media {
        Media::new(kind, named::<String>)
    }

    pub(crate) const fn binary(kind: &'static str) -> Media {
        Media::new(kind, |_| json_schema!({"type": "string", "format": "binary"}))
    }

    const fn new(kind: &'static str, shape: Shape) -> Media {
        Media { kind, shape, words: None, example: None }
    }

    pub(crate) const fn about(self, words: &'static str) -> Media {
        Media { words: Some(words), ..self }
    }

    pub(crate) const fn such_as(self, example: &'static str) -> Media {
        Media { example: Some(example), ..self }
    }
}

fn named<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Describes a JSON response in the `envelope::success` format.
pub(crate) const fn data<T: JsonSchema>() -> Media {
    Media::new("application/json", named::<Success<T>>)
}

impl AnswerDoc {
    pub(crate) const fn ok(words: &'static str, forms: &'static [Media]) -> AnswerDoc {
        AnswerDoc { status: "200", words, headers: &[], forms }
    }

    pub(crate) const fn status(
        status: &'static str,
        words: &'static str,
        forms: &'static [Media],
    ) -> AnswerDoc {
        AnswerDoc { status, words, headers: &[], forms }
    }

    pub(crate) const fn headers(self, headers: &'static [HeaderDoc]) -> AnswerDoc {
        AnswerDoc { headers, ..self }
    }
}

impl RefusalDoc {
    /// Describes a refusal in the common format, which all endpoints use except OAuth and UDF.
    pub(crate) const fn new(status: &'static str, name: &'static str, codes: &'static [u64]) -> RefusalDoc {
        RefusalDoc { status, name, words: "", codes, headers: &[], shape: named::<ProblemBody> }
    }

    /// Describes a refusal in another format.
    pub(crate) const fn of<T: JsonSchema>(
        status: &'static str,
        name: &'static str,
        words: &'static str,
    ) -> RefusalDoc {
        RefusalDoc { status, name, words, codes: &[], headers: &[], shape: named::<T> }
    }

    pub(crate) const fn headers(self, headers: &'static [HeaderDoc]) -> RefusalDoc {
        RefusalDoc { headers, ..self }
    }

    pub(crate) fn description(&self) -> String {
        if self.codes.is_empty() {
            return self.words.to_owned();
        }
        let line = |code: &u64| format!("{code}: {}", codes::meaning(self.status, *code).unwrap_or_default());
        self.codes.iter().map(line).collect::<Vec<_>>().join("; ")
    }
}

impl HeaderDoc {
    pub(crate) const fn new(
        field: &'static str,
        name: &'static str,
        words: &'static str,
        kind: Kind,
    ) -> HeaderDoc {
        HeaderDoc { field, name, words, kind }
    }
}

pub(crate) fn role(_: &mut SchemaGenerator) -> Schema {
    one_of(&[Role::User, Role::Operator].map(Role::as_str))
}

pub(crate) fn region(_: &mut SchemaGenerator) -> Schema {
    one_of(&Region::ALL.map(Region::as_str))
}

pub(crate) fn package(_: &mut SchemaGenerator) -> Schema {
    one_of(&Right::ALL.map(Right::as_str))
}
