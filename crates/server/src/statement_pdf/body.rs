//! Content of a statement: the header, and a table for each non-empty section.

use paper::{EquityHolding, StatementDocument, TradeSum};

use super::font::is_latin;
use super::labels::{self, Label, movement};
use super::labels::{grouped, with_currency};
use super::sheet::{Align, Column, Sheet, Weight};
use crate::caller::Language;

/// Statement content before typesetting.
pub(super) struct Body {
    pub(super) title: String,
    notes: Vec<String>,
    sections: Vec<Section>,
}

struct Section {
    heading: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Body {
    pub(super) fn of(document: &StatementDocument, language: Language) -> Body {
        let words = Words(language);
        let kind = if document.file_type == "monthly" { labels::MONTHLY } else { labels::DAILY };
        let member = &document.member_info;
        let period = if document.begin_date == document.date {
            document.date.clone()
        } else {
            format!("{} - {}", document.begin_date, document.date)
        };
        let note = |label: Label, text: &str| format!("{}: {text}", words.of(label));
        let notes = vec![
            note(labels::ACCOUNT, &format!("{} ({})", member.name, member.account_no)),
            note(labels::KIND, movement(&member.account_type, language)),
            note(labels::PERIOD, &period),
            note(labels::MADE, &document.generated_at),
            words.of(labels::PAPER).to_owned(),
        ];
        let mut sections = vec![assets(document, words), balances(document, words)];
        sections.extend([
            movements(document, words),
            trades(&document.stock_trade_sums, labels::STOCK_TRADES, words),
            trades(&document.option_trade_sums, labels::OPTION_TRADES, words),
            holdings(document, words),
            holding_changes(document, words),
            corporate(document, words),
            locks(document, words),
            interests(document, words),
        ]);
        sections.retain(|section| !section.rows.is_empty());
        Body { title: format!("{} {}", words.of(kind), document.date), notes, sections }
    }

    /// Returns whether the text is all Latin, so that no font needs to be embedded.
    pub(super) fn is_latin(&self) -> bool {
        let headings = self
            .sections
            .iter()
            .flat_map(|section| section.columns.iter().map(|column| column.heading).chain([section.heading]));
        let cells = self.sections.iter().flat_map(|section| section.rows.iter().flatten());
        let texts = self.notes.iter().chain([&self.title]).chain(cells).map(String::as_str);
        texts.chain(headings).all(|text| text.chars().all(is_latin))
    }

    pub(super) fn set(&self, sheet: &mut Sheet<'_>) {
        sheet.line(&self.title, 16.0, Weight::Bold);
        sheet.gap(4.0);
        for note in &self.notes {
            sheet.line(note, 9.0, Weight::Regular);
        }
        for section in &self.sections {
            sheet.table(section.heading, &section.columns, &section.rows);
        }
    }
}

#[derive(Clone, Copy)]
struct Words(Language);

impl Words {
    fn of(self, label: Label) -> &'static str {
        label.text(self.0)
    }

    fn left(self, label: Label, part: f32) -> Column {
        Column { heading: self.of(label), part, align: Align::Left }
    }

    /// Returns a right-aligned column, for numbers.
    fn right(self, label: Label, part: f32) -> Column {
        Column { heading: self.of(label), part, align: Align::Right }
    }

    fn movement(self, name: &str) -> String {
        movement(name, self.0).to_owned()
    }

    /// Returns the name of the holding's security in the language, or else in any other language.
    fn name(self, holding: &EquityHolding) -> String {
        let EquityHolding { name, name_cn, name_hk, .. } = holding;
        let order = match self.0 {
            Language::En => [name, name_cn, name_hk],
            Language::ZhCn => [name_cn, name_hk, name],
            Language::ZhHk => [name_hk, name_cn, name],
        };
        order.into_iter().find(|name| !name.is_empty()).cloned().unwrap_or_default()
    }
}

