//! What clients are told about orders and executions.

use paper::{Preview, Story};

use super::detail::Detail;
use super::estimate::Estimated;
use super::executions::{Page, Trades};
use super::history::History;
use super::margin_ratio::Ratios;
use super::marks::ChartMarks;
use super::replace::Body as Replacement;
use super::submit::{Body as Submission, Submitted};
use super::today::Today;
use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, RefusalDoc, Tag, Word, data};
use crate::kit::trader::Nothing;

const REFUSALS: &[RefusalDoc] = &[TRADE_REFUSED, TRADE_TOO_FAST];

const SYMBOL: Parameter = Parameter::query("symbol", Kind::Text, "As 700.HK");
const ORDER_ID: Parameter = Parameter::query("order_id", Kind::Text, "The number of an order");
const ATTACHED: Parameter =
    Parameter::query("is_attached", Kind::OneOf(&["true", "false"]), "Of an attached order; there are none");
const STATUS: Parameter = Parameter::query("status", Kind::Text, "May be there several times");
const SIDE: Parameter = Parameter::query("side", Kind::OneOf(&["Buy", "Sell"]), "");
const MARKET: Parameter = Parameter::query("market", Kind::OneOf(&["HK", "US", "CN", "SG", "Crypto"]), "");
const START_AT: Parameter =
    Parameter::query("start_at", Kind::Stamp, "Unix seconds; without it, or with 0, 90 days before the end");
const END_AT: Parameter = Parameter::query(
    "end_at",
    Kind::Stamp,
    "Unix seconds; without it, or with 0, 90 days after the start, or now",
);
const PAGE: Parameter = Parameter::query("page", Kind::AtLeast(1), "Pages of 1,000").or(Word::Number(1));

pub(super) const SUBMIT: Doc = Doc::new(Tag::Trade, "submitOrder", "Submits an order of the paper account")
    .about(
        "What the account cannot pay for, or does not have, is accepted and then rejected, with the reason in msg. The same \
         client_request_id within ten minutes is the same order.",
    )
    .body(&[Media::json::<Submission>()])
    .answers(&[AnswerDoc::ok("The number of the order", &[data::<Submitted>()])])
    .refuses(REFUSALS);

pub(super) const REPLACE: Doc = Doc::new(Tag::Trade, "replaceOrder", "Gives an open order other terms")
    .body(&[Media::json::<Replacement>()])
    .answers(&[AnswerDoc::ok("It has them", &[data::<Nothing>()])])
    .refuses(REFUSALS);

pub(super) const CANCEL: Doc = Doc::new(Tag::Trade, "cancelOrder", "Withdraws an open order")
    .parameters(&[ORDER_ID.required(), ATTACHED])
    .answers(&[AnswerDoc::ok("It is withdrawn", &[data::<Nothing>()])])
    .refuses(REFUSALS);

pub(super) const DETAIL: Doc = Doc::new(Tag::Trade, "orderDetail", "One order with its history and charges")
    .parameters(&[ORDER_ID.required(), ATTACHED])
    .answers(&[AnswerDoc::ok("The order", &[data::<Detail>()])])
    .refuses(REFUSALS);

pub(super) const WHY: Doc = Doc::new(
    Tag::Trade,
    "orderStory",
    "What happened to an order, by which candle and which rule, and each charge",
)
.parameters(&[ORDER_ID.required()])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<Story>()])])
.refuses(REFUSALS);

pub(super) const PREVIEW: Doc = Doc::new(
    Tag::Trade,
    "previewOrder",
    "What would become of an order, and what it would cost",
)
.about(
    "Nothing is done. What would be refused is an answer like every other, with the check and its numbers.",
)
.body(&[Media::json::<Submission>()])
.answers(&[AnswerDoc::ok("The verdict, the reason, and the cost", &[data::<Preview>()])])
.refuses(REFUSALS);

pub(super) const TODAY: Doc = Doc::new(
    Tag::Trade,
    "todayOrders",
    "Orders that are open, were submitted today, or ended today; newest first",
)
.parameters(&[SYMBOL, STATUS, SIDE, MARKET, ORDER_ID, ATTACHED])
.answers(&[AnswerDoc::ok("The orders", &[data::<Today>()])])
.refuses(REFUSALS);

pub(super) const HISTORY: Doc =
    Doc::new(Tag::Trade, "historyOrders", "Orders that are not among today's, by when they were submitted")
        .parameters(&[SYMBOL, STATUS, SIDE, MARKET, START_AT, END_AT])
        .answers(&[AnswerDoc::ok("At most 1,000 orders, newest first", &[data::<History>()])])
        .refuses(REFUSALS);

pub(super) const EXECUTIONS_TODAY: Doc =
    Doc::new(Tag::Trade, "todayExecutions", "Executions of the trading day")
        .parameters(&[SYMBOL, ORDER_ID])
        .answers(&[AnswerDoc::ok("Newest first", &[data::<Trades>()])])
        .refuses(REFUSALS);

pub(super) const EXECUTIONS_HISTORY: Doc =
    Doc::new(Tag::Trade, "historyExecutions", "Executions of the days before")
        .parameters(&[SYMBOL, ORDER_ID, START_AT, END_AT, PAGE])
        .answers(&[AnswerDoc::ok("A page of them, newest first", &[data::<Page>()])])
        .refuses(REFUSALS);

pub(super) const EXECUTIONS_ALL: Doc = Doc::new(Tag::Trade, "allExecutions", "Executions of all days")
    .parameters(&[SYMBOL, ORDER_ID, START_AT, END_AT, PAGE])
    .answers(&[AnswerDoc::ok("A page of them, newest first", &[data::<Page>()])])
    .refuses(REFUSALS);

pub(super) const ESTIMATE: Doc = Doc::new(Tag::Trade, "estimateBuyLimit", "How much could be bought or sold")
    .parameters(&[
        SYMBOL.required(),
        Parameter::query("order_type", Kind::Text, "As LO or MO").required(),
        SIDE.required(),
        Parameter::query("price", Kind::Text, "For orders with a limit"),
        Parameter::query("currency", Kind::Text, "As HKD"),
        ORDER_ID,
        Parameter::query("fractional_shares", Kind::OneOf(&["true", "false"]), "Where the account may"),
    ])
    .answers(&[AnswerDoc::ok("With cash, and with credit", &[data::<Estimated>()])])
    .refuses(REFUSALS);

pub(super) const MARKS: Doc = Doc::new(
    Tag::Trade,
    "chartMarks",
    "What a chart of a security shows of the account: open orders, and fills at their candles",
)
.about("At most 1,000 fills, the newest. Asking does not begin an account.")
.parameters(&[SYMBOL.required()])
.answers(&[AnswerDoc::ok("Oldest first", &[data::<ChartMarks>()])])
.refuses(REFUSALS);

pub(super) const MARGIN_RATIO: Doc =
    Doc::new(Tag::Trade, "marginRatio", "What part of a position must be covered")
        .parameters(&[SYMBOL.required()])
        .answers(&[AnswerDoc::ok("Initial, maintenance and forced selling", &[data::<Ratios>()])])
        .refuses(REFUSALS);
