//! Layouts of the chart page: `GET`, `PUT` and `DELETE /v1/layouts`.

use access::{LAYOUTS_MAX, LayoutError, LayoutName, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::doc::refusals::{BAD_REQUEST, LISTS_TOO_FAST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data};
use crate::kit::envelope::{self, Empty};
use crate::kit::{Accepts, Admitted, Answer, Call, Problem, Row, RowPace, Site};
use crate::metrics::Task;
use crate::refusal::Refusal;

const PATH: &str = "/v1/layouts";

pub(super) const ROUTES: &[Row] = &[
    limited(Row::get(PATH, Accepts::Account, Scope::Quote, Task::Data, list)).doc(&LIST),
    limited(Row::put(PATH, Accepts::Account, Scope::Quote, Task::Data, put)).doc(&PUT),
    limited(Row::delete(PATH, Accepts::Account, Scope::Quote, Task::Data, delete)).doc(&DELETE),
];

/// As for watchlists: a client may save, delete and save again within a second.
const fn limited(row: Row) -> Row {
    row.own_region_only().paced(RowPace::Lists).orders().of_owner()
}

const LIST: Doc = Doc::new(Tag::Account, "layouts", "Saved layouts of the chart page")
    .answers(&[AnswerDoc::ok("The layouts by name", &[data::<Layouts>()])])
    .refuses(&[LISTS_TOO_FAST]);

const PUT: Doc = Doc::new(Tag::Account, "saveLayout", "Save or rename a layout of the chart page")
    .about("An account may have at most 50 layouts. A layout of the same name is replaced.")
    .body(&[Media::json::<LayoutBody>()])
    .answers(&[AnswerDoc::ok("The change was made", &[data::<Empty>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, LISTS_TOO_FAST]);

const DELETE: Doc = Doc::new(Tag::Account, "deleteLayout", "Delete a layout of the chart page")
    .parameters(&[Parameter::query("name", Kind::Text, "Name of the layout")])
    .answers(&[AnswerDoc::ok("The change was made", &[data::<Empty>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, LISTS_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
struct Layouts {
    layouts: Vec<Layout>,
    /// Maximum number of layouts.
    limit: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChartLayout")]
struct Layout {
    name: String,
    /// The query part of the address of the chart page.
    query: String,
    /// Time of the last change of the query, in Unix seconds.
    changed_at: i64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ChartLayoutChange")]
struct LayoutBody {
    /// At most 40 printable characters.
    name: String,
    /// The query part of the address of the chart page, at most 2,000 bytes; required without
    /// `rename_from`.
    query: Option<String>,
    /// The present name of the layout to rename, which keeps its query.
    rename_from: Option<String>,
}

fn list(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let rows = site.core.access.layouts(admitted.account().id).map_err(Problem::from_access)?;
    let layouts = rows
        .into_iter()
        .map(|row| Layout { name: row.name, query: row.query, changed_at: row.changed_at.0 })
        .collect();
    Ok(envelope::success(Layouts { layouts, limit: LAYOUTS_MAX }))
}

fn put(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let body: LayoutBody = call.json()?;
    let name = LayoutName::parse(&body.name).map_err(|reason| wrong(format!("name: {reason}")))?;
    let (access, id) = (&site.core.access, may_change(&admitted)?);
    match (body.query, body.rename_from) {
        (Some(query), None) => access.save_layout(id, &name, &query, admitted.now()),
        (None, Some(from)) => access.rename_layout(id, &from, &name),
        _ => return Err(wrong("either query or rename_from required".to_owned())),
    }
    .map_err(refused)?;
    Ok(envelope::success(Empty {}))
}

fn delete(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let name = call.parameter_of("name").ok_or_else(|| wrong("name required".to_owned()))?;
    site.core.access.delete_layout(may_change(&admitted)?, &name).map_err(refused)?;
    Ok(envelope::success(Empty {}))
}

/// Returns the account whose layouts are changed, or an error if the account is read-only.
fn may_change(admitted: &Admitted) -> Result<access::AccountId, Problem> {
    let account = admitted.account();
    if account.terms.read_only { Err(Problem::read_only()) } else { Ok(account.id) }
}

fn refused(error: LayoutError) -> Problem {
    match error {
        LayoutError::NotFound => Problem::not_found().because("there is no layout of this name"),
        LayoutError::Failed(error) => Problem::from_access(error),
        error => wrong(error.to_string()),
    }
}

fn wrong(text: String) -> Problem {
    Refusal::BadQuery(text).into()
}
