// Calendar dates as text, for the heat map. Dates have no zone here: they are market dates.

import { phrase } from '../phrases/shared.js';

const DAY_MS = 86_400_000;
const MONTHS = phrase('months').split(' ');

export function shiftDate(date, days) {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Every date from the first to the last, both included. */
export function calendarDays(start, end) {
  const days = [];
  for (let date = start; date <= end; date = shiftDate(date, 1)) days.push(date);
  return days;
}

/** Runs of one month, for the line above the boxes. A run too short for its name gets no label. */
export function monthSpans(days) {
  const spans = [];
  days.forEach((date, at) => {
    const month = date.slice(0, 7);
    if (spans.at(-1)?.month === month) spans.at(-1).length += 1;
    else spans.push({ month, from: at, length: 1 });
  });
  return spans.map(({ month, from, length }) => ({
    from,
    length,
    text: length < 5 ? '' : phrase('month_of_year', MONTHS[Number(month.slice(5)) - 1], month.slice(0, 4)),
  }));
}
