//! Validates every JSON response in these tests against the server's OpenAPI document. The endpoint
//! must be documented, and the response must have all documented fields and no other fields. The
//! body of every accepted request is validated too.
//!
//! Only the few keywords that the document uses are implemented here, because a complete validator
//! takes a minute to build (`docs/decisions/0008-openapi-from-the-code.md`). `e2e/python` uses a
//! complete validator.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::support::Response;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_slice(server::openapi()).unwrap());

/// Validates a response. `request` is the raw request as sent.
#[track_caller]
pub(crate) fn check(request: &[u8], response: &Response) {
    let request = String::from_utf8_lossy(request);
    let (head, sent) = request.split_once("\r\n\r\n").unwrap_or((&*request, ""));
    let mut words = request.trim_start().lines().next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = format!("/{}", path.split('?').next().unwrap_or_default().trim_start_matches('/'));
    if (200..300).contains(&response.status)
        && let Err(complaint) = held_body(method, &path, head, sent)
    {
        panic!("{method} {path} was answered, and /openapi.json does not allow it: {complaint}\n{sent}");
    }
    // The document does not describe responses in the format of an older API date.
    if response.header("x-api-date").is_some() {
        return;
    }
    let is_json = response.header("content-type").is_some_and(|kind| kind.starts_with("application/json"));
    // A byte range of a JSON body is not valid JSON, and compressed bodies have separate tests.
    let is_whole = response.status != 206 && response.header("content-encoding").is_none();
    let length = response.header("content-length").and_then(|length| length.parse::<usize>().ok());
    let body = length.and_then(|length| response.body.get(..length)).unwrap_or(&response.body);
    if !is_json || !is_whole || method == "HEAD" || body.is_empty() {
        return;
    }
    let answer: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {response:?}"));
    let status = response.status;
    if let Err(complaint) = held(method, &path, status, &answer) {
        panic!(
            "{method} {path} answered {status}, which /openapi.json does not allow: {complaint}\n{answer}"
        );
    }
}

fn held(method: &str, path: &str, status: u16, answer: &Value) -> Result<(), String> {
    fits(described(method, path, status)?, answer, "", Unknown::Fault)?;
    // A refusal in the usual format has a code, and the table must list every code.
    let table = DOCUMENT["info"]["description"].as_str().unwrap_or_default();
    match answer["code"].as_u64().filter(|_| status >= 400) {
        Some(code) if !table.contains(&format!("\n| {status} | {code} |")) => {
            Err(format!("the code {code} is not in the table of refusals"))
        }
        _ => Ok(()),
    }
}

/// Converts numbers such as 1000.0 to integers, because JSON Schema accepts them as integers.
/// Responses must not contain such numbers, because SDKs do not parse them as integers.
fn with_integers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.to_string().strip_suffix(".0").map(str::parse::<i64>) {
            Some(Ok(whole)) => whole.into(),
            _ => Value::Number(number),
        },
        Value::Array(values) => values.into_iter().map(with_integers).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, with_integers(value))).collect()
        }
        other => other,
    }
}

/// Validates a request body, except for mirrored commands, which accept fields in several
/// spellings.
fn held_body(method: &str, path: &str, head: &str, body: &str) -> Result<(), String> {
    let Some(operation) = operation(method, path) else { return Ok(()) };
    let Some(forms) = operation.get("requestBody").map(|body| &body["content"]) else { return Ok(()) };
    if operation["tags"][0] == "mirrors" || body.is_empty() {
        return Ok(());
    }
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    let mut kinds = fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kinds.next().and_then(|(_, kind)| kind.split(';').next()).unwrap_or("application/json");
    let kind = kind.trim().to_ascii_lowercase();
    let schema = forms.get(&kind).map(|form| &form["schema"]).ok_or(format!("{kind} is not described"))?;
    let value: Value = match kind.as_str() {
        "application/json" => with_integers(serde_json::from_str(body).map_err(|error| error.to_string())?),
        "application/x-www-form-urlencoded" => {
            let fields = form_urlencoded::parse(body.as_bytes()).filter(|(_, value)| !value.is_empty());
            fields.map(|(name, value)| (name.into_owned(), Value::from(value.into_owned()))).collect()
        }
        _ => return Ok(()),
    };
    fits(schema, &value, "", Unknown::AsDescribed)
}

