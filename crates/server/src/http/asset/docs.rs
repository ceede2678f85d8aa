//! What clients are told about cash and positions.

use super::account::Accounts;
use super::cashflow::Flows;
use super::fund::FundChannels;
use super::stock::Channels;
use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, RefusalDoc, Tag, Word, data};

const REFUSALS: &[RefusalDoc] = &[TRADE_REFUSED, TRADE_TOO_FAST];
const SYMBOLS: Parameter = Parameter::query("symbol", Kind::Text, "As 700.HK; may be there several times");

pub(super) const ACCOUNT: Doc =
    Doc::new(Tag::Trade, "accountBalance", "Cash, credit, margins and what they leave")
        .parameters(&[Parameter::query(
            "currency",
            Kind::OneOf(&["HKD", "USD", "CNH"]),
            "In which the figures are told",
        )
        .or(Word::Text("HKD"))])
        .answers(&[AnswerDoc::ok("One row", &[data::<Accounts>()])])
        .refuses(REFUSALS);

pub(super) const STOCK: Doc = Doc::new(Tag::Trade, "stockPositions", "Positions of stocks and options")
    .parameters(&[SYMBOLS])
    .answers(&[AnswerDoc::ok("One channel", &[data::<Channels>()])])
    .refuses(REFUSALS);

pub(super) const FUND: Doc =
    Doc::new(Tag::Trade, "fundPositions", "Positions of funds, of which there are none")
        .parameters(&[SYMBOLS])
        .answers(&[AnswerDoc::ok("One channel", &[data::<FundChannels>()])])
        .refuses(REFUSALS);

pub(super) const CASH_FLOW: Doc = Doc::new(Tag::Trade, "cashFlow", "Movements of cash, newest first")
    .parameters(&[
        Parameter::query("start_time", Kind::Stamp, "Unix seconds, 0 for the beginning; start_at is the same"),
        Parameter::query("end_time", Kind::Stamp, "Unix seconds, 0 for now; end_at is the same"),
        Parameter::query("business_type", Kind::Between(0, 3), "1 cash; there are no movements of others"),
        Parameter::query("symbol", Kind::Text, "As 700.HK"),
        Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1)),
        Parameter::query("size", Kind::Between(1, 10_000), "Rows of a page").or(Word::Number(50)),
    ])
    .answers(&[AnswerDoc::ok("The movements", &[data::<Flows>()])])
    .refuses(REFUSALS);
