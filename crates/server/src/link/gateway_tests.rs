use super::*;

fn line() -> Lineage {
    Lineage::new().unwrap()
}

#[test]
fn clients_are_remembered_by_lineage_up_to_a_limit() {
    let clients = Clients::default();
    let first = line();
    clients.remember(first, UsedGateway::Trade);
    assert_eq!((clients.recall(first), clients.recall(line())), (UsedGateway::Trade, UsedGateway::Unknown));
    for _ in 1..REMEMBERED_MAX {
        clients.remember(line(), UsedGateway::Quote);
    }
    assert_eq!(clients.recall(first), UsedGateway::Trade);
    // A client that switches gateways is not stored twice.
    clients.remember(first, UsedGateway::Quote);
    assert_eq!(clients.recall(first), UsedGateway::Quote);
    clients.remember(line(), UsedGateway::Trade);
    assert_eq!(clients.recall(first), UsedGateway::Unknown, "the oldest is forgotten");
    let remembered = clients.0.lock().unwrap();
    assert_eq!((remembered.used.len(), remembered.order.len()), (REMEMBERED_MAX, REMEMBERED_MAX));
}

#[test]
fn clients_that_identify_themselves_are_not_stored() {
    let clients = Clients::default();
    let of = |metadata| Mixed::of(metadata, Program::Other, SignedInBy::Password, line(), None, &clients);
    of(Metadata::OfQuotes).learn(command::PROFILE, &[], &clients);
    // Empty and undecodable bodies are not stored either.
    of(Metadata::Plain).learn(SUBSCRIBE, &[], &clients);
    of(Metadata::Plain).learn(SUBSCRIBE, &[0x0a, 0x7f], &clients);
    of(Metadata::Plain).learn(UNSUBSCRIBE, &[0x0a, 1, b'x'], &clients);
    of(Metadata::OfQuotes).learn(command::HISTORY, &[], &clients);
    assert!(clients.0.lock().unwrap().order.is_empty());
}

#[test]
fn only_a_varint_in_field_two_is_a_count() {
    for (body, wanted) in [
        (&[][..], false),
        (&[0x0a, 1, b'x'], false),
        (&[0x0a, 1, b'x', 0x10, 5], true),
        (&[0x10, 0], true),
        (&[0x10, 5, 0x0a, 1, b'x'], true),
        (&[0x18, 9, 0x10, 5], true),
        // Bytes in field 2, a number in field 1, a number in field 3.
        (&[0x12, 1, 5], false),
        (&[0x08, 5], false),
        (&[0x18, 5], false),
        // Truncated messages.
        (&[0x0a, 9, 0x10, 5], false),
        (&[0xff], false),
    ] {
        assert_eq!(has_count(body), wanted, "{body:?}");
    }
}

#[test]
fn the_last_segment_of_a_path_names_the_gateway() {
    for (path, kind) in [
        ("/quote", GatewayKind::Quote),
        ("/v2/quote", GatewayKind::Quote),
        ("/v2/quote/", GatewayKind::Quote),
        ("//quote", GatewayKind::Quote),
        ("/trade", GatewayKind::Trade),
        ("/behind/a/proxy/trade//", GatewayKind::Trade),
        ("/", GatewayKind::Mixed),
        ("", GatewayKind::Mixed),
        ("/v2", GatewayKind::Mixed),
        ("/trade/v2", GatewayKind::Mixed),
        ("/Trade", GatewayKind::Mixed),
        ("/quotes", GatewayKind::Mixed),
    ] {
        assert_eq!(GatewayKind::of_path(path), kind, "{path}");
    }
}
