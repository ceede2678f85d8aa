//! Test fixture: a data directory with candles and accounts, and services that use it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use history::{AsOf, History, import};
use market::{Timestamp, Venues};
use store::{AccountId, AccountTerms, Accounts, AuditNote, Credential, NewAccountRow, Reader, Store};
use trading::{Command, Currency, Money, OrderId, OrderType, Quantity, Side, Tables, Terms, parse_price};

use crate::{Done, Listener, Moment, Opening, Paper, PaperError, Reading};

/// 2026-03-18 00:00 in Hong Kong.
const MIDNIGHT: i64 = 1_773_792_000 - 8 * 3_600;
pub(super) const MACHINE: Timestamp = Timestamp(1_790_000_000);

pub(super) struct House {
    pub(super) dir: tempfile::TempDir,
}

/// Parses a time of day in Hong Kong on 2026-03-18. Hours of 24 or more are on later days.
pub(super) fn at(clock: &str) -> Timestamp {
    let parts: Vec<i64> = clock.split(':').map(|part| part.parse().unwrap()).collect();
    let [hours, minutes, seconds] = [0, 1, 2].map(|part| parts.get(part).copied().unwrap_or(0));
    Timestamp(MIDNIGHT + hours * 3_600 + minutes * 60 + seconds)
}

pub(super) fn replay(clock: &str) -> Moment {
    Moment { as_of: AsOf::Replay(at(clock)), machine: MACHINE }
}

pub(super) fn live(clock: &str) -> Moment {
    Moment { as_of: AsOf::Live(at(clock)), machine: MACHINE }
}

impl House {
    /// Creates a data directory with candles of 700.HK, such as `10:01 305.2 305.8 305 305.6
    /// 50000`.
    pub(super) fn new(candles: &[&str]) -> House {
        let house = House { dir: tempfile::tempdir().unwrap() };
        let path = house.dir.path().join("securities.csv");
        std::fs::write(&path, "symbol,name_en,currency,lot_size,board\n700.HK,Tencent,HKD,100,HKEquity\n")
            .unwrap();
        run_import(house.dir.path(), path);
        if !candles.is_empty() {
            house.import(candles);
        }
        house
    }

    pub(super) fn import(&self, candles: &[&str]) {
        self.import_of("700.HK", candles);
    }

    pub(super) fn import_of(&self, symbol: &str, candles: &[&str]) {
        let row = |candle: &&str| {
            let parts: Vec<&str> = candle.split(' ').collect();
            format!("{symbol},{},{}\n", at(parts[0]).0, parts[1..].join(","))
        };
        let rows: String = candles.iter().map(row).collect();
        let path = self.dir.path().join("minutes.csv");
        std::fs::write(&path, format!("symbol,time,open,high,low,close,volume\n{rows}")).unwrap();
        run_import(self.dir.path(), path);
    }

    /// Imports daily candles, such as `2026-03-18 300 310 295 308 9000000`.
    pub(super) fn import_days(&self, symbol: &str, candles: &[&str]) {
        let row = |candle: &&str| format!("{symbol},{}\n", candle.replace(' ', ","));
        let rows: String = candles.iter().map(row).collect();
        self.import_file("days.csv", &format!("symbol,date,open,high,low,close,volume\n{rows}"));
    }

    /// Imports a file with any other content, such as corporate actions.
    pub(super) fn import_file(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        run_import(self.dir.path(), path);
    }

    pub(super) fn accounts(&self) -> Accounts {
        Accounts::open(self.dir.path(), MACHINE).unwrap()
    }

    /// Creates an account with HKD 500,000.
    pub(super) fn account(&self, name: &str) -> AccountId {
        let id = self.bare_account(name);
        let service = self.service();
        let cash = vec![(Currency::HKD, Money::whole(500_000))];
        let opening = Opening { cash, ..Opening::default() };
        assert!(
            service
                .with_reader(|reader| service.paper.at(id, reader, &replay("09:00")).open(&opening))
                .unwrap()
        );
        id
    }

    /// Creates an account that no operator has opened.
    pub(super) fn bare_account(&self, name: &str) -> AccountId {
        let accounts = self.accounts();
        let id = accounts.take_id().unwrap();
        let terms = AccountTerms {
            level: 0,
            quota: None,
            rate: None,
            connections: 10,
            subscriptions: 500,
            floors: None,
            read_only: false,
            api_date: None,
        };
        let account = NewAccountRow {
            name: name.to_owned(),
            region: "ap".to_owned(),
            role: "user".to_owned(),
            created_at: MACHINE,
            terms,
            rights: Vec::new(),
        };
        let credential = Credential {
            app_key: name.to_owned(),
            account: id,
            app_secret: vec![1],
            token_hash: [u8::try_from(id.0 % 251).unwrap(); 32],
            token_expires_at: MACHINE,
            created_at: MACHINE,
        };
        let note = AuditNote { at: MACHINE, actor: "operator", reason: "a test" };
        accounts.add(id, &account, &credential, &note).unwrap();
        id
    }

