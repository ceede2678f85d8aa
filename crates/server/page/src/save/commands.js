// The current view as a command: for the command line, for curl and for the Python SDK.

import { CANDLES_A_CALL } from '../served-limits.js';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;
/** A word, quoted for a shell if needed. */
const quoted = (text) => (/^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

export function cliOf({ symbol, period, adjust, session, before }, server) {
  const { protocol, hostname } = new URL(server);
  const words = ['chandler', 'kline', symbol, '--period', period, '--adjust', adjust];
  if (session !== 'intraday') words.push('--session', session);
  if (before) words.push('--before', before);
  words.push('-n', String(CANDLES_A_CALL), '--server', server);
  if (protocol === 'http:' && !LOOPBACK.test(hostname)) words.push('--insecure-http');
  return words.map(quoted).join(' ');
}

export function curlOf({ symbol, period, adjust, session, before }, server) {
  const query = new URLSearchParams({ symbol, period, adjust, session, limit: CANDLES_A_CALL, ...(before && { before }) });
  return `curl -H "Authorization: Bearer $CHANDLER_TOKEN" '${server}/v1/quote/history-candlesticks?${String(query).replaceAll('%3A', ':')}'`;
}

/**
 * The address and keys come from the environment variables that `chandler account create` prints.
 */
export function pythonOf({ symbol, period, adjust, session, before }) {
  const span = { day: 'Day', week: 'Week', month: 'Month', quarter: 'Quarter', year: 'Year' }[period] ?? `Min_${Number.parseInt(period, 10)}`;
  const basis = adjust === 'forward' ? 'ForwardAdjust' : 'NoAdjust';
  const hours = session === 'all' ? 'All' : 'Intraday';
  const numbers = before?.match(/\d+/g).map(Number);
  const more = numbers ? `, datetime.datetime(${[...numbers, 0, 0].slice(0, 5).join(', ')})` : '';
  const rest = before && !before.includes('T') ? more.replace(/0, 0\)$/, '23, 59)') : more;
  return [
    ...(before ? ['import datetime', ''] : []),
    'from longbridge.openapi import AdjustType, Config, Period, QuoteContext, TradeSessions',
    '',
    'quotes = QuoteContext(Config.from_apikey_env())',
    'candles = quotes.history_candlesticks_by_offset(',
    `    "${symbol}", Period.${span}, AdjustType.${basis}, False, ${CANDLES_A_CALL}${rest}, trade_sessions=TradeSessions.${hours}`,
    ')',
    'for candle in candles:',
    '    print(candle.timestamp, candle.open, candle.high, candle.low, candle.close, candle.volume)',
  ].join('\n');
}
