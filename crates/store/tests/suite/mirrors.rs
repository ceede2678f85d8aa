use market::adjust::Amount;
use market::{Date, Timestamp};
use store::{DerivedFactor, FactorKind, MirrorId, MirrorJob, MirrorReport, MirrorRow, MirrorTask};

use crate::fixture::{Fresh, fresh, symbol};

const NOW: Timestamp = Timestamp(1_773_824_400);

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn job(first_day: &str, position: &str, outcome: Option<&str>) -> MirrorJob {
    MirrorJob {
        symbol: symbol("700.HK"),
        period: "day".to_owned(),
        adjustment: "none".to_owned(),
        sessions: "intraday".to_owned(),
        purpose: "history".to_owned(),
        first_day: date(first_day),
        last_day: date("2026-03-18"),
        position: position.to_owned(),
        outcome: outcome.map(str::to_owned),
        pages: 3,
        rows: 2_997,
        updated_at: NOW,
    }
}

fn add(fresh: &Fresh, name: &str) -> Option<MirrorId> {
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let id = batch.add_mirror(name, "{}", b"sealed", NOW).unwrap();
    batch.commit().unwrap();
    id
}

#[test]
fn mirrors_have_unique_names_and_are_removed_with_all_their_rows() {
    let fresh = fresh();
    let id = add(&fresh, "live").unwrap();
    assert_eq!(add(&fresh, "live"), None);
    let other = add(&fresh, "other").unwrap();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    for id in [id, other] {
        batch.add_mirror_securities(id, &[symbol("700.HK"), symbol("5.HK")]).unwrap();
        batch.add_mirror_securities(id, &[symbol("AAPL.US"), symbol("5.HK")]).unwrap();
        batch.note_mirror_security(id, &symbol("5.HK"), Some(("no quotes", NOW))).unwrap();
        batch.put_mirror_job(id, &job("2018-01-02", "start", None)).unwrap();
        batch.put_mirror_job(id, &job("2018-01-02", "done", Some("floor"))).unwrap();
        batch.put_mirror_job(id, &job("2026-01-02", "start", None)).unwrap();
        batch.charge_mirror(id, "2026-03", &symbol("700.HK")).unwrap();
        batch.charge_mirror(id, "2026-03", &symbol("700.HK")).unwrap();
        batch.charge_mirror(id, "2026-03", &symbol("5.HK")).unwrap();
        batch.uncharge_mirror(id, "2026-03", &symbol("5.HK")).unwrap();
        batch.put_mirror_adjusted(id, &symbol("700.HK"), b"one").unwrap();
        batch.put_mirror_adjusted(id, &symbol("700.HK"), b"two").unwrap();
        batch.put_mirror_settings(id, "{\"a\":1}").unwrap();
        batch.put_mirror_state(id, "{\"b\":2}").unwrap();
        let report = |symbol| MirrorReport { kind: "k".to_owned(), symbol, content: "c".to_owned(), at: NOW };
        for symbol in [None, Some(symbol("700.HK")), None] {
            batch.add_mirror_report(id, &report(symbol)).unwrap();
        }
    }
    batch.remove_mirror(id).unwrap();
    batch.commit().unwrap();

    let mut reader = fresh.store.reader().unwrap();
    let view = reader.view();
    let row = MirrorRow {
        id: other,
        name: "other".to_owned(),
        settings: "{\"a\":1}".to_owned(),
        state: "{\"b\":2}".to_owned(),
        credentials: b"sealed".to_vec(),
        created_at: NOW,
    };
    assert_eq!(view.mirrors().unwrap(), std::slice::from_ref(&row));
    assert_eq!((view.mirror("other").unwrap(), view.mirror("live").unwrap()), (Some(row), None));
    let list = view.mirror_securities(other).unwrap();
    let names: Vec<&str> = list.iter().map(|of| of.symbol.as_str()).collect();
    assert_eq!(names, ["700.HK", "5.HK", "AAPL.US"]);
    assert_eq!(list[1].note, Some(("no quotes".to_owned(), NOW)));
    let jobs = [job("2018-01-02", "done", Some("floor")), job("2026-01-02", "start", None)];
    assert_eq!(view.mirror_jobs(other).unwrap(), jobs);
    assert_eq!(view.mirror_jobs_of(other, &symbol("700.HK")).unwrap(), jobs);
    assert_eq!(view.mirror_jobs_of(other, &symbol("5.HK")).unwrap(), []);
    assert_eq!(view.mirror_month(other, "2026-03").unwrap(), [symbol("700.HK")]);
    assert_eq!(view.mirror_adjusted(other, &symbol("700.HK")).unwrap().as_deref(), Some(&b"two"[..]));
    let reports = view.mirror_reports(other, 10).unwrap();
    let symbols: Vec<Option<&str>> =
        reports.iter().map(|report| report.symbol.as_ref().map(market::Symbol::as_str)).collect();
    assert_eq!(symbols, [Some("700.HK"), None]);
    assert_eq!(view.mirror_report_count(other).unwrap(), 2);
    assert!(view.mirror_jobs(id).unwrap().is_empty() && view.mirror_securities(id).unwrap().is_empty());
    assert_eq!(view.mirror_report_count(id).unwrap(), 0);
}

