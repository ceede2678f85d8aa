//! Reports as tables with named columns, and rows with line numbers. CSV files and JSON documents
//! are converted to tables.

/// Maximum size of a report file in bytes.
pub const REPORT_BYTES_MAX: usize = 16 << 20;
pub const REPORT_ROWS_MAX: usize = 100_000;
const COLUMNS_MAX: usize = 16;
/// Maximum length of a field in bytes: an account name has up to 64 characters of up to four bytes.
const FIELD_BYTES_MAX: usize = 256;

/// An error in a report, with the line number if the report is a file with lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ReportError {
    pub line: Option<usize>,
    pub problem: String,
}

impl ReportError {
    pub fn new(problem: impl Into<String>) -> ReportError {
        ReportError { line: None, problem: problem.into() }
    }

    pub(crate) fn at(line: Option<usize>, problem: impl Into<String>) -> ReportError {
        ReportError { line, problem: problem.into() }
    }
}

/// Unparsed rows of a report with their column names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) line: Option<usize>,
    fields: Vec<String>,
}

impl Table {
    pub fn new(columns: &[&str]) -> Table {
        Table { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row with one field per column. `line` is the line number for error messages. Fails if
    /// the table is full, the number of fields differs from the number of columns, or a field is
    /// too long.
    pub fn push(&mut self, line: Option<usize>, fields: Vec<String>) -> Result<(), ReportError> {
        let problem = if self.rows.len() >= REPORT_ROWS_MAX {
            format!("a report has at most {REPORT_ROWS_MAX} rows: send it in parts")
        } else if fields.len() != self.columns.len() {
            format!("{} fields instead of {}", fields.len(), self.columns.len())
        } else if fields.iter().any(|field| field.len() > FIELD_BYTES_MAX) {
            format!("a field has more than {FIELD_BYTES_MAX} bytes")
        } else {
            self.rows.push(Row { line, fields });
            return Ok(());
        };
        Err(ReportError::at(line, problem))
    }

    /// Parses CSV with a header line. Fields may be quoted; blank lines are skipped.
    pub fn csv(bytes: &[u8]) -> Result<Table, ReportError> {
        if bytes.len() > REPORT_BYTES_MAX {
            return Err(ReportError::new(format!("the file is larger than {REPORT_BYTES_MAX} bytes")));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| ReportError::new("the text is not UTF-8"))?;
        let mut table: Option<Table> = None;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            let number = Some(index + 1);
            if line.trim().is_empty() {
                continue;
            }
            let fields = fields(line).map_err(|problem| ReportError::at(number, problem))?;
            match &mut table {
                Some(table) => table.push(number, fields)?,
                None => {
                    if fields.len() > COLUMNS_MAX {
                        return Err(ReportError::at(number, format!("more than {COLUMNS_MAX} columns")));
                    }
                    let columns = fields.into_iter().map(|name| name.to_ascii_lowercase()).collect();
                    table = Some(Table { columns, rows: Vec::new() });
                }
            }
        }
        table.ok_or_else(|| ReportError::new("it is empty: the first line must name the columns"))
    }

    /// Returns the rows if every column is in `known`, no column is duplicated, no column in
    /// `needed` is missing and there is at least one row.
    pub(crate) fn checked(&self, needed: &[&str], known: &[&str]) -> Result<&[Row], ReportError> {
        let wanted = || format!("the columns are {}", known.join(", "));
        for (index, name) in self.columns.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let name: String = name.chars().take(40).collect();
                return Err(ReportError::new(format!("{name:?} is not a known column: {}", wanted())));
            }
            if self.columns.iter().skip(index + 1).any(|other| other == name) {
                return Err(ReportError::new(format!("the column {name:?} is given twice")));
            }
        }
        if let Some(name) = needed.iter().find(|name| !self.columns.iter().any(|column| column == *name)) {
            return Err(ReportError::new(format!("the column {name:?} is missing: {}", wanted())));
        }
        if self.rows.is_empty() {
            return Err(ReportError::new("it has no rows"));
        }
        Ok(&self.rows)
    }

    /// Returns a field by column name, or `None` if the field is blank or the column does not
    /// exist.
    pub(crate) fn field<'a>(&self, row: &'a Row, name: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|column| column == name)?;
        row.fields.get(at).map(|field| field.trim()).filter(|field| !field.is_empty())
    }
}

