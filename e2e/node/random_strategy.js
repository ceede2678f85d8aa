// A strategy with random decisions, to be run in a world. Makes the same requests as
// e2e/python/random_strategy.py: random_strategy.js SYMBOL SEED STEPS
"use strict";

const { Config, Decimal, OrderSide, OrderType, QuoteContext, SubType, TimeInForceType, TradeContext } = require("longport");

const [symbol, seed, steps] = process.argv.slice(2);
let state = BigInt(seed);

// A random number, the same in every language.
function draw(below) {
  state = (state * 1103515245n + 12345n) % 2n ** 31n;
  return Number(state >> 16n) % below;
}

// The SDK may read its arguments after the call has returned, and holds no reference to them.
const retained = [];

function decimal(text) {
  const value = new Decimal(text);
  retained.push(value);
  return value;
}

async function main() {
  const config = Config.fromEnv();
  const [quotes, trade] = [await QuoteContext.new(config), await TradeContext.new(config)];
  await quotes.subscribe([symbol], [SubType.Quote, SubType.Trade]);
  let [submitted, refused, last] = [0, 0, null];
  for (let number = 0; number < Number(steps); number++) {
    await quotes.quote(["STEP.WORLD"]);
    const [quote] = await quotes.quote([symbol]);
    // Orders of this security have prices in fifths.
    const fifths = Math.floor(Number(quote.lastDone.toString()) * 5 + 1e-6);
    try {
      if (draw(10) < 5) {
        const side = draw(3) < 2 ? OrderSide.Buy : OrderSide.Sell;
        const price = decimal(((fifths + draw(11) - 5) / 5).toFixed(1));
        const quantity = decimal(String(100 * (1 + draw(3))));
        const order = await trade.submitOrder({
          symbol, orderType: OrderType.LO, side, submittedQuantity: quantity, timeInForce: TimeInForceType.Day,
          submittedPrice: price, remark: `step ${number}`,
        });
        last = order.orderId;
        submitted += 1;
      } else if (draw(4) === 0 && last !== null) {
        await trade.cancelOrder(last);
      }
    } catch {
      // Refusals are part of the strategy: a short sale, or an order that has ended.
      refused += 1;
    }
  }
  console.log(JSON.stringify({ submitted, refused }));
}

// The connections stay open and would keep the process alive.
main().then(() => process.exit(0), (error) => {
  console.error(error.message);
  process.exit(1);
});
