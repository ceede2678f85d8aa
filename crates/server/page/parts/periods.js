// The period switch of the chart page, with one group each for minutes, hours and calendar periods.

import { PERIODS } from '../src/periods.js';

const isHours = ({ label }) => label.endsWith('h');
const isCalendar = ({ family }) => family === 'calendar';

/** The radio buttons of all periods; phrases are filled in with the rest of the document. */
export function periods() {
  const groups = [
    PERIODS.filter((period) => !isHours(period) && !isCalendar(period)),
    PERIODS.filter(isHours),
    PERIODS.filter(isCalendar),
  ];
  const rows = groups.map((group) => group.map((period) => `      ${button(period)}\n`).join(''));
  return `    <span class="group">\n${rows.join('    </span><span class="group">\n')}    </span>`;
}

function button(period) {
  const { name, label } = period;
  const shown = isCalendar(period) ? `{{label_${name}}}` : label;
  return `<label title="{{period_${name}}}"><input type="radio" name="period" value="${name}"><span>${shown}</span></label>`;
}
