//! `/v1/drawings/{symbol}`: an account's drawings on the chart of a security.

use access::Scope;
use market::Price;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::StoreError;

use crate::command;
use crate::kit::doc::refusals::{BAD_REQUEST, LISTS_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Media, Parameter, Tag, data};
use crate::kit::envelope::{self, Empty};
use crate::kit::fields::QueryParameters;
use crate::kit::{Accepts, Admitted, Answer, Call, Problem, Row, RowPace, Site};
use crate::metrics::Task;
use crate::refusal::Refusal;

/// Maximum number of drawings on a chart.
const DRAWINGS_MAX: usize = 50;
/// Maximum number of characters of a note.
const NOTE_CHARS_MAX: usize = 120;
/// Maximum number of charts on which an account has drawings.
const CHARTS_MAX: u32 = 500;
const PATH: &str = "/v1/drawings/{symbol}";

pub(super) const ROUTES: &[Row] = &[
    limited(Row::get(PATH, Accepts::Account, Scope::Quote, Task::Data, show)).doc(&SHOW),
    limited(Row::put(PATH, Accepts::Account, Scope::Quote, Task::Data, replace)).orders().doc(&REPLACE),
];

const fn limited(row: Row) -> Row {
    row.own_region_only().paced(RowPace::Lists).of_owner()
}

const SYMBOL: &[Parameter] = &[Parameter::path("symbol", "Symbol such as 700.HK")];

const SHOW: Doc = Doc::new(Tag::Account, "drawings", "The account's drawings on the chart of a security")
    .parameters(SYMBOL)
    .answers(&[AnswerDoc::ok("The drawings", &[data::<Drawings>()])])
    .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

const REPLACE: Doc =
    Doc::new(Tag::Account, "replaceDrawings", "Replace the account's drawings on the chart of a security")
        .about("At most 50 drawings on a chart, and drawings on at most 500 charts.")
        .parameters(SYMBOL)
        .body(&[Media::json::<Drawings>()])
        .answers(&[AnswerDoc::ok("The drawings were stored", &[data::<Empty>()])])
        .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
struct Drawings {
    drawings: Vec<Drawing>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Drawing {
    kind: DrawingKind,
    /// One point of a level or a note, two of a line or a measure.
    points: Vec<Point>,
    /// Text of a note, at most 120 characters; empty for other drawings.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DrawingKind {
    Line,
    Level,
    Measure,
    Note,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "DrawingPoint")]
#[serde(deny_unknown_fields)]
struct Point {
    /// Market-local time in seconds, as the chart places candles.
    time: i64,
    /// Price as a decimal number.
    price: String,
}

fn show(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    QueryParameters::parse(call.query, &[])?;
    let symbol = command::symbol(call.path_value("symbol"))?;
    let stored = site.core.access.database().drawings(admitted.account().id, &symbol).map_err(of_store)?;
    let drawings = match stored {
        None => Drawings::default(),
        Some(text) => serde_json::from_str(&text).map_err(|error| {
            tracing::error!(%error, "cannot read stored drawings");
            Problem::internal()
        })?,
    };
    Ok(envelope::success(drawings))
}

fn replace(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let drawings: Drawings = call.json()?;
    let symbol = command::symbol(call.path_value("symbol"))?;
    let account = admitted.account();
    if account.terms.read_only {
        return Err(Problem::read_only());
    }
    if drawings.drawings.len() > DRAWINGS_MAX {
        return Err(wrong(&format!("a chart has at most {DRAWINGS_MAX} drawings")));
    }
    drawings.drawings.iter().try_for_each(Drawing::check)?;
    let text = match drawings.drawings.as_slice() {
        [] => String::new(),
        _ => serde_json::to_string(&drawings).map_err(|_| Problem::internal())?,
    };
    let put =
        site.core.access.database().put_drawings(account.id, &symbol, &text, (admitted.now(), CHARTS_MAX));
    match put.map_err(of_store)? {
        true => Ok(envelope::success(Empty {})),
        false => {
            Err(wrong(&format!("an account has drawings on at most {CHARTS_MAX} charts: delete some first")))
        }
    }
}

impl Drawing {
    fn check(&self) -> Result<(), Problem> {
        let points = match self.kind {
            DrawingKind::Level | DrawingKind::Note => 1,
            DrawingKind::Line | DrawingKind::Measure => 2,
        };
        if self.points.len() != points {
            return Err(wrong("a level and a note have one point, a line and a measure have two"));
        }
        if self.points.iter().any(|point| Price::parse(&point.price).is_err()) {
            return Err(wrong("the price of a point is not a number"));
        }
        let chars = self.text.chars().count();
        let is_note = self.kind == DrawingKind::Note;
        if chars > NOTE_CHARS_MAX || (chars == 0) == is_note {
            return Err(wrong("a note has 1 to 120 characters, and other drawings have no text"));
        }
        Ok(())
    }
}

fn wrong(text: &str) -> Problem {
    Problem::from(Refusal::BadQuery(text.to_owned())).detailed(text.to_owned())
}

fn of_store(error: StoreError) -> Problem {
    Problem::from_access(error.into())
}
