//! Consent decisions by accounts of another region and by operators.

use std::net::SocketAddr;

use access::{NewAccount, Region, Role};
use server::Settings;

use super::*;

fn person_like(server: &Running, new: &NewAccount) {
    let created = server.access.create(new, &Actor::Operator, machine_now()).unwrap();
    let password = Secret::new(PASSWORD.to_owned());
    server.access.set_password(created.account_id, &password, &Actor::Operator, machine_now()).unwrap();
}

fn question(client: &str) -> String {
    let redirect = encoded(&[("redirect_uri", CALLBACK)]);
    format!("/oauth2/authorize?response_type=code&client_id={client}&state=s&{redirect}")
}

#[tokio::test]
async fn an_account_of_another_region_is_sent_to_its_listener() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let regional = vec![(Region::Us, any), (Region::Ap, any)];
    let server = Running::start_with(Settings { regional, ..Settings::default() }).await;
    person(&server, "ann");
    let at = |region| server.regional.iter().find(|(known, _)| *known == region).unwrap().1;
    let client = register(&server, "Workbench").await;
    let (device_code, code) = waiting(&server, &client).await;
    let (device, consent) = (format!("{CONFIRM}?user_code={code}"), question(&client));
    let mut browser = Browser::signed_in(&server, "ann").await;
    // Forms from the all-region listener are sent to the listener for another region.
    let marks = [hidden(&browser.get(&device).await, "csrf"), hidden(&browser.get(&consent).await, "csrf")];
    browser.at = at(Region::Us);
    let mut pages = vec![browser.get(&device).await, browser.get(&consent).await];
    for decision in ["approve", "deny"] {
        let fields = [("csrf", marks[0].as_str()), ("user_code", &code), ("decision", decision)];
        pages.push(browser.post(CONFIRM, &fields).await);
        pages.push(browser.post(&consent, &[("csrf", &marks[1]), ("decision", decision)]).await);
    }
    for page in pages {
        is_page(&page);
        assert_eq!((page.status, page.location.as_deref()), (403, None), "{}", page.text());
        let all = server.addresses.http.to_string();
        for says in ["of region ap", "for region us alone", &all, "Use another account"] {
            assert!(page.text().contains(says), "{says} in {}", page.text());
        }
        assert!(!page.text().contains("name=\"decision\""), "{}", page.text());
    }
    assert_eq!(poll(&server, &client, &device_code, "ap").await, "authorization_pending");
    browser.at = at(Region::Ap);
    assert_eq!(browser.get(&consent).await.status, 200);
    let done = browser.decide(&code, "approve").await;
    assert!(done.status == 200 && done.text().contains("<h1>Approved</h1>"), "{}", done.text());
    assert_eq!(poll(&server, &client, &device_code, "us").await, "ok");
}

#[tokio::test]
async fn operators_are_warned_that_programs_get_no_operator_rights() {
    let (server, _) = house().await;
    let new = NewAccount { role: Role::Operator, ..NewAccount::named("olga", Terms::default()) };
    person_like(&server, &new);
    let client = register(&server, "Workbench").await;
    let (_, code) = waiting(&server, &client).await;
    for (name, actual) in [("ann", false), ("olga", true)] {
        let mut browser = Browser::signed_in(&server, name).await;
        for page in [format!("{CONFIRM}?user_code={code}"), question(&client)] {
            let page = browser.get(&page).await;
            is_page(&page);
            assert_eq!(page.text().contains("none of an operator’s powers"), actual, "{}", page.text());
        }
    }
}
