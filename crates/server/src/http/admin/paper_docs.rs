//! The clock and what operators do to paper accounts, described.

use super::clock::{Shown, Step};
use super::paper_desk::{Amount, Credit, Exchange, Holding, Journey, PaperAccount};
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Media, Parameter, RefusalDoc, Tag, data};

const NAME: Parameter = Parameter::path("name", "The account's name or number");
const NOW: &[AnswerDoc] = &[AnswerDoc::ok("The account as it is now", &[data::<PaperAccount>()])];
const REFUSALS: &[RefusalDoc] = &[BAD_REQUEST, NOT_FOUND];

pub(super) const CLOCK: Doc = Doc::new(Tag::Admin, "adminClock", "What the market's clock shows")
    .answers(&[AnswerDoc::ok("The clock", &[data::<Shown>()])]);

pub(super) const STEP: Doc = Doc::new(Tag::Admin, "adminStepClock", "Moves a clock that stands forward")
    .body(&[Media::json::<Step>()])
    .answers(&[AnswerDoc::ok("The clock", &[data::<Shown>()])])
    .refuses(&[BAD_REQUEST]);

pub(super) const SHOW: Doc =
    Doc::new(Tag::Admin, "adminPaper", "A paper account, and what was cut from its journal")
        .parameters(&[NAME])
        .answers(NOW)
        .refuses(&[NOT_FOUND]);

pub(super) const DEPOSIT: Doc = change("adminPaperDeposit", "Adds cash").body(&[Media::json::<Amount>()]);
pub(super) const WITHDRAW: Doc =
    change("adminPaperWithdraw", "Takes cash out").body(&[Media::json::<Amount>()]);
pub(super) const ADJUST: Doc =
    change("adminPaperAdjust", "Books an amount, positive or negative").body(&[Media::json::<Amount>()]);
pub(super) const EXCHANGE: Doc =
    change("adminPaperExchange", "Changes one currency into another at the stored rate")
        .body(&[Media::json::<Exchange>()]);
pub(super) const POSITION: Doc =
    change("adminPaperPosition", "Sets a position and what it cost, without cash")
        .body(&[Media::json::<Holding>()]);
pub(super) const CREDIT: Doc =
    change("adminPaperCredit", "Sets the credit line, in HKD").body(&[Media::json::<Credit>()]);
pub(super) const SETTINGS: Doc = change("adminPaperSettings", "Changes settings, from now on")
    .body(&[Media::json::<serde_json::Map<String, serde_json::Value>>()]);
pub(super) const REWIND: Doc =
    change("adminPaperRewind", "Takes back what happened after an instant").body(&[Media::json::<Journey>()]);
pub(super) const RESET: Doc =
    change("adminPaperReset", "Takes back all but what was given before the first request")
        .body(&[Media::json::<Journey>()]);
pub(super) const FORK: Doc =
    change("adminPaperFork", "Copies a journal, or its first part, to an account that has none")
        .body(&[Media::json::<Journey>()]);

const fn change(id: &'static str, summary: &'static str) -> Doc {
    Doc::new(Tag::Admin, id, summary).parameters(&[NAME]).answers(NOW).refuses(REFUSALS)
}
