//! What there is to ask for, and with which method.

use hyper::header::HeaderValue;

use crate::command::number;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Health,
    OpenApi,
    SocketToken,
    Announce,
    Packages,
    Candles,
    /// A command of the long connection, by its number.
    Mirror(u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Endpoint(Endpoint),
    /// Somebody asks what may be asked.
    Options(HeaderValue),
    OtherMethod(HeaderValue),
    Nothing,
}

const GET: &str = "GET";
const POST: &str = "POST";

pub(super) const ROUTES: [(&str, &str, Endpoint); 28] = [
    (GET, "/health", Endpoint::Health),
    (GET, "/openapi.json", Endpoint::OpenApi),
    (GET, "/v1/socket/token", Endpoint::SocketToken),
    (GET, "/v2/socket/token", Endpoint::SocketToken),
    (GET, "/v1/quote/cmd", Endpoint::Announce),
    (GET, "/v1/quote/my-quotes", Endpoint::Packages),
    (GET, "/v1/quote/history-candlesticks", Endpoint::Candles),
    (POST, "/quote/history-candlesticks", Endpoint::Mirror(number::HISTORY)),
    (POST, "/quote/candlesticks", Endpoint::Mirror(number::CANDLESTICKS)),
    (POST, "/quote/intraday", Endpoint::Mirror(number::INTRADAY)),
    (POST, "/quote/quotes", Endpoint::Mirror(number::QUOTE)),
    (POST, "/quote/static-info", Endpoint::Mirror(number::STATIC_INFO)),
    (POST, "/quote/markets/trading-sessions", Endpoint::Mirror(number::TRADING_SESSIONS)),
    (POST, "/quote/markets/trading-days", Endpoint::Mirror(number::TRADING_DAYS)),
    (POST, "/quote/profile", Endpoint::Mirror(number::PROFILE)),
    // Commands that the protocol has and Chandler does not: they are told so, instead of that nothing is there.
    (POST, "/quote/options/quotes", Endpoint::Mirror(12)),
    (POST, "/quote/warrants/quotes", Endpoint::Mirror(13)),
    (POST, "/quote/depth", Endpoint::Mirror(14)),
    (POST, "/quote/brokers", Endpoint::Mirror(15)),
    (POST, "/quote/participants", Endpoint::Mirror(16)),
    (POST, "/quote/trades", Endpoint::Mirror(17)),
    (POST, "/quote/options/expiry-dates", Endpoint::Mirror(20)),
    (POST, "/quote/options/strikes", Endpoint::Mirror(21)),
    (POST, "/quote/warrants/issuers", Endpoint::Mirror(22)),
    (POST, "/quote/warrants", Endpoint::Mirror(23)),
    (POST, "/quote/capital-flow", Endpoint::Mirror(24)),
    (POST, "/quote/capital-distribution", Endpoint::Mirror(25)),
    (POST, "/quote/calc-indexes", Endpoint::Mirror(26)),
];

pub(super) fn find(method: &str, path: &str) -> Found {
    // A base address that ends in a slash gives two at the front; the signature is still that of the path as sent.
    let name = path.trim_start_matches('/');
    let of_path = |route: &&(&str, &str, Endpoint)| route.1.strip_prefix('/') == Some(name);
    let wanted = if method == "HEAD" { GET } else { method };
    let found = ROUTES.iter().filter(of_path).find(|(method, ..)| *method == wanted);
    if let Some((.., endpoint)) = found {
        return Found::Endpoint(*endpoint);
    }
    let allow = match ROUTES.iter().find(of_path) {
        Some((GET, ..)) => HeaderValue::from_static("GET, HEAD, OPTIONS"),
        Some(_) => HeaderValue::from_static("POST, OPTIONS"),
        None if path == "*" => HeaderValue::from_static("GET, HEAD, POST, OPTIONS"),
        None => return Found::Nothing,
    };
    if method == "OPTIONS" { Found::Options(allow) } else { Found::OtherMethod(allow) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn document() -> Value {
        serde_json::from_str(super::super::OPENAPI).unwrap()
    }

    #[test]
    fn the_document_describes_what_there_is_and_nothing_else() {
        let document = document();
        let mut described = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                described.insert((method.to_ascii_uppercase(), path.clone()));
            }
        }
        let served: BTreeSet<_> =
            ROUTES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(served.len(), ROUTES.len(), "a route is listed twice");
        assert_eq!(described, served);
    }

    #[test]
    fn every_reference_in_the_document_leads_somewhere() {
        fn walk(value: &Value, document: &Value, seen: &mut usize) {
            match value {
                Value::Object(fields) => {
                    for (name, field) in fields {
                        if name == "$ref" {
                            let target = field.as_str().unwrap().strip_prefix('#').unwrap();
                            assert!(document.pointer(target).is_some(), "{target}");
                            *seen += 1;
                        }
                        walk(field, document, seen);
                    }
                }
                Value::Array(items) => items.iter().for_each(|item| walk(item, document, seen)),
                _ => {}
            }
        }
        let (document, mut seen) = (document(), 0);
        walk(&document, &document, &mut seen);
        assert!(seen > 50, "{seen} references");
        assert_eq!(document["openapi"], "3.1.0");
    }

    #[test]
    fn operations_have_names_of_their_own_and_the_parameters_are_the_ones_that_are_read() {
        let document = document();
        let operations: Vec<&Value> = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|p| p.as_object().unwrap().values())
            .collect();
        let names: BTreeSet<&str> =
            operations.iter().map(|one| one["operationId"].as_str().unwrap()).collect();
        assert_eq!(names.len(), operations.len());
        let parameters = &document["paths"]["/v1/quote/history-candlesticks"]["get"]["parameters"];
        let described: BTreeSet<&str> =
            parameters.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(described, super::super::parameters::KNOWN.into_iter().collect());
    }

    #[test]
    fn a_path_is_found_by_its_method_however_many_slashes_it_begins_with() {
        let token = Found::Endpoint(Endpoint::SocketToken);
        assert_eq!(find("GET", "/v1/socket/token"), token);
        assert_eq!(find("HEAD", "//v1/socket/token"), token);
        assert_eq!(find("GET", "///v2/socket/token"), token);
        assert_eq!(find("GET", "/v1//socket/token"), Found::Nothing);
        assert_eq!(
            find("get", "/health"),
            Found::OtherMethod(HeaderValue::from_static("GET, HEAD, OPTIONS"))
        );
        assert_eq!(
            find("GET", "/quote/quotes"),
            Found::OtherMethod(HeaderValue::from_static("POST, OPTIONS"))
        );
        assert_eq!(
            find("OPTIONS", "/quote/quotes"),
            Found::Options(HeaderValue::from_static("POST, OPTIONS"))
        );
        assert_eq!(
            find("OPTIONS", "*"),
            Found::Options(HeaderValue::from_static("GET, HEAD, POST, OPTIONS"))
        );
        assert_eq!(find("GET", ""), Found::Nothing);
    }
}
