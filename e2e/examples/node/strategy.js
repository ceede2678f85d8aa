const {
  AdjustType, Config, Decimal, HttpClient, OrderSide, OrderStatus, OrderType, Period, QuoteContext, TimeInForceType, TopicType,
  TradeContext, TradeSessions,
} = require("longport");

const SYMBOL = "9001.HK";
const LOT = new Decimal(500);
const [FAST, SLOW] = [new Decimal(3), new Decimal(12)];
const OVER = [OrderStatus.Filled, OrderStatus.Expired, OrderStatus.Rejected];

const at = (hour, minute) => new Date(Date.UTC(2026, 10, 12, hour - 8, minute));

function* everyFiveMinutes() {
  for (const [start, end] of [[at(9, 35), at(12, 0)], [at(13, 5), at(15, 55)]]) {
    for (let now = start; now < end; now = new Date(now.getTime() + 300_000)) yield now;
  }
}

const sum = (decimals) => decimals.reduce((all, one) => all.add(one), Decimal.ZERO());

async function main() {
  const config = Config.fromEnv();
  const [quotes, trade, http] = [await QuoteContext.new(config), await TradeContext.new(config), HttpClient.fromEnv()];
  const changes = [];
  let changed = () => {};
  trade.setOnOrderChanged((error, change) => {
    if (error) throw error;
    changes.push(change);
    changed();
  });
  await trade.subscribe([TopicType.Private]);

  // The market's clock moves only by this request, which requires the operator's role.
  const moveClock = (to) => http.request("post", "/v1/admin/clock", null, { now: to.toISOString() });

  // Whether the last closes are above those of the hour, on average. The forming candle is left out.
  const signal = async () => {
    const candles = await quotes.candlesticks(
      SYMBOL, Period.Min_5, SLOW.toNumber() + 1, AdjustType.NoAdjust, TradeSessions.Intraday);
    const closes = candles.slice(0, -1).map((candle) => candle.close);
    const [fast, slow] = [FAST, SLOW].map((count) => sum(closes.slice(-count.toNumber())));
    return fast.mul(SLOW).greaterThan(slow.mul(FAST));
  };
  const isHeld = async () => (await trade.stockPositions([SYMBOL])).channels[0].positions.length > 0;

  // At the market, for the day. Candles that begin after it fill it.
  const orders = [];
  const submit = async (side) => {
    const order = { symbol: SYMBOL, orderType: OrderType.MO, side, submittedQuantity: LOT, timeInForce: TimeInForceType.Day };
    orders.push((await trade.submitOrder(order)).orderId);
  };

  for (const now of everyFiveMinutes()) {
    await moveClock(now);
    const [isUp, has] = [await signal(), await isHeld()];
    if (isUp && !has) await submit(OrderSide.Buy);
    if (!isUp && has) await submit(OrderSide.Sell);
  }
  if (await isHeld()) await submit(OrderSide.Sell);
  await moveClock(at(16, 10));

  // Every change of an order was pushed, in order. The day is over, so each of them has ended.
  const ended = new Set();
  while (ended.size < orders.length) {
    while (changes.length === 0) await new Promise((resolve) => (changed = resolve));
    const change = changes.shift();
    if (change.lastShare) {
      const time = change.updatedAt.toLocaleTimeString("en-GB", { timeZone: "Asia/Hong_Kong", timeStyle: "short" });
      const done = change.side === OrderSide.Buy ? "bought" : "sold";
      console.log(`${time} ${done} ${change.lastShare} at ${change.lastPrice}`);
    }
    if (OVER.includes(change.status)) ended.add(change.orderId);
  }

  const charges = [];
  for (const order of orders) charges.push((await trade.orderDetail(order)).chargeDetail.totalAmount);
  const [balance] = await trade.accountBalance("HKD");
  console.log(`${orders.length} orders, charges ${sum(charges)} net assets ${balance.netAssets}`);
}

// The connections stay open and would keep the process alive.
main().then(() => process.exit(0), (error) => {
  console.error(error.message);
  process.exit(1);
});
