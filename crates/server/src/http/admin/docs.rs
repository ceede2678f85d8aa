//! The OpenAPI descriptions of the endpoints for operators.

use super::office::ROWS_MAX;
use super::shapes::{
    AdminAccount, AdminAccounts, AdminLevel, AdminTermsChange, AssetsReportRow, AssetsRows, AuditRows, Grant,
    Levels, OrdersReportRow, OrdersRows, RatesReportRow, RatesRows, ReportOf, Reported,
};
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, RefusalDoc, Tag, Word, data};

const NAME: Parameter = Parameter::path("name", "The account's name or number");
const ACCOUNT: Parameter = Parameter::query("account", Kind::Text, "The account's name or number").required();
const LIMIT: Parameter =
    Parameter::query("limit", Kind::Between(1, ROWS_MAX), "At most so many rows").or(Word::Number(ROWS_MAX));
/// The refusals of endpoints that name an account.
const WRONG_OR_UNKNOWN: &[RefusalDoc] = &[BAD_REQUEST, NOT_FOUND];
const AS_IT_IS_NOW: &[AnswerDoc] = &[AnswerDoc::ok("The account as it is now", &[data::<AdminAccount>()])];
const TAKEN: &[AnswerDoc] = &[AnswerDoc::ok("How much was taken", &[data::<Reported>()])];
const CSV: Media = Media::text("text/csv");

pub(super) const ACCOUNTS: Doc = Doc::new(Tag::Admin, "adminAccounts", "Every account")
    .answers(&[AnswerDoc::ok("The accounts, oldest first", &[data::<AdminAccounts>()])]);

pub(super) const SHOW_ACCOUNT: Doc = Doc::new(Tag::Admin, "adminAccount", "One account and its month")
    .parameters(&[NAME])
    .answers(&[AnswerDoc::ok("The account", &[data::<AdminAccount>()])])
    .refuses(&[NOT_FOUND]);

pub(super) const SET_ACCOUNT: Doc =
    Doc::new(Tag::Admin, "adminSetAccount", "Change the limits of an account; what is not named stays")
        .parameters(&[NAME])
        .body(&[Media::json::<AdminTermsChange>()])
        .answers(AS_IT_IS_NOW)
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const GRANT: Doc = Doc::new(Tag::Admin, "adminGrant", "Grant a package, or change its times")
    .parameters(&[NAME])
    .body(&[Media::json::<Grant>()])
    .answers(AS_IT_IS_NOW)
    .refuses(WRONG_OR_UNKNOWN);

pub(super) const WITHDRAW: Doc =
    Doc::new(Tag::Admin, "adminWithdraw", "Withdraw a package, from the next request on")
        .parameters(&[
            NAME,
            Parameter::query("package", Kind::Text, "HK, US, US_OVERNIGHT, CN, SG or US_OPTIONS").required(),
        ])
        .answers(AS_IT_IS_NOW)
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const REPORTED_ASSETS: Doc =
    Doc::new(Tag::Admin, "adminReportedAssets", "What an account was worth, latest day first")
        .parameters(&[ACCOUNT, LIMIT])
        .answers(&[AnswerDoc::ok("The rows", &[data::<AssetsRows>()])])
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const REPORT_ASSETS: Doc = Doc::new(
    Tag::Admin,
    "adminReportAssets",
    "Report assets of accounts by day; all rows are stored or none",
)
.body(&[
    Media::json::<ReportOf<AssetsReportRow>>(),
    CSV.about("A line of names and rows: account,day,currency,amount"),
])
.answers(TAKEN)
.refuses(&[BAD_REQUEST]);

pub(super) const REPORTED_ORDERS: Doc =
    Doc::new(Tag::Admin, "adminReportedOrders", "Completed orders of an account by day, latest first")
        .parameters(&[ACCOUNT, LIMIT])
        .answers(&[AnswerDoc::ok("The rows", &[data::<OrdersRows>()])])
        .refuses(WRONG_OR_UNKNOWN);

pub(super) const REPORT_ORDERS: Doc =
    Doc::new(Tag::Admin, "adminReportOrders", "Report completed orders: a count for a day, or one by one")
        .body(&[
            Media::json::<ReportOf<OrdersReportRow>>(),
            CSV.about("A line of names and rows: account,day,count or account,day,order_id"),
        ])
        .answers(TAKEN)
        .refuses(&[BAD_REQUEST]);

pub(super) const RATES: Doc =
    Doc::new(Tag::Admin, "adminRates", "Exchange rates by currency, latest day first")
        .parameters(&[Parameter::query("currency", Kind::Text, "Only this one"), LIMIT])
        .answers(&[AnswerDoc::ok("The rows", &[data::<RatesRows>()])])
        .refuses(&[BAD_REQUEST]);

pub(super) const REPORT_RATES: Doc =
    Doc::new(Tag::Admin, "adminReportRates", "Report exchange rates: HKD for one unit, from a day on")
        .body(&[
            Media::json::<ReportOf<RatesReportRow>>(),
            CSV.about("A line of names and rows: currency,day,rate"),
        ])
        .answers(TAKEN)
        .refuses(&[BAD_REQUEST]);

pub(super) const LEVELS: Doc = Doc::new(Tag::Admin, "adminLevels", "The ladder of levels")
    .answers(&[AnswerDoc::ok("The levels", &[data::<Levels>()])]);

pub(super) const SET_LEVEL: Doc = Doc::new(
    Tag::Admin,
    "adminSetLevel",
    "Change a level; what is not named stays, and the ladder must stay one",
)
.parameters(&[Parameter::path("level", "1 to 6")])
.body(&[Media::json::<AdminLevel>()])
.answers(&[AnswerDoc::ok("The levels as they are now", &[data::<Levels>()])])
.refuses(WRONG_OR_UNKNOWN);

pub(super) const AUDIT: Doc =
    Doc::new(Tag::Admin, "adminAudit", "Who did what to whom, and why; latest first")
        .parameters(&[
            Parameter::query("account", Kind::Text, "Only about this account"),
            Parameter::query("event", Kind::Text, "Only of this kind, such as level.changed"),
            Parameter::query(
                "since",
                Kind::Text,
                "Not before this time: a date (its first moment in Hong Kong) or an instant",
            ),
            Parameter::query(
                "before",
                Kind::Whole,
                "Only rows with a smaller id: where the answer before it stopped",
            ),
            LIMIT,
        ])
        .answers(&[AnswerDoc::ok("The rows", &[data::<AuditRows>()])])
        .refuses(WRONG_OR_UNKNOWN);
