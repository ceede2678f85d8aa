use market::{Candle, Date, Period, Span, Zone};

use super::{Columns, Glyphs};

/// Candidate label for the time axis. Labels with a higher rank are placed first.
#[derive(Debug)]
struct LabelCandidate {
    column: usize,
    rank: u8,
    text: String,
}

/// Draws the time axis as two lines: a rule with a mark at each labelled candle, and the labels in
/// the market's local time.
pub(super) fn draw(
    chart: &mut String,
    shown: &[Candle],
    zone: &Zone,
    period: Period,
    columns: &Columns,
    width: usize,
    glyphs: Glyphs,
) {
    let labels = place(wishes(shown, zone, period, columns), width);
    let plot = columns.place(shown.len());
    let (rule, mark, corner) =
        if glyphs == Glyphs::Unicode { ('─', '┬', '┘') } else { ('-', '+', '+') };
    chart.extend(
        (0..plot)
            .map(|column| if labels.iter().any(|(wish, _)| wish.column == column) { mark } else { rule }),
    );
    chart.push(corner);
    chart.push('\n');
    let mut used = 0;
    for (wish, start) in &labels {
        chart.extend(std::iter::repeat_n(' ', start - used));
        chart.push_str(&wish.text);
        used = start + wish.text.len();
    }
    chart.push('\n');
}

fn wishes(shown: &[Candle], zone: &Zone, period: Period, columns: &Columns) -> Vec<LabelCandidate> {
    let mut previous = None;
    let each = shown.iter().enumerate().map(|(index, candle)| {
        let (date, seconds) = zone.local(candle.time);
        let (rank, text) = wish(period, previous, date, seconds / 60);
        previous = Some(date);
        LabelCandidate { column: columns.place(index), rank, text }
    });
    each.collect()
}

/// Returns the rank and text of a candle's label. The rank is higher if the candle begins a larger
/// unit of time.
fn wish(period: Period, previous: Option<Date>, date: Date, minute: i64) -> (u8, String) {
    let month = |date: Date| (date.year(), date.month());
    let new_year = previous.is_some_and(|p| p.year() != date.year());
    let new_month = previous.is_some_and(|p| month(p) != month(date));
    let year_month = format!("{:04}-{:02}", date.year(), date.month());
    match period {
        Period::Clock(_) => match previous {
            // The leftmost label shows the date, because time labels do not contain it.
            None => (9, month_day(date)),
            Some(previous) if previous != date => (8, month_day(date)),
            _ => {
                let rank = [240, 120, 60, 30, 15, 5]
                    .into_iter()
                    .position(|n| minute % n == 0)
                    .map_or(0, |at| 7 - at);
                (u8::try_from(rank).unwrap_or(0), format!("{:02}:{:02}", minute / 60, minute % 60))
            }
        },
        Period::Calendar(Span::Year) => (
            if date.year() % 10 == 0 {
                8
            } else if date.year() % 5 == 0 {
                7
            } else {
                6
            },
            date.year().to_string(),
        ),
        Period::Calendar(Span::Month | Span::Quarter) if new_year => (8, date.year().to_string()),
        Period::Calendar(_) if new_year => (8, year_month),
        Period::Calendar(_) if new_month && matches!(date.month(), 1 | 4 | 7 | 10) => (7, year_month),
        Period::Calendar(_) if new_month => (6, year_month),
        Period::Calendar(Span::Day | Span::Week) => {
            let monday = date.weekday().to_monday_zero_offset() == 0;
            if previous.is_none() { (5, date.to_string()) } else { (u8::from(monday), month_day(date)) }
        }
        Period::Calendar(_) => (1, year_month),
    }
}

fn month_day(date: Date) -> String {
    format!("{:02}-{:02}", date.month(), date.day())
}

/// Places as many labels as fit, highest rank first, and returns them with their start columns in
/// ascending order. Low-ranked labels need a wider gap to their neighbours.
fn place(mut wishes: Vec<LabelCandidate>, width: usize) -> Vec<(LabelCandidate, usize)> {
    wishes.sort_by_key(|wish| (std::cmp::Reverse(wish.rank), std::cmp::Reverse(wish.column)));
    let mut placed: Vec<(LabelCandidate, usize)> = Vec::new();
    for wish in wishes {
        let start = wish.column.min(width.saturating_sub(wish.text.len()));
        let end = start + wish.text.len();
        let air = if wish.rank >= 6 { 2 } else { 6 };
        // A label of rank 0 (a time that is not a multiple of five minutes, or a day other than
        // Monday) is used only if no other label was placed.
        if wish.rank == 0 && !placed.is_empty() {
            continue;
        }
        let free = placed.iter().all(|(other, at)| end + air <= *at || at + other.text.len() + air <= start);
        if free {
            placed.push((wish, start));
        }
    }
    placed.sort_by_key(|(_, start)| *start);
    placed
}