/// Returns the schema of a response.
fn described(method: &str, path: &str, status: u16) -> Result<&'static Value, String> {
    let Some(operation) = operation(method, path) else {
        // The refusal for an unknown path has the common format.
        let problem = &DOCUMENT["components"]["schemas"]["Problem"];
        return if status < 400 { Err("it is not described".to_owned()) } else { Ok(problem) };
    };
    let answers = &operation["responses"];
    let otherwise = || answers.get("default").filter(|_| status >= 400);
    let answer = answers.get(status.to_string()).or_else(otherwise).ok_or("its status is not described")?;
    let answer = answer["$ref"].as_str().map_or(answer, named);
    answer
        .pointer("/content/application~1json/schema")
        .ok_or_else(|| "it is not described as JSON".to_owned())
}

/// Finds the operation of a path. A literal segment takes precedence over a parameter.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let is_it =
        |(wanted, there): (&str, &str)| wanted == there || (wanted.starts_with('{') && !there.is_empty());
    let fits = |template: &str| {
        template.split('/').count() == path.split('/').count()
            && template.split('/').zip(path.split('/')).all(is_it)
    };
    let document: &'static Value = &DOCUMENT;
    let paths = document["paths"].as_object()?.iter().filter(|(template, _)| fits(template));
    let (_, methods) = paths.min_by_key(|(template, _)| template.matches('{').count())?;
    methods.get(method.to_ascii_lowercase())
}

fn named(reference: &str) -> &'static Value {
    DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{reference}"))
}

/// How to treat a field that is not in the schema.
#[derive(Clone, Copy)]
enum Unknown {
    /// An unknown field is always an error. Used for responses.
    Fault,
    /// An unknown field is an error only if the schema forbids it, because some requests ignore
    /// unknown fields.
    AsDescribed,
}

/// Checks a value against a schema. Returns the first mismatch as an error.
fn fits(schema: &'static Value, value: &Value, at: &str, unknown: Unknown) -> Result<(), String> {
    if let Value::Bool(anything) = schema {
        return if *anything { Ok(()) } else { Err(format!("{at}: {value} is not described")) };
    }
    let rules = schema.as_object().unwrap_or_else(|| panic!("{schema} is no schema"));
    for (keyword, rule) in rules {
        let holds = match keyword.as_str() {
            "description" | "default" => true,
            "$ref" => return fits(named(rule.as_str().unwrap()), value, at, unknown),
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => match rule {
                Value::Array(types) => types.iter().any(|one| is_of_type(one, value)),
                one => is_of_type(one, value),
            },
            "format" => has_format(rule.as_str().unwrap(), value),
            "minimum" => value.as_i64().is_none_or(|number| number >= rule.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|number| number <= rule.as_i64().unwrap()),
            "maxLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap())
            }
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "required" => {
                rule.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "properties" => {
                fields_fit(rules, value, at, unknown)?;
                true
            }
            "additionalProperties" if rules.contains_key("properties") => true,
            "additionalProperties" => {
                fields_fit(rules, value, at, unknown)?;
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    fits(rule, item, &format!("{at}/{index}"), unknown)?;
                }
                true
            }
            "anyOf" => rule.as_array().unwrap().iter().any(|one| fits(one, value, at, unknown).is_ok()),
            "oneOf" => {
                rule.as_array().unwrap().iter().filter(|one| fits(one, value, at, unknown).is_ok()).count()
                    == 1
            }
            other => panic!("{other} is not known: say what it means"),
        };
        if !holds {
            return Err(format!("{at}: {value} against {keyword} {rule}"));
        }
    }
    Ok(())
}

/// Checks the fields of an object. A field that is not in the schema is an error, unless the schema
/// allows any name.
fn fields_fit(
    rules: &'static Map<String, Value>,
    value: &Value,
    at: &str,
    unknown: Unknown,
) -> Result<(), String> {
    for (name, field) in value.as_object().into_iter().flatten() {
        let known = rules.get("properties").and_then(|known| known.get(name));
        match (known.or(rules.get("additionalProperties")), unknown) {
            (Some(schema), _) => fits(schema, field, &format!("{at}/{name}"), unknown)?,
            (None, Unknown::Fault) => return Err(format!("{at}: {name} is not described")),
            (None, Unknown::AsDescribed) => {}
        }
    }
    Ok(())
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other} is no type"),
    }
}