#[test]
fn derived_factors_are_replaced_and_invalidate_the_stored_factors() {
    let fresh = fresh();
    let mut writer = fresh.store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    let factor = |ex_date: &str, kind, amount: &str| DerivedFactor {
        ex_date: date(ex_date),
        kind,
        amount: Amount::parse(amount).unwrap(),
        low: "0.990284".to_owned(),
        high: "0.990287".to_owned(),
        width: "0.0005".to_owned(),
    };
    let tencent = symbol("700.HK");
    let first =
        [factor("2024-05-17", FactorKind::Cash, "3.4"), factor("2025-05-16", FactorKind::Bare, "0.95")];
    batch.put_derived_factors(&tencent, &first).unwrap();
    // Bare factors need computed factors; the others have corporate actions.
    assert_eq!(batch.without_factors().unwrap(), std::slice::from_ref(&tencent));
    batch.put_factors(&tencent, b"factors").unwrap();
    batch.put_derived_factors(&tencent, &first).unwrap();
    assert_eq!(batch.factors(&tencent).unwrap().as_deref(), Some(&b"factors"[..]));
    let second = [factor("2024-05-17", FactorKind::Split, "5")];
    batch.put_derived_factors(&tencent, &second).unwrap();
    assert_eq!(batch.factors(&tencent).unwrap(), None);
    assert_eq!(batch.without_factors().unwrap(), []);
    batch.commit().unwrap();
    let mut reader = fresh.store.reader().unwrap();
    assert_eq!(reader.view().derived_factors(&tencent).unwrap(), second);
    assert_eq!(reader.view().derived_factors(&symbol("5.HK")).unwrap(), []);
}

#[test]
fn only_one_process_at_a_time_holds_the_lock_of_a_mirror() {
    let store = fresh();
    let (one, other) = (add(&store, "live").unwrap(), add(&store, "other").unwrap());
    let row =
        |id| store.store.reader().unwrap().view().mirrors().unwrap().into_iter().find(|row| row.id == id);
    let (live, another) = (row(one).unwrap(), row(other).unwrap());
    let held = store.store.mirror_lock(&live, MirrorTask::Read).unwrap();
    assert!(held.is_held());
    let refused = store.store.mirror_lock(&live, MirrorTask::Read).unwrap_err();
    let text =
        format!("another process (process {}) runs the mirror live: wait until it ends", std::process::id());
    assert!(refused.to_string().starts_with(&text), "{refused}");
    assert!(store.store.mirror_lock(&another, MirrorTask::Read).is_ok(), "each mirror has its own lock");
    assert!(store.store.writer().is_ok(), "an import does not wait for it");
    drop(held);
    assert!(store.store.mirror_lock(&live, MirrorTask::Read).is_ok());
}
