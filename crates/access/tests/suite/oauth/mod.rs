//! Tests of OAuth through the public API with a real database: every error, and credentials that
//! are used twice, late, by another client or at a listener of another region.

mod clients;
mod codes;
mod devices;
mod ingest;
mod lives;
mod scopes;
mod tokens;

use std::net::IpAddr;
use std::time::Duration;

use access::{
    Access, AccountId, Actor, AuditFilter, DeviceStart, Grant, Moment, NewAccount, NewClient, OAuthError,
    PresentedClient, Region, Registered, Terms, Tokens,
};
use market::Timestamp;

use crate::fixture::{Fresh, MOMENT, NOW, START, fresh};

const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const BACK: &str = "http://localhost:60355/callback";

/// A store with accounts in both regions and a client with all grant types.
struct House {
    fresh: Fresh,
    ap: AccountId,
    us: AccountId,
    client: Registered,
}

fn house() -> House {
    let fresh = fresh();
    let account = |name: &str, region| {
        let new = NewAccount { region, ..NewAccount::named(name, Terms::default()) };
        fresh.access.create(&new, &Actor::Operator, NOW).unwrap().account_id
    };
    let (ap, us) = (account("alice", Region::Ap), account("bob", Region::Us));
    let client = register(&fresh.access, &usual());
    House { fresh, ap, us, client }
}

fn usual() -> NewClient {
    NewClient {
        name: Some("ana@lab".to_owned()),
        redirect_uris: vec![BACK.to_owned()],
        ..NewClient::default()
    }
}

fn register(access: &Access, new: &NewClient) -> Registered {
    access.register_client(new, HERE, MOMENT).unwrap()
}

/// Returns the moment `seconds` seconds after the start, on both clocks.
fn later(seconds: i64) -> Moment {
    let uptime = START + Duration::from_secs(seconds.try_into().unwrap());
    Moment { now: Timestamp(NOW.0 + seconds), uptime }
}

impl House {
    fn access(&self) -> &Access {
        &self.fresh.access
    }

    fn credentials(&self) -> PresentedClient<'_> {
        credentials(&self.client)
    }

    fn start(&self) -> DeviceStart {
        self.access().start_device(&self.credentials(), "", HERE, MOMENT).unwrap()
    }

    fn approve(&self, device: &DeviceStart, account: AccountId) {
        assert!(self.access().decide_device(device.user_code.expose(), account, true, NOW).unwrap());
    }

    fn poll(
        &self,
        device: &DeviceStart,
        poller: Option<Region>,
        moment: Moment,
    ) -> Result<Tokens, OAuthError> {
        self.poll_at(device, poller, None, moment)
    }

    fn poll_at(
        &self,
        device: &DeviceStart,
        poller: Option<Region>,
        serves: Option<Region>,
        moment: Moment,
    ) -> Result<Tokens, OAuthError> {
        let grant = Grant::Device { device_code: device.device_code.expose(), poller };
        self.access().redeem(&self.credentials(), &grant, serves, moment)
    }

    /// Obtains an authorization code with the usual request of an SDK and additional parameters.
    fn code(&self, account: AccountId, more: &str) -> String {
        let query = format!(
            "response_type=code&client_id={}&state=s&redirect_uri={BACK}{more}",
            self.client.client.id
        );
        let request = self.access().check_authorization(&query).unwrap();
        let url = self.access().approve_authorization(&request, account, NOW).unwrap();
        parameter(&url, "code").unwrap()
    }

    fn redeem(&self, code: &str, moment: Moment) -> Result<Tokens, OAuthError> {
        self.access().redeem(&self.credentials(), &with_code(code), None, moment)
    }

    /// Obtains tokens for an account through the device flow.
    fn tokens(&self, account: AccountId) -> Tokens {
        let device = self.start();
        self.approve(&device, account);
        self.poll(&device, None, MOMENT).unwrap()
    }

    fn refresh(&self, token: &str, moment: Moment) -> Result<Tokens, OAuthError> {
        self.access().redeem(
            &self.credentials(),
            &Grant::Refresh { refresh_token: token, scope: "" },
            None,
            moment,
        )
    }

    /// Returns the number of audit rows for an event.
    fn audited(&self, event: &str) -> usize {
        let filter = AuditFilter { event: Some(event), limit: 1_000, ..AuditFilter::default() };
        self.access().audit(&filter).unwrap().len()
    }
}

fn credentials(client: &Registered) -> PresentedClient<'_> {
    PresentedClient { id: &client.client.id, secret: client.secret.as_ref().map(|secret| secret.expose()) }
}

fn with_code(code: &str) -> Grant<'_> {
    Grant::Code { code, redirect_uri: Some(BACK), verifier: None }
}

fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name);
    found.map(|(_, value)| value.to_owned())
}

/// Returns the OAuth error code of a refused request.
#[track_caller]
fn error<T>(result: Result<T, OAuthError>) -> &'static str {
    match result {
        Ok(_) => panic!("it succeeded"),
        Err(OAuthError::Failed(error)) => panic!("{error}"),
        Err(error) => error.code(),
    }
}
