//! Builds the OpenAPI 3.1 document from the route rows and their documentation.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::frame;
use crate::kit::doc::refusals::{FAILED, FORBIDDEN, OTHERWISE, TRACE_ID, UNAUTHENTICATED};
use crate::kit::doc::{AnswerDoc, Doc, HeaderDoc, Media, Parameter, RefusalDoc, Tag};
use crate::kit::{Row, counter};

/// Two schema generators. In responses all fields are required; in requests only fields without a
/// default are.
struct Assembly {
    read: SchemaGenerator,
    written: SchemaGenerator,
    headers: Map<String, Value>,
    responses: Map<String, Value>,
}

pub(super) fn document<'a>(rows: impl Iterator<Item = &'a Row>) -> Value {
    let settings = || {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
    };
    let mut assembly = Assembly {
        read: settings().for_deserialize().into_generator(),
        written: settings().for_serialize().into_generator(),
        headers: Map::new(),
        responses: Map::new(),
    };
    let mut paths: Map<String, Value> = Map::new();
    for row in rows {
        let Some(doc) = row.doc else { continue };
        let path = paths.entry(row.path).or_insert_with(|| Map::new().into());
        if let Some(methods) = path.as_object_mut() {
            methods.insert(row.method.to_ascii_lowercase(), assembly.operation(row, doc));
        }
    }
    let (mut schemas, written) =
        (assembly.read.take_definitions(true), assembly.written.take_definitions(true));
    for (_, schema) in schemas.iter_mut().filter(|(name, _)| !written.contains_key(*name)) {
        add_counter_id(schema);
    }
    for (name, schema) in written {
        debug_assert!(schemas.get(&name).is_none_or(|read| *read == schema), "{name} means two things");
        schemas.insert(name, schema);
    }
    json!({
        "openapi": "3.1.0",
        "info": frame::info(),
        "tags": frame::tags(),
        "security": frame::usual_security(),
        "paths": paths,
        "components": {
            "securitySchemes": frame::security_schemes(),
            "headers": assembly.headers,
            "responses": assembly.responses,
            "schemas": schemas,
        },
    })
}

impl Assembly {
    fn operation(&mut self, row: &Row, doc: &Doc) -> Value {
        let mut operation = Map::new();
        let mut put = |name: &str, value: Value| operation.insert(name.to_owned(), value);
        put("operationId", doc.id.into());
        put("summary", doc.summary.into());
        put("tags", json!([frame::name(doc.tag)]));
        put("security", frame::security(row, doc));
        if let Some(about) = doc.about {
            put("description", about.into());
        }
        let parameters: Vec<Value> = doc
            .path
            .iter()
            .chain(doc.parameters)
            .flat_map(with_counter_id)
            .map(|one| parameter(&one))
            .collect();
        if !parameters.is_empty() {
            put("parameters", parameters.into());
        }
        if !doc.body.is_empty() {
            let content = content(doc.body, &mut self.read);
            // A command that is not offered is always refused, so the document does not require a
            // body.
            put("requestBody", json!({"required": doc.tag != Tag::NotOffered, "content": content}));
        }
        put("responses", self.answers(row, doc));
        operation.into()
    }

    fn answers(&mut self, row: &Row, doc: &Doc) -> Value {
        let mut answers = Map::new();
        for answer in doc.answers {
            answers.insert(answer.status.to_owned(), self.answer(answer));
        }
        let proved: &[RefusalDoc] =
            if row.needs_proof() { &[UNAUTHENTICATED, FORBIDDEN, FAILED] } else { &[] };
        // Pages report errors in HTML.
        let others: &[RefusalDoc] = if doc.tag == Tag::Pages { &[] } else { &[OTHERWISE] };
        for refusal in doc.refusals.iter().chain(proved).chain(others) {
            if !answers.contains_key(refusal.status) {
                answers.insert(refusal.status.to_owned(), self.refusal(refusal));
            }
        }
        answers.into()
    }

    fn answer(&mut self, answer: &AnswerDoc) -> Value {
        let mut response = Map::new();
        response.insert("description".to_owned(), answer.words.into());
        response.insert("headers".to_owned(), self.headers(answer.headers));
        if !answer.forms.is_empty() {
            response.insert("content".to_owned(), content(answer.forms, &mut self.written));
        }
        response.into()
    }

    /// Returns a reference to the refusal, which is defined once in the document's components.
    fn refusal(&mut self, refusal: &RefusalDoc) -> Value {
        if !self.responses.contains_key(refusal.name) {
            let schema = (refusal.shape)(&mut self.written);
            let response = json!({
                "description": refusal.description(),
                "headers": self.headers(refusal.headers),
                "content": {"application/json": {"schema": schema}},
            });
            self.responses.insert(refusal.name.to_owned(), response);
        }
        json!({"$ref": format!("#/components/responses/{}", refusal.name)})
    }

    fn headers(&mut self, headers: &[HeaderDoc]) -> Value {
        let mut named = Map::new();
        for header in [&TRACE_ID].into_iter().chain(headers) {
            let HeaderDoc { field, name, words, kind } = *header;
            self.headers
                .entry(name)
                .or_insert_with(|| json!({"description": words, "schema": kind.schema()}));
            named.insert(field.to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
        }
        named.into()
    }
}

/// Returns the parameter. For a symbol, also returns its alternative, `counter_id`, and marks both
/// as optional, because OpenAPI cannot express that one of the two is required.
fn with_counter_id(parameter: &Parameter) -> impl Iterator<Item = Parameter> {
    let is_symbol = parameter.is_symbol();
    let own = Parameter { is_required: parameter.is_required && !is_symbol, ..*parameter };
    std::iter::once(own).chain(is_symbol.then_some(Parameter::COUNTER_ID))
}

/// Adds `counter_id` to a request body schema that contains a symbol.
fn add_counter_id(schema: &mut Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let Some(symbol) = properties.get("symbol") else { return };
    let mut described = json!({"description": Parameter::COUNTER_ID.words});
    if let (Some(described), Some(kind)) = (described.as_object_mut(), symbol.get("type")) {
        described.insert("type".to_owned(), kind.clone());
        described.extend(symbol.get("items").map(|items| ("items".to_owned(), items.clone())));
    }
    properties.insert(counter::COUNTER_ID.to_owned(), described);
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != "symbol");
    }
}

fn parameter(parameter: &Parameter) -> Value {
    let Parameter { name, place, is_required, kind, default, example, words } = *parameter;
    let mut schema = kind.schema();
    if let Some(default) = default {
        schema.insert("default".to_owned(), default.value());
    }
    let mut described = Map::new();
    described.insert("name".to_owned(), name.into());
    described.insert("in".to_owned(), place.into());
    described.insert("schema".to_owned(), schema.into());
    described.insert("description".to_owned(), words.into());
    if is_required {
        described.insert("required".to_owned(), true.into());
    }
    if let Some(example) = example {
        described.insert("example".to_owned(), example.into());
    }
    described.into()
}

fn content(forms: &[Media], generator: &mut SchemaGenerator) -> Value {
    let mut content = Map::new();
    for form in forms {
        let mut schema = (form.shape)(generator);
        if let Some(words) = form.words {
            schema.insert("description".to_owned(), words.into());
        }
        let mut media = Map::new();
        media.insert("schema".to_owned(), schema.into());
        if let Some(example) = form.example {
            media.insert("example".to_owned(), example.into());
        }
        content.insert(form.kind.to_owned(), media.into());
    }
    content.into()
}
