use access::{PresentedClient, SignedRequest, Terms};

use crate::fixture::{MOMENT, START, bearer, fresh};

#[test]
fn debug_output_contains_no_secret() {
    let fresh = fresh();
    let access = &fresh.access;
    let created = fresh.create("alice", Terms::default());
    let caller = bearer(access, created.access_token.expose()).unwrap();
    let otp = access.issue_otp(&caller, START).unwrap();
    let unused = access.issue_otp(&caller, START).unwrap();
    let signed_on = access.sign_on(otp.expose(), None, MOMENT).unwrap();
    let token = created.access_token.expose();
    let header = |_: &str| Some(token);
    let (method, path, raw_query) = ("GET", "/", token);
    let request = SignedRequest { method, path, raw_query, header: &header, body: token.as_bytes() };
    let wrong = format!("{token}x");
    let printed = format!(
        "{access:?} {access:#?} {created:?} {caller:?} {otp:?} {signed_on:?} {request:?} {:?} {:?}",
        bearer(access, &wrong),
        access.resume(&wrong, None, MOMENT.now),
    );
    let secrets = [
        created.app_secret.expose(),
        token,
        token.strip_prefix("ap_").unwrap(),
        otp.expose(),
        unused.expose(),
        signed_on.session.id.expose(),
    ];
    for secret in secrets {
        assert!(!printed.contains(secret));
    }
    let key = std::fs::read(fresh.dir.path().join("secret.key")).unwrap();
    assert!(!printed.contains(&format!("{key:?}")));
    assert!(
        printed.contains("Secret(..)") && printed.contains("Keys(..)"),
        "the test looks at the right things"
    );
}

#[test]
fn debug_output_of_a_presented_client_omits_its_secret() {
    let client = PresentedClient { id: "client-7", secret: Some("its secret") };
    assert_eq!(format!("{client:?}"), r#"PresentedClient { id: "client-7", .. }"#);
}

#[test]
fn files_contain_no_plaintext_secret() {
    let fresh = fresh();
    let created = fresh.create("alice", Terms::default());
    for entry in std::fs::read_dir(fresh.dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for secret in [created.app_secret.expose(), created.access_token.expose()] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
}