    /// Creates a service that shares only the store with other services, like a separate process.
    pub(super) fn service(&self) -> Service {
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let listener = Arc::new(Log(heard.clone()));
        let history = History::new(Venues::built_in().unwrap());
        let paper = Paper::new(Arc::new(self.accounts()), history, Tables::built_in().unwrap(), listener);
        let store = Store::open(self.dir.path(), store::Access::Read).unwrap();
        Service { paper, store, heard }
    }
}

struct Log(Arc<Mutex<Vec<String>>>);

impl Listener for Log {
    fn changed(&self, id: AccountId, pushes: &[trading::Push]) {
        self.0.lock().unwrap().extend(pushes.iter().map(|push| describe(id, push)));
    }
}

/// Formats a push, such as `7 FilledStatus 200@305.200` for an order or `7 grid Performing 306` for
/// a grid.
pub(super) fn describe(id: AccountId, push: &trading::Push) -> String {
    let push = match push {
        trading::Push::Order(push) => push,
        trading::Push::Grid(push) => {
            let sleeping = push.sleeping_reason.map(|reason| format!(" {reason}")).unwrap_or_default();
            return format!("{} grid {} {}{sleeping}", id.0, push.status, trading::plain_price(push.base));
        }
    };
    let last = push
        .last
        .map(|(quantity, price)| format!(" {quantity}@{}", trading::exact_price(price, push.decimals)));
    format!("{} {}{}", id.0, push.status, last.unwrap_or_default())
}

pub(super) struct Service {
    pub(super) paper: Paper,
    store: Store,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Service {
    pub(super) fn with_reader<T>(&self, ask: impl FnOnce(&mut Reader) -> T) -> T {
        ask(&mut self.store.reader().unwrap())
    }

    pub(super) fn command(
        &self,
        id: AccountId,
        moment: Moment,
        command: &Command,
    ) -> Result<Done, PaperError> {
        self.with_reader(|reader| self.paper.at(id, reader, &moment).command(command, None, None))
    }

    pub(super) fn named(
        &self,
        id: AccountId,
        moment: Moment,
        command: &Command,
        name: &str,
    ) -> Result<Done, PaperError> {
        self.with_reader(|reader| self.paper.at(id, reader, &moment).command(command, Some(name), None))
    }

    pub(super) fn submit(&self, id: AccountId, moment: Moment, terms: Terms) -> OrderId {
        self.command(id, moment, &Command::submit(terms)).unwrap().order.unwrap()
    }

    pub(super) fn read<T>(&self, id: AccountId, moment: Moment, look: impl Fn(&Reading<'_>) -> T) -> T {
        self.with_reader(|reader| self.paper.at(id, reader, &moment).read(look)).unwrap()
    }

    /// Formats an order's status, executed quantity and price, and the account's cash.
    pub(super) fn seen(&self, id: AccountId, moment: Moment, order: OrderId) -> String {
        self.read(id, moment, |reading| {
            let order = reading.account.order(order).unwrap();
            let price = order.executed_price().map_or_else(|| "-".to_owned(), |price| price.to_string());
            let cash = reading.account.cash(Currency::HKD).text();
            format!("{} {}@{price} {cash}", order.status(), order.executed)
        })
    }

    /// Formats each step of an order as `local: words`, followed by its rules.
    pub(super) fn why(&self, id: AccountId, moment: Moment, order: OrderId) -> Vec<String> {
        let look = |seen: &crate::Seen<'_>| crate::explained(seen, order).unwrap();
        let explanation = self.with_reader(|reader| self.paper.at(id, reader, &moment).look(look)).unwrap();
        let lines = explanation.steps.into_iter().flat_map(|step| {
            let because = step.because.into_iter().map(|rule| format!("- {rule}"));
            std::iter::once(format!("{}: {}", step.local, step.words)).chain(because)
        });
        lines.collect()
    }

    /// Returns the pushes since the last call.
    pub(super) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().unwrap())
    }
}

/// Returns the terms of a limit order for 700.HK.
pub(super) fn limit(side: Side, quantity: i64, price: &str) -> Terms {
    let symbol = "700.HK".parse().unwrap();
    let terms = Terms::new(symbol, side, OrderType::Limit, Quantity::whole(quantity));
    Terms { price: Some(parse_price(price).unwrap()), ..terms }
}

fn run_import(dir: &Path, path: std::path::PathBuf) {
    let store = Store::open(dir, store::Access::Write { now: MACHINE }).unwrap();
    let context = import::Context {
        store: &store,
        venues: &Venues::built_in().unwrap(),
        options: &import::Options { replace: true, ..import::Options::default() },
        now: &|| MACHINE,
        stop: &false.into(),
        progress: &import::Progress::default(),
    };
    for report in import::import(&context, &[path]).unwrap() {
        assert_eq!(report.outcome, import::Outcome::Imported, "{report:?}");
        assert_eq!(report.quarantined, 0, "{report:?}");
    }
}
