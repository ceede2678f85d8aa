// Labels of orders, charges and cash movements, in the language of the page. Unknown values, such
// as a custom charge of the operator, are shown verbatim.

import { grouped, signed } from '../decimal.js';
import { phrase } from '../phrases/portfolio.js';

const STATUSES = {
  NotReported: 'status_not_reported',
  DelayedNotReported: 'status_delayed',
  VarietiesNotReported: 'status_waiting',
  WaitToNew: 'status_new',
  NewStatus: 'status_new',
  WaitToReplace: 'status_new',
  PendingReplaceStatus: 'status_new',
  PartialFilledStatus: 'status_part',
  WaitToCancel: 'status_new',
  PendingCancelStatus: 'status_new',
  FilledStatus: 'status_filled',
  CanceledStatus: 'status_canceled',
  RejectedStatus: 'status_rejected',
  ExpiredStatus: 'status_expired',
  PartialWithdrawal: 'status_withdrawn',
};
const FINAL = ['FilledStatus', 'CanceledStatus', 'RejectedStatus', 'ExpiredStatus', 'PartialWithdrawal'];

/** The fields of each order type. `isHongKong` marks those that no other market has. */
export const TYPES = [
  { code: 'LO', name: 'type_LO', fields: ['price'] },
  { code: 'MO', name: 'type_MO', fields: [] },
  { code: 'LIT', name: 'type_LIT', fields: ['price', 'trigger_price'] },
  { code: 'MIT', name: 'type_MIT', fields: ['trigger_price'] },
  { code: 'TSLPAMT', name: 'type_TSLPAMT', fields: ['trailing_amount', 'limit_offset'] },
  { code: 'TSLPPCT', name: 'type_TSLPPCT', fields: ['trailing_percent', 'limit_offset'] },
  { code: 'ELO', name: 'type_ELO', fields: ['price'], isHongKong: true },
  { code: 'SLO', name: 'type_SLO', fields: ['price'], isHongKong: true },
  { code: 'AO', name: 'type_AO', fields: [], isHongKong: true },
  { code: 'ALO', name: 'type_ALO', fields: ['price'], isHongKong: true },
  { code: 'ODD', name: 'type_ODD', fields: ['price'], isHongKong: true },
];

/** The prices that an order may have, and their labels. */
export const PRICE_FIELDS = {
  price: 'limit',
  trigger_price: 'trigger',
  trailing_amount: 'trailing_amount',
  trailing_percent: 'trailing_percent',
  limit_offset: 'limit_offset',
};

const FLOWS = {
  Fee: 'flow_fee',
  BuyStock: 'flow_buy',
  SellStock: 'flow_sell',
  Deposit: 'flow_deposit',
  Withdrawal: 'flow_withdrawal',
  ExchangeOut: 'flow_exchange_out',
  ExchangeIn: 'flow_exchange_in',
  Dividend: 'flow_dividend',
  CashInLieu: 'flow_in_lieu',
  RightsValue: 'flow_rights',
  Interest: 'flow_interest',
  OptionExpiry: 'flow_option',
  Adjustment: 'flow_adjustment',
};
const FEES = {
  COMMISSION: 'fee_commission',
  PLATFORM: 'fee_platform',
  STAMP_DUTY: 'fee_stamp_duty',
  TRADING_FEE: 'fee_trading',
  SFC_LEVY: 'fee_sfc',
  AFRC_LEVY: 'fee_afrc',
  SETTLEMENT: 'fee_settlement',
  CLEARING: 'fee_clearing',
  SEC_FEE: 'fee_sec',
  TAF: 'fee_taf',
  CAT: 'fee_cat',
};

const worded = (table, code) => (table[code] ? phrase(table[code]) : code);

export const isOpen = ({ status }) => !FINAL.includes(status);
export const statusWords = (status) => worded(STATUSES, status);
export const flowWords = (name) => worded(FLOWS, name);
export const feeWords = (code) => worded(FEES, code);
export const typeOf = (code) => TYPES.find((type) => type.code === code);
export const sideWords = (side) => phrase(side === 'Buy' ? 'buy' : 'sell');

export function typeWords(code) {
  const type = typeOf(code);
  return type ? phrase(type.name) : code;
}

/** `limit 306.000`, `market`, `limit if touched 89.5, once 89 is touched`. */
export function priceWords({ order_type: type, price, trigger_price: trigger, trailing_amount: amount, trailing_percent: percent }) {
  const trail = amount || (percent && `${percent} %`);
  const parts = [[typeWords(type), price || trail].filter(Boolean).join(' '), trigger && phrase('triggered_at', trigger)];
  return parts.filter(Boolean).join(', ');
}

/** `Buy 200 limit 306.000`. */
export const orderWords = (order) => `${sideWords(order.side)} ${amount(order.quantity)} ${priceWords(order)}`;

/**
 * The orders that are attached to an order, as rows of a list: they are triggered on the other side of
 * the main order.
 */
export const legsOf = ({ symbol, side, stock_name: name, attached_orders: legs = [] }) =>
  legs.map((leg) => ({
    ...leg,
    symbol,
    stock_name: name,
    side: side === 'Buy' ? 'Sell' : 'Buy',
    order_type: leg.activate_order_type === 'LO' ? 'LIT' : 'MIT',
    price: leg.submit_price,
    executed_quantity: leg.executed_qty,
    isInactive: leg.trigger_status === 'DEACTIVE' && isOpen(leg),
  }));

/** `Take profit`, `Stop loss`. */
export const legWords = ({ attached_type_display: leg }) => phrase(leg === 'PROFIT_TAKER' ? 'take_profit' : 'stop_loss');

/** Whether an order, or one that is attached to it, is open. */
export const isWorking = (order) => isOpen(order) || (order.attached_orders ?? []).some(isOpen);

/** Why an order waits: in the language of the page for missing candles, else the server's sentence. */
export const waitingWords = (symbol, { words, newest_candle: newest }) => (newest ? phrase('waits_for_candles', symbol, newest) : words);

/** An amount with its sign, for display. */
export const signedAmount = (text) => signed(grouped(text));
export const amount = (text) => grouped(text).replace('-', '\u2212');

/** Whether an amount is positive, negative or zero, for its colour. */
export function directionOf(text) {
  if (text === undefined || text === null || !/[1-9]/.test(text)) return 'level';
  return text.startsWith('-') ? 'fall' : 'rise';
}
