//! Requests about a paper account's statements.

use market::Date;
use serde_json::{Value, json};

use super::pages::PAGES_MAX;
use super::questions::{StatementsQuestion, digits};
use super::shown::rows;
use crate::client::Client;
use crate::failure::Failure;
use crate::remote::field;

impl Client {
    pub(crate) fn statements(&self, question: &StatementsQuestion) -> Result<Value, Failure> {
        let limit = ("limit", question.limit.to_string());
        self.read("/v1/statement/list", &[parameters(question), vec![limit]].concat())
    }

    /// Returns the content of the statement for `date`, or of the newest one of its kind. `None` if
    /// it does not exist.
    pub(crate) fn statement(
        &self,
        question: &StatementsQuestion,
        date: Option<Date>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let Some(key) = self.statement_key(question, date)? else { return Ok(None) };
        self.statement_file(key).map(Some)
    }

    /// Returns the key of a statement. Searches page by page, because there may be many newer ones.
    fn statement_key(
        &self,
        question: &StatementsQuestion,
        date: Option<Date>,
    ) -> Result<Option<String>, Failure> {
        for page in 1..=PAGES_MAX {
            let paging = vec![("page", page.to_string()), ("page_size", question.limit.to_string())];
            let list = self.read("/v1/statement/list", &[parameters(question), paging].concat())?;
            let listed = rows(&list, "list");
            let is_it = |row: &&Value| date.is_none_or(|date| field(row, "dt") == &json!(digits(date)));
            if let Some(key) = listed.iter().find(is_it).and_then(|row| field(row, "file_key").as_str()) {
                return Ok(Some(key.to_owned()));
            }
            if date.is_none() || u32::try_from(listed.len()).is_ok_and(|count| count < question.limit) {
                break;
            }
        }
        Ok(None)
    }
}

fn parameters(question: &StatementsQuestion) -> Vec<(&'static str, String)> {
    let kind = ("statement_type", question.kind.number().to_string());
    let from = question.from.map(|from| ("start_date", digits(from).to_string()));
    std::iter::once(kind).chain(from).collect()
}