fn has_format(name: &str, value: &Value) -> bool {
    let is_text = |text: fn(&str) -> bool| value.as_str().is_none_or(text);
    match name {
        "date" => is_text(|text| text.parse::<market::Date>().is_ok_and(|date| date.to_string() == text)),
        "date-time" => is_text(|text| text.parse::<jiff::Timestamp>().is_ok()),
        "int32" => value.as_i64().is_none_or(|number| i32::try_from(number).is_ok()),
        "uint8" => value.as_i64().is_none_or(|number| u8::try_from(number).is_ok()),
        "uint32" => value.as_i64().is_none_or(|number| u32::try_from(number).is_ok()),
        // JSON has one number type, so every number matches.
        "double" => true,
        "int64" => !value.is_u64() || value.is_i64(),
        "uint" | "uint64" => !value.is_i64() || value.is_u64(),
        other => panic!("{other} is not known: say what it means"),
    }
}

#[test]
fn an_undocumented_request_body_is_detected() {
    let set = |body: &str| held_body("POST", "/v1/admin/accounts/ann", "", body);
    assert_eq!(set(r#"{"level": null, "connections": 3}"#), Ok(()));
    for body in [r#"{"connections": null}"#, r#"{"level": "3"}"#, r#"{"name": "eve"}"#, "[]", "{"] {
        assert!(set(body).is_err(), "{body}");
    }
    let form = "content-type: application/x-www-form-urlencoded";
    let token = |body: &str| held_body("POST", "/oauth2/token", form, body);
    assert_eq!(token("grant_type=refresh_token&refresh_token=x&scope="), Ok(()));
    assert!(token("refresh_token=x").is_err());
    assert!(token("grant_type=password").is_err());
    let report = |kind: &str, body: &str| held_body("POST", "/v1/admin/rates", kind, body);
    assert_eq!(report("content-type: text/csv", "currency,day,rate\n"), Ok(()));
    assert_eq!(report("", r#"{"rows": [{"currency": "USD", "rate": "7.8"}]}"#), Ok(()));
    assert!(report("", r#"{"rows": [{"currency": "USD", "rating": "7.8"}]}"#).is_err());
    assert!(report("content-type: text/plain", "x").is_err());
}

#[test]
fn an_undocumented_response_is_detected() {
    let me = json!({"account": "ann", "role": "user", "csrf": null, "unlimited": false, "store": null});
    let ask =
        |data: &Value| held("GET", "/v1/me", 200, &json!({"code": 0, "message": "success", "data": data}));
    assert_eq!(ask(&me), Ok(()));
    for (field, value) in
        [("role", json!("king")), ("csrf", json!(7)), ("age", json!(7)), ("account", Value::Null)]
    {
        let mut other = me.clone();
        other[field] = value;
        assert!(ask(&other).is_err(), "{other}");
    }
    assert!(ask(&json!({"account": "ann", "role": "user"})).is_err());
    assert!(ask(&Value::Null).is_err());
    // The formats of dates and timestamps are checked.
    let token = |at: &str| {
        let data = json!({"token": "x", "expired_at": at});
        held("GET", "/v1/token/refresh", 200, &json!({"code": 0, "message": "success", "data": data}))
    };
    assert_eq!(token("2026-11-15T02:00:00Z"), Ok(()));
    assert!(token("tomorrow").is_err());
    // A refusal may have an undocumented status, but a success may not.
    let refusal = json!({"code": 404, "message": "not found", "data": null});
    assert_eq!(held("GET", "/v1/me", 404, &refusal), Ok(()));
    assert_eq!(held("GET", "/nowhere", 404, &refusal), Ok(()));
    assert_eq!(held("DELETE", "/v1/connections/7", 404, &refusal), Ok(()));
    assert!(held("GET", "/v1/me", 201, &refusal).is_err());
    assert!(held("GET", "/v1/me", 404, &json!({"code": 405, "message": "not found", "data": null})).is_err());
    assert!(held("GET", "/nowhere", 200, &me).is_err());
    assert!(held("GET", "/v1/me", 404, &json!({"error": "not found"})).is_err());
}
