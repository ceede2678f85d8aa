use access::{AuthorizationError, Grant};

use super::*;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn with_verifier<'a>(code: &'a str, verifier: Option<&'a str>) -> Grant<'a> {
    Grant::Code { code, redirect_uri: Some(BACK), verifier }
}

#[test]
fn an_authorization_code_is_redeemed_for_tokens() {
    let house = house();
    let query =
        format!("response_type=code&client_id={}&state=a%26b&redirect_uri={BACK}", house.client.client.id);
    let request = house.access().check_authorization(&query).unwrap();
    assert_eq!((request.client.name.as_str(), request.redirect_uri.as_str()), ("ana@lab", BACK));
    assert_eq!((request.scope.as_str(), request.state.as_deref()), ("openapi", Some("a&b")));
    let url = house.access().approve_authorization(&request, house.us, NOW).unwrap();
    assert!(url.starts_with(&format!("{BACK}?code=")) && url.ends_with("&state=a%26b"), "{url}");
    let tokens = house.redeem(&parameter(&url, "code").unwrap(), MOMENT).unwrap();
    let caller = crate::fixture::bearer(house.access(), tokens.access_token.expose()).unwrap();
    assert_eq!(caller.account(), house.us);
    assert_eq!((house.audited("code.approved"), house.audited("tokens.issued")), (1, 1));
}

#[test]
fn a_denial_is_reported_to_the_client() {
    let house = house();
    let query = format!("response_type=code&client_id={}&state=s", house.client.client.id);
    let request = house.access().check_authorization(&query).unwrap();
    for account in [Some(house.ap), None] {
        let url = house.access().deny_authorization(&request, account, NOW).unwrap();
        assert_eq!(url, format!("{BACK}?error=access_denied&state=s"));
    }
    assert_eq!(house.audited("code.denied"), 2);
}

#[test]
fn using_a_code_twice_revokes_its_tokens() {
    let house = house();
    let code = house.code(house.ap, "");
    let tokens = house.redeem(&code, MOMENT).unwrap();
    let other = house.tokens(house.ap);
    assert_eq!(error(house.redeem(&code, later(3_600))), "invalid_grant");
    assert!(crate::fixture::bearer(house.access(), tokens.access_token.expose()).is_err());
    assert_eq!(error(house.refresh(tokens.refresh_token.expose(), MOMENT)), "invalid_grant");
    crate::fixture::bearer(house.access(), other.access_token.expose()).unwrap();
    assert_eq!(error(house.redeem(&code, MOMENT)), "invalid_grant");
    assert_eq!(house.audited("tokens.revoked"), 1);
}