fn assets(document: &StatementDocument, words: Words) -> Section {
    let asset = &document.asset;
    let cells = [
        &asset.total,
        &asset.ledger_amount,
        &asset.market_value,
        &asset.outstanding_amount,
        &asset.im_margin,
        &asset.mm_margin,
    ];
    let mut row = vec![asset.currency.clone()];
    row.extend(cells.map(|text| grouped(text)));
    let mut columns = vec![
        words.left(labels::CURRENCY, 5.5),
        words.right(labels::TOTAL, 9.0),
        words.right(labels::LEDGER, 9.0),
        words.right(labels::MARKET_VALUE, 9.0),
        words.right(labels::OUTSTANDING, 9.0),
        words.right(labels::INIT_MARGIN, 9.0),
        words.right(labels::MAINTENANCE, 9.0),
    ];
    // The remark is set only if the totals are missing.
    if !asset.remark.is_empty() {
        row.push(asset.remark.clone());
        columns.push(words.left(labels::REMARK, 7.0));
    }
    Section { heading: words.of(labels::ASSETS), columns, rows: vec![row] }
}

fn balances(document: &StatementDocument, words: Words) -> Section {
    let row = |line: &paper::AccountBalance| {
        vec![
            line.currency_code.clone(),
            grouped(&line.begin_amount),
            grouped(&line.change_amount),
            grouped(&line.ledger_amount),
            grouped(&line.settled_amount),
            grouped(&line.lock_amount),
            grouped(&line.accrued_interest),
        ]
    };
    Section {
        heading: words.of(labels::BALANCES),
        columns: vec![
            words.left(labels::CURRENCY, 5.0),
            words.right(labels::BEGIN, 9.0),
            words.right(labels::CHANGE, 9.0),
            words.right(labels::LEDGER, 9.0),
            words.right(labels::SETTLED, 9.0),
            words.right(labels::LOCKED, 9.0),
            words.right(labels::INTEREST_DUE, 9.0),
        ],
        rows: document.account_balance_sum.account_balances.iter().map(row).collect(),
    }
}

fn movements(document: &StatementDocument, words: Words) -> Section {
    let changes = document.account_balance_change_sums.iter().flat_map(|sum| &sum.account_balance_changes);
    let row = |change: &paper::AccountBalanceChange| {
        vec![
            change.date.clone(),
            words.movement(&change.kind),
            change.currency_code.clone(),
            grouped(&change.amount),
            change.remark.clone(),
        ]
    };
    Section {
        heading: words.of(labels::MOVEMENTS),
        columns: vec![
            words.left(labels::DATE, 6.0),
            words.left(labels::KIND, 9.0),
            words.left(labels::CURRENCY, 5.0),
            words.right(labels::AMOUNT, 10.0),
            words.left(labels::REMARK, 14.0),
        ],
        rows: changes.map(row).collect(),
    }
}

fn trades(sums: &[TradeSum], heading: Label, words: Words) -> Section {
    let row = |trade: &paper::Trade| {
        let fees: Vec<String> =
            trade.fees.iter().map(|fee| format!("{} {}", fee.code, grouped(&fee.amount))).collect();
        vec![
            trade.trade_date.clone(),
            trade.settle_date.clone(),
            trade.contract_no.clone(),
            words.movement(&trade.direction),
            trade.code.clone(),
            grouped(&trade.trade_quantity),
            grouped(&trade.trade_price),
            grouped(&trade.trade_amount),
            fees.join(", "),
            with_currency(&trade.clear_amount, &trade.currency_code),
        ]
    };
    Section {
        heading: words.of(heading),
        columns: vec![
            words.left(labels::DATE, 6.6),
            words.left(labels::SETTLES, 6.6),
            words.left(labels::ORDER, 7.2),
            words.left(labels::SIDE, 3.8),
            words.left(labels::CODE, 6.0),
            words.right(labels::QUANTITY, 5.6),
            words.right(labels::PRICE, 5.4),
            words.right(labels::AMOUNT, 7.4),
            words.left(labels::FEES, 12.0),
            words.right(labels::NET, 9.4),
        ],
        rows: sums.iter().flat_map(|sum| &sum.trades).map(row).collect(),
    }
}

