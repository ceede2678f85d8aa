// A trader with the Node SDK. Reads a request from each line of standard input, writes a line of
// JSON for the response or the refusal. The reader of this output compares them with the expected
// values.
"use strict";

const readline = require("node:readline");
const sdk = require("longport");

const { Config, Decimal, OrderSide, OrderType, TimeInForceType, TopicType, TradeContext } = sdk;
const PATIENCE_MS = 30_000;

// Fields of the SDK's objects, by the names that all SDKs share.
const ORDER = [
  "order_id", "status", "side", "symbol", "order_type", "quantity", "executed_quantity", "price", "executed_price", "last_done",
  "submitted_at", "updated_at", "msg", "tag", "time_in_force", "currency", "stock_name", "remark",
];
const PUSH = [
  "order_id", "status", "side", "symbol", "order_type", "submitted_quantity", "submitted_price", "executed_quantity",
  "executed_price", "last_share", "last_price", "submitted_at", "updated_at", "msg", "tag", "currency", "account_no",
  "stock_name", "remark",
];
const EXECUTION = ["order_id", "trade_id", "symbol", "trade_done_at", "quantity", "price"];
const BALANCE = [
  "total_cash", "max_finance_amount", "remaining_finance_amount", "risk_level", "margin_call", "currency", "net_assets",
  "init_margin", "maintenance_margin", "buy_power",
];
const CASH = ["withdraw_cash", "available_cash", "frozen_cash", "settling_cash", "currency"];
const POSITION = [
  "symbol", "symbol_name", "quantity", "available_quantity", "currency", "cost_price", "market", "init_quantity",
];
const FLOW = [
  "transaction_flow_name", "direction", "business_type", "balance", "currency", "business_time", "symbol", "description",
];
// Enumerations that are numbers.
const WORDS = {
  status: sdk.OrderStatus, side: OrderSide, order_type: OrderType, tag: sdk.OrderTag, time_in_force: TimeInForceType,
  market: sdk.Market, direction: sdk.CashFlowDirection, business_type: sdk.BalanceType,
};

function plain(value, name) {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.getTime() / 1000;
  if (name in WORDS) return Object.keys(WORDS[name]).find((word) => WORDS[name][word] === value);
  return typeof value === "object" ? value.toString() : value;
}

function pick(object, names) {
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(names.map((name) => [name, plain(object[camel(name)], name)]));
}

function detail(order) {
  const { chargeDetail: charges } = order;
  const fee = (one) => pick(one, ["code", "name", "amount", "currency"]);
  const group = (value) => Object.keys(sdk.ChargeCategoryCode).find((word) => sdk.ChargeCategoryCode[word] === value);
  return {
    ...pick(order, ORDER),
    history: order.history.map((row) => pick(row, ["price", "quantity", "status", "msg", "time"])),
    charge_detail: {
      total_amount: charges.totalAmount.toString(), currency: charges.currency,
      items: charges.items.map((item) => ({ code: group(item.code), name: item.name, fees: item.fees.map(fee) })),
    },
  };
}

// The SDK may read its arguments after the call has returned, and holds no reference to them.
const retained = [];

function decimal(text) {
  const value = new Decimal(text);
  retained.push(value);
  return value;
}

const date = (seconds) => new Date(seconds * 1000);

// The supported requests.
function requests(trade, pushes) {
  return {
    submit: async ({ symbol, side, order_type, quantity, price, time_in_force = "Day", remark }) => {
      const submitted = await trade.submitOrder({
        symbol, side: OrderSide[side], orderType: OrderType[order_type], submittedQuantity: decimal(quantity),
        submittedPrice: decimal(price), timeInForce: TimeInForceType[time_in_force], remark,
      });
      return { order_id: submitted.orderId };
    },
    replace: async ({ order_id, quantity, price }) => {
      await trade.replaceOrder({ orderId: order_id, quantity: decimal(quantity), price: decimal(price) });
      return null;
    },
    cancel: async ({ order_id }) => {
      await trade.cancelOrder(order_id);
      return null;
    },
    pushes: async ({ count }) => {
      await pushes.wait(count);
      return pushes.received.map((push) => pick(push, PUSH));
    },
    today_orders: async () => (await trade.todayOrders()).map((order) => pick(order, ORDER)),
    history_orders: async ({ start, end }) =>
      (await trade.historyOrders({ startAt: date(start), endAt: date(end) })).map((order) => pick(order, ORDER)),
    order_detail: async ({ order_id }) => detail(await trade.orderDetail(order_id)),
    today_executions: async () => (await trade.todayExecutions()).map((one) => pick(one, EXECUTION)),
    history_executions: async ({ start, end }) =>
      (await trade.historyExecutions({ startAt: date(start), endAt: date(end) })).map((one) => pick(one, EXECUTION)),
    account_balance: async ({ currency }) => {
      const [balance] = await trade.accountBalance(currency);
      const fee = (one) => pick(one, ["currency", "frozen_transaction_fee"]);
      return {
        ...pick(balance, BALANCE), cash_infos: balance.cashInfos.map((info) => pick(info, CASH)),
        frozen_transaction_fees: balance.frozenTransactionFees.map(fee),
      };
    },
    stock_positions: async () => {
      const [channel] = (await trade.stockPositions()).channels;
      return channel.positions.map((position) => pick(position, POSITION));
    },
    cash_flow: async ({ start, end, size }) =>
      (await trade.cashFlow({ startAt: date(start), endAt: date(end), size })).map((flow) => pick(flow, FLOW)),
  };
}

// Pushes in order of arrival.
class Pushes {
  received = [];
  waiting = null;

  add(push) {
    this.received.push(push);
    if (this.waiting && this.received.length >= this.waiting.count) this.waiting.enough();
  }

  wait(count) {
    if (this.received.length >= count) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`waited in vain for ${count} pushes, after ${this.received.length}`));
      const timer = setTimeout(late, PATIENCE_MS);
      this.waiting = { count, enough: () => (clearTimeout(timer), resolve()) };
    });
  }
}

async function main() {
  const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
  const trade = await TradeContext.new(Config.fromEnv());
  const pushes = new Pushes();
  trade.setOnOrderChanged((error, push) => (error ? say({ error: error.message }) : pushes.add(push)));
  await trade.subscribe([TopicType.Private]);
  const answers = requests(trade, pushes);
  say({ ok: "ready" });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { do: name, ...values } = JSON.parse(line);
    try {
      say({ ok: await answers[name](values) });
    } catch (error) {
      say({ error: error.message });
    }
  }
}

// An open connection would prevent the process from ending.
main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