/// Splits a CSV line into fields. A quoted field may contain commas and doubled quotes.
fn fields(line: &str) -> Result<Vec<String>, &'static str> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|letter| *letter == ' ').is_some() {}
        if letters.next_if_eq(&'"').is_some() {
            loop {
                match letters.next() {
                    Some('"') if letters.next_if_eq(&'"').is_some() => field.push('"'),
                    Some('"') => break,
                    Some(letter) => field.push(letter),
                    None => return Err("a quote is opened and not closed"),
                }
            }
            while letters.next_if(|letter| *letter == ' ').is_some() {}
            if !matches!(letters.peek(), None | Some(',')) {
                return Err("there is text after a closing quote");
            }
        } else {
            while let Some(letter) = letters.next_if(|letter| *letter != ',') {
                field.push(letter);
            }
            field.truncate(field.trim_end().len());
        }
        fields.push(std::mem::take(&mut field));
        if letters.next().is_none() {
            return Ok(fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Table::csv(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_line_is_split_at_unquoted_commas() {
        let cases: [(&str, &[&str]); 6] = [
            ("a,b", &["a", "b"]),
            (" a , b ,", &["a", "b", ""]),
            (r#""a, b",c"#, &["a, b", "c"]),
            (r#""say ""hi""" , "c""#, &[r#"say "hi""#, "c"]),
            ("", &[""]),
            (",,", &["", "", ""]),
        ];
        for (line, wanted) in cases {
            assert_eq!(fields(line).unwrap(), wanted, "{line}");
        }
        assert!(fields(r#""a"#).is_err());
        assert!(fields(r#""a"b,c"#).is_err());
    }

    #[test]
    fn a_csv_row_must_have_as_many_fields_as_the_header() {
        let table =
            Table::csv("\u{feff}Account,Day\r\n\r\nann,2026-10-30\r\n\"b, c\",\n".as_bytes()).unwrap();
        let rows = table.checked(&["account"], &["account", "day"]).unwrap();
        let lines: Vec<_> = rows.iter().map(|row| (row.line, table.field(row, "day"))).collect();
        assert_eq!(lines, [(Some(3), Some("2026-10-30")), (Some(4), None)]);
        assert_eq!(table.field(&rows[1], "account"), Some("b, c"));
        assert_eq!(problem("account,day\nann\n"), "line 2: 1 fields instead of 2");
        assert!(problem("").contains("it is empty"));
        assert!(problem(&format!("a\n{}\n", "x".repeat(300))).starts_with("line 2: a field"));
        assert!(problem(&"a,".repeat(20)).contains("columns"));
        assert!(Table::csv(&[b'a', 0xff]).unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn a_report_with_too_many_rows_is_rejected() {
        let text = format!("a\n{}", "1\n".repeat(REPORT_ROWS_MAX));
        assert_eq!(Table::csv(text.as_bytes()).unwrap().rows.len(), REPORT_ROWS_MAX);
        assert!(problem(&format!("{text}1\n")).contains("at most 100000 rows"));
        assert!(Table::csv(&vec![b'a'; REPORT_BYTES_MAX + 1]).is_err());
    }

    #[test]
    fn unknown_missing_and_duplicate_columns_are_rejected() {
        let check = |text: &str| {
            Table::csv(text.as_bytes()).unwrap().checked(&["a"], &["a", "b"]).unwrap_err().to_string()
        };
        assert_eq!(check("a,c\n1,2\n"), "\"c\" is not a known column: the columns are a, b");
        assert_eq!(check("b\n1\n"), "the column \"a\" is missing: the columns are a, b");
        assert_eq!(check("a,b,a\n1,2,3\n"), "the column \"a\" is given twice");
        assert_eq!(check("a,b\n"), "it has no rows");
    }
}