#[test]
fn concurrent_redemptions_of_a_code_revoke_its_tokens() {
    let house = house();
    let code = house.code(house.ap, "");
    let issued: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..32).map(|_| scope.spawn(|| usize::from(house.redeem(&code, MOMENT).is_ok()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(issued, 1);
    assert!(house.access().sign_ins(house.ap, NOW).unwrap().is_empty());
}

#[test]
fn a_code_expires_after_two_minutes() {
    let house = house();
    let (in_time, late) = (house.code(house.ap, ""), house.code(house.ap, ""));
    house.redeem(&in_time, later(119)).unwrap();
    assert_eq!(error(house.redeem(&late, later(120))), "invalid_grant");
    assert_eq!(house.audited("tokens.revoked"), 0);
}

#[test]
fn a_code_is_bound_to_its_client_address_and_region() {
    let house = house();
    let other = register(house.access(), &usual());
    let code = house.code(house.us, "");
    let redeem = |client: &PresentedClient<'_>, redirect_uri: Option<&str>, serves| {
        let grant = Grant::Code { code: &code, redirect_uri, verifier: None };
        house.access().redeem(client, &grant, serves, MOMENT)
    };
    assert_eq!(error(redeem(&credentials(&other), Some(BACK), None)), "invalid_grant");
    for address in [None, Some(""), Some("http://localhost:60356/callback"), Some("https://example.com/")] {
        assert_eq!(error(redeem(&house.credentials(), address, None)), "invalid_grant", "{address:?}");
    }
    assert_eq!(error(redeem(&house.credentials(), Some(BACK), Some(Region::Ap))), "invalid_grant");
    for unknown in ["", "unknown", &code.to_lowercase(), &"x".repeat(10_000)] {
        assert_eq!(error(house.redeem(unknown, MOMENT)), "invalid_grant");
    }
    // None of the refused attempts has consumed the code.
    redeem(&house.credentials(), Some(BACK), Some(Region::Us)).unwrap();
}

#[test]
fn pkce_is_optional_but_verified_if_used() {
    let house = house();
    let challenged = format!("&code_challenge={CHALLENGE}&code_challenge_method=S256");
    let plain = format!("&code_challenge={VERIFIER}");
    let redeem = |code: &str, verifier: Option<&str>| {
        house.access().redeem(&house.credentials(), &with_verifier(code, verifier), None, MOMENT)
    };
    for more in [&challenged, &plain] {
        let code = house.code(house.ap, more);
        for wrong in [None, Some(""), Some(&*"x".repeat(43)), Some("short")] {
            assert_eq!(error(redeem(&code, wrong)), "invalid_grant", "{wrong:?}");
        }
        redeem(&code, Some(VERIFIER)).unwrap();
    }
    let without = house.code(house.ap, "");
    assert_eq!(error(redeem(&without, Some(VERIFIER))), "invalid_grant");
    redeem(&without, None).unwrap();
}

#[test]
fn a_client_with_one_redirect_address_may_omit_it() {
    let house = house();
    let query = format!("response_type=code&client_id={}", house.client.client.id);
    let request = house.access().check_authorization(&query).unwrap();
    for named in [None, Some(BACK)] {
        let url = house.access().approve_authorization(&request, house.ap, NOW).unwrap();
        let code = parameter(&url, "code").unwrap();
        let redeem = |redirect_uri| {
            let grant = Grant::Code { code: &code, redirect_uri, verifier: None };
            house.access().redeem(&house.credentials(), &grant, None, MOMENT)
        };
        assert_eq!(error(redeem(Some("https://example.com/"))), "invalid_grant");
        redeem(named).unwrap();
    }
    let redirect_uris = vec![BACK.to_owned(), "https://example.com/".to_owned()];
    let two = register(house.access(), &NewClient { redirect_uris, ..usual() });
    let query = format!("response_type=code&client_id={}", two.client.id);
    assert!(matches!(house.access().check_authorization(&query), Err(AuthorizationError::Page(_))));
}

#[test]
fn a_loopback_redirect_may_use_any_port() {
    let house = house();
    let named = "http://localhost:51234/callback";
    let query = format!("response_type=code&client_id={}&redirect_uri={named}", house.client.client.id);
    let request = house.access().check_authorization(&query).unwrap();
    let url = house.access().approve_authorization(&request, house.ap, NOW).unwrap();
    let code = parameter(&url, "code").unwrap();
    assert!(url.starts_with(named));
    assert_eq!(error(house.redeem(&code, MOMENT)), "invalid_grant", "the port that was named counts");
    let grant = Grant::Code { code: &code, redirect_uri: Some(named), verifier: None };
    house.access().redeem(&house.credentials(), &grant, None, MOMENT).unwrap();
}

#[test]
fn an_unknown_client_or_address_gets_no_redirect() {
    let house = house();
    let id = &house.client.client.id;
    for query in [
        String::new(),
        "response_type=code".to_owned(),
        "response_type=code&client_id=unknown&redirect_uri=https://evil.example/".to_owned(),
        format!("response_type=code&client_id={id}&redirect_uri=https://evil.example/"),
        format!("response_type=code&client_id={id}&redirect_uri={BACK}/more"),
        format!("response_type=code&client_id={id}&redirect_uri={BACK}%23x"),
        format!("response_type=code&client_id={id}&client_id={id}&redirect_uri={BACK}"),
        format!("response_type=code&client_id={id}&redirect_uri={BACK}&redirect_uri=https://evil.example/"),
        format!("response_type=code&client_id={id}&state={}", "x".repeat(10_000)),
    ] {
        let refused = house.access().check_authorization(&query);
        assert!(matches!(refused, Err(AuthorizationError::Page(_))), "{query}: {refused:?}");
    }
}

#[test]
fn other_errors_are_reported_to_the_client_with_its_state() {
    let house = house();
    let id = &house.client.client.id;
    for (more, says) in [
        ("", "invalid_request"),
        ("&response_type=", "invalid_request"),
        ("&response_type=token", "unsupported_response_type"),
        ("&response_type=code&response_type=code", "invalid_request"),
        ("&response_type=code&scope=openid", "invalid_scope"),
        ("&response_type=code&code_challenge=short", "invalid_request"),
        ("&response_type=code&code_challenge_method=S256", "invalid_request"),
        (
            &format!("&response_type=code&code_challenge={CHALLENGE}&code_challenge_method=S512"),
            "invalid_request",
        ),
    ] {
        let query = format!("client_id={id}&redirect_uri={BACK}&state=s{more}");
        let refused = house.access().check_authorization(&query);
        let Err(AuthorizationError::Client(bad)) = refused else { panic!("{more}: {refused:?}") };
        assert!(bad.back.starts_with(&format!("{BACK}?error={says}&error_description=")), "{bad:?}");
        assert!(bad.back.ends_with("&state=s"), "{bad:?}");
        assert_eq!((bad.code, bad.redirect_uri.as_str(), &bad.client.id), (says, BACK, id));
    }
    let long = format!("response_type=code&client_id={id}&redirect_uri={BACK}&state={}", "x".repeat(1_025));
    let refused = house.access().check_authorization(&long);
    assert!(matches!(refused, Err(AuthorizationError::Client(bad)) if !bad.back.contains("state=")));
}

#[test]
fn unknown_parameters_are_ignored() {
    let house = house();
    let query = format!(
        "response_type=code&client_id={}&redirect_uri={BACK}&access_type=offline&prompt=consent&scope=&scope_=x",
        house.client.client.id
    );
    let request = house.access().check_authorization(&query).unwrap();
    assert_eq!((request.scope.as_str(), request.state), ("openapi", None));
}

#[test]
fn a_public_client_with_a_remote_redirect_needs_pkce() {
    use access::PkceRule;
    const CHALLENGE: &str =
        "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";
    for (rule, local, remote) in
        [(PkceRule::Always, false, false), (PkceRule::Remote, true, false), (PkceRule::Never, true, true)]
    {
        let house = house();
        let access = house.fresh.access.with_pkce(rule);
        for (address, allowed) in [
            ("http://localhost:60355/callback", local),
            ("http://127.0.0.1:9/cb", local),
            ("http://[::1]/cb", local),
            ("https://example.com/cb", remote),
            ("https://localhost/cb", remote),
            ("com.example.app:/done", remote),
        ] {
            for (method, is_public) in [("none", true), ("client_secret_post", false)] {
                let new = NewClient {
                    redirect_uris: vec![address.to_owned()],
                    auth_method: Some(method.to_owned()),
                    ..usual()
                };
                let id = register(&access, &new).client.id;
                let query = format!("response_type=code&client_id={id}&redirect_uri={address}");
                let without = access.check_authorization(&query);
                assert_eq!(without.is_ok(), allowed || !is_public, "{rule} {address} {method}");
                if let Err(AuthorizationError::Client(bad)) = without {
                    assert!(bad.text.contains("code_challenge"), "{bad:?}");
                    assert_eq!(bad.code, "invalid_request");
                }
                access.check_authorization(&format!("{query}{CHALLENGE}")).unwrap();
            }
        }
    }
}
