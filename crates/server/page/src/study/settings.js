// The available indicators, and their settings as in an address: `ma=5,10,20`, `boll=20,2`,
// `macd=12,26,9`. A setting is text in a canonical form, so that two views can be compared;
// `numbersOf` parses it. An indicator without parameters is `on`.

const LENGTH_MAX = 500;
const LINES_MAX = 5;
/** How far Ichimoku moves its spans. */
const SHIFT_MAX = 100;
const ON = 'on';

const isLength = (number) => Number.isInteger(number) && number >= 1 && number <= LENGTH_MAX;
/** Several lines of one kind, each by its length. */
const lengths = (numbers, most = LINES_MAX) => numbers.length <= most && numbers.every(isLength) && new Set(numbers).size === numbers.length;

/** In the order of the menu. */
export const STUDY_NAMES = ['ma', 'ema', 'boll', 'vwap', 'ichimoku', 'supertrend', 'vma', 'macd', 'rsi', 'kdj', 'atr', 'obv'];

/**
 * `isPane` for those with a separate pane, `isVolume` for those in the pane of the volumes, `isPlain`
 * for those without parameters.
 */
export const STUDIES = {
  ma: { usual: '5,10,20', isRight: (numbers) => lengths(numbers) },
  ema: { usual: '12,26', isRight: (numbers) => lengths(numbers) },
  boll: {
    usual: '20,2',
    isRight: ([length, width, ...more]) => more.length === 0 && isLength(length) && length > 1 && isWidth(width),
  },
  vwap: { usual: ON, isPlain: true },
  ichimoku: {
    usual: '9,26,52,26',
    isRight: (numbers) => numbers.length === 4 && numbers.every(isLength) && numbers[3] <= SHIFT_MAX,
  },
  supertrend: { usual: '10,3', isRight: ([length, width, ...more]) => more.length === 0 && isLength(length) && isWidth(width) },
  vma: { usual: '5,10', isVolume: true, isRight: (numbers) => lengths(numbers) },
  macd: {
    usual: '12,26,9',
    isPane: true,
    isRight: ([fast, slow, signal, ...more]) => more.length === 0 && [fast, slow, signal].every(isLength) && fast < slow,
  },
  rsi: { usual: '14', isPane: true, isRight: (numbers) => lengths(numbers, 3) && numbers.every((length) => length > 1) },
  kdj: { usual: '9,3,3', isPane: true, isRight: (numbers) => numbers.length === 3 && numbers.every(isLength) },
  atr: { usual: '14', isPane: true, isRight: (numbers) => lengths(numbers, 3) },
  obv: { usual: ON, isPane: true, isPlain: true },
};

const isWidth = (width) => width >= 0.1 && width <= 10 && isTenth(width);
const isTenth = (number) => Math.abs(number * 10 - Math.round(number * 10)) < 1e-9;
const SETTING = /^\d{1,3}(\.\d)?(,\d{1,3}(\.\d)?)*$/;

/** A typed setting in its canonical form; undefined if it is invalid for the indicator. */
export function settingOf(name, text) {
  const plain = text.replace(/\s+/g, '').replaceAll('，', ',');
  if (STUDIES[name].isPlain) return plain === ON ? ON : undefined;
  if (!SETTING.test(plain)) return undefined;
  const numbers = numbersOf(plain);
  return STUDIES[name].isRight(numbers) ? numbers.join(',') : undefined;
}

export const numbersOf = (setting) => setting.split(',').map(Number);

/** How many candles after the newest one the indicators of a view need. */
export const roomOf = ({ ichimoku }) => (ichimoku ? numbersOf(ichimoku)[3] : 0);

/** The indicators of a view with a separate pane. */
export const panesOf = (view) => STUDY_NAMES.filter((name) => STUDIES[name].isPane && view[name] !== undefined);
