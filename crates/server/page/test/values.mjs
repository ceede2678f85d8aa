// Indicators of candles, for a test that compares them with those of another program
// (e2e/python/test_indicators.py): a view and its candles as JSON on standard input, the lines as
// JSON on standard output.

import { readFileSync } from 'node:fs';

import { candleOf } from '../src/candles.js';
import { computed } from '../src/study/compute.js';

const { view, candles } = JSON.parse(readFileSync(0, 'utf8'));
const lines = computed(candles.map(candleOf), view, true).flatMap(({ lines: all }) => all);
const numbers = (column, size) => Array.from(column, (value) => (Number.isNaN(value) ? null : value / size));
process.stdout.write(JSON.stringify(lines.map(({ label, values, size, isDown }) => ({ label, values: numbers(values, size), isDown: isDown && Array.from(isDown) }))));