fn holdings(document: &StatementDocument, words: Words) -> Section {
    let lines = document.equity_holding_sums.iter().flat_map(|sum| &sum.equity_holdings);
    let row = |line: &EquityHolding| {
        vec![
            line.code.clone(),
            words.name(line),
            grouped(&line.begin_quantity),
            grouped(&line.change_quantity),
            grouped(&line.ledger_quantity),
            grouped(&line.close_price),
            with_currency(&line.market_value, &line.currency_code),
            grouped(&line.cost_price),
            format!("{} / {}", line.im_ratio, line.mm_ratio),
        ]
    };
    Section {
        heading: words.of(labels::HOLDINGS),
        columns: vec![
            words.left(labels::CODE, 6.0),
            words.left(labels::NAME, 9.0),
            words.right(labels::BEGIN, 5.0),
            words.right(labels::CHANGE, 5.0),
            words.right(labels::LEDGER, 5.0),
            words.right(labels::CLOSE, 6.0),
            words.right(labels::MARKET_VALUE, 9.0),
            words.right(labels::COST, 6.0),
            words.right(labels::RATIO, 6.0),
        ],
        rows: lines.map(row).collect(),
    }
}

fn holding_changes(document: &StatementDocument, words: Words) -> Section {
    let changes = document.equity_holding_change_sums.iter().flat_map(|sum| &sum.equity_holding_changes);
    let row = |change: &paper::EquityHoldingChange| {
        vec![
            change.date.clone(),
            change.code.clone(),
            words.movement(&change.kind),
            grouped(&change.quantity),
            change.remark.clone(),
        ]
    };
    Section {
        heading: words.of(labels::HOLDING_CHANGES),
        columns: vec![
            words.left(labels::DATE, 6.0),
            words.left(labels::CODE, 8.0),
            words.left(labels::KIND, 8.0),
            words.right(labels::QUANTITY, 8.0),
            words.left(labels::REMARK, 12.0),
        ],
        rows: changes.map(row).collect(),
    }
}

fn corporate(document: &StatementDocument, words: Words) -> Section {
    let row = |corp: &paper::Corp| {
        vec![
            corp.code.clone(),
            words.movement(&corp.kind),
            corp.ex_date.clone(),
            corp.pay_date.clone(),
            grouped(&corp.entitled_quantity),
            with_currency(&corp.cash_amount, &corp.currency_code),
            grouped(&corp.share_quantity),
            words.movement(&corp.status),
        ]
    };
    Section {
        heading: words.of(labels::CORPORATE),
        columns: vec![
            words.left(labels::CODE, 7.0),
            words.left(labels::KIND, 7.0),
            words.left(labels::EX_DATE, 6.0),
            words.left(labels::PAY_DATE, 6.0),
            words.right(labels::ENTITLED, 6.0),
            words.right(labels::AMOUNT, 9.0),
            words.right(labels::SHARES, 6.0),
            words.left(labels::STATUS, 5.0),
        ],
        rows: document.corps.iter().map(row).collect(),
    }
}

/// Returns the cash and securities reserved by open orders.
fn locks(document: &StatementDocument, words: Words) -> Section {
    let cash = document.account_balance_lock_sums.iter().flat_map(|sum| {
        let currency = sum.currency_code.clone();
        sum.account_balance_locks.iter().map(move |lock| {
            let amount = with_currency(&lock.amount, &currency);
            vec![lock.contract_no.clone(), lock.code.clone(), amount, String::new()]
        })
    });
    let shares =
        document.equity_holding_lock_sums.iter().flat_map(|sum| &sum.equity_holding_locks).map(|lock| {
            vec![lock.contract_no.clone(), lock.code.clone(), String::new(), grouped(&lock.quantity)]
        });
    Section {
        heading: words.of(labels::LOCKS),
        columns: vec![
            words.left(labels::ORDER, 8.0),
            words.left(labels::CODE, 8.0),
            words.right(labels::AMOUNT, 10.0),
            words.right(labels::QUANTITY, 8.0),
        ],
        rows: cash.chain(shares).collect(),
    }
}

fn interests(document: &StatementDocument, words: Words) -> Section {
    let row = |line: &paper::Interest| {
        vec![
            line.date.clone(),
            words.movement(&line.kind),
            line.currency_code.clone(),
            grouped(&line.balance),
            line.days.clone(),
            line.rate.clone(),
            grouped(&line.amount),
        ]
    };
    Section {
        heading: words.of(labels::INTERESTS),
        columns: vec![
            words.left(labels::DATE, 6.0),
            words.left(labels::KIND, 7.0),
            words.left(labels::CURRENCY, 5.0),
            words.right(labels::BALANCE, 9.0),
            words.right(labels::DAYS, 4.0),
            words.right(labels::RATE, 6.0),
            words.right(labels::AMOUNT, 9.0),
        ],
        rows: document.interests.iter().map(row).collect(),
    }
}
