//! A store with candles and paper accounts, and the service over it.

use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use history::{AsOf, History, import};
use market::{Timestamp, Venues};
use paper::{Moment, NoListener, Opening, Paper};
use store::{
    AccountId, AccountTerms, Accounts, AuditNote, Credential, NewAccountRow, RateRow, Reader, Store,
};
use trading::{Currency, Money, Settings, Tables};

use super::world::World;

/// The machine's time, for stored rows. The market has its own.
pub(crate) const MACHINE: Timestamp = Timestamp(1_790_000_000);
const NOTE: AuditNote<'static> = AuditNote { at: MACHINE, actor: "bench", reason: "bench" };

/// A separate store, and a service over it.
pub(crate) struct House {
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) paper: Paper,
    store: Store,
}

impl House {
    /// A new store with the candles of a world, and a rate to convert dollars with.
    pub(crate) fn build(dir: &Path, world: &World) -> anyhow::Result<House> {
        if dir.exists() {
            std::fs::remove_dir_all(dir)?;
        }
        std::fs::create_dir_all(dir)?;
        let file = dir.join("minutes.csv");
        world.write_csv(&file)?;
        import_file(dir, &file)?;
        std::fs::remove_file(&file)?;
        let house = House::open(dir)?;
        let rate = RateRow { currency: "USD".to_owned(), day: "2024-01-01".parse()?, rate: 780_000_000 };
        house.accounts.put_rates(&[rate], &NOTE)?;
        Ok(house)
    }

    fn open(dir: &Path) -> anyhow::Result<House> {
        let accounts = Arc::new(Accounts::open(dir, MACHINE)?);
        let history = History::new(Venues::built_in()?);
        let paper = Paper::new(accounts.clone(), history, Tables::built_in()?, Arc::new(NoListener));
        Ok(House { accounts, paper, store: Store::open(dir, store::Access::Read)? })
    }

    pub(crate) fn reader(&self) -> anyhow::Result<Reader> {
        Ok(self.store.reader()?)
    }

    /// An account with a hundred million dollars, opened at an instant.
    pub(crate) fn account(&self, number: usize, at: Timestamp) -> anyhow::Result<AccountId> {
        let id = self.accounts.take_id()?;
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
            name: format!("account-{number}"),
            region: "ap".to_owned(),
            role: "user".to_owned(),
            created_at: MACHINE,
            terms,
            rights: Vec::new(),
        };
        let mut token_hash = [0; 32];
        for (place, byte) in token_hash.iter_mut().zip(id.0.to_le_bytes()) {
            *place = byte;
        }
        let credential = Credential {
            app_key: format!("key-{number}"),
            account: id,
            app_secret: vec![1],
            token_hash,
            token_expires_at: MACHINE,
            created_at: MACHINE,
        };
        self.accounts.add(id, &account, &credential, &NOTE)?;
        let cash = vec![(Currency::USD, Money::whole(100_000_000))];
        let opening = Opening { cash, settings: Settings::default(), credit: Money::ZERO };
        ensure!(self.paper.at(id, &mut self.reader()?, &moment(at)).open(&opening)?, "opened before");
        Ok(id)
    }
}

/// A clock fixed at an instant.
pub(crate) fn moment(at: Timestamp) -> Moment {
    Moment { as_of: AsOf::Replay(at), machine: MACHINE }
}

fn import_file(dir: &Path, file: &Path) -> anyhow::Result<()> {
    let store = Store::open(dir, store::Access::Write { now: MACHINE })?;
    let context = import::Context {
        store: &store,
        venues: &Venues::built_in()?,
        options: &import::Options::default(),
        now: &|| MACHINE,
        stop: &false.into(),
        progress: &import::Progress::default(),
    };
    for report in import::import(&context, &[file.to_owned()])? {
        ensure!(report.outcome == import::Outcome::Imported && report.quarantined == 0, "{report:?}");
    }
    Ok(())
}
