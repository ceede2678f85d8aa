const { Config, Decimal, OrderSide, OrderType, QuoteContext, TimeInForceType, TradeContext } = require("longport");

const SYMBOL = "9001.HK";

async function main() {
  const config = Config.fromEnv();
  const [quotes, trade] = [await QuoteContext.new(config), await TradeContext.new(config)];
  // Five minutes later, until the world has ended.
  let [step] = await quotes.quote(["STEP-300.WORLD"]);
  while (step.tradeStatus !== 8) {
    const [quote] = await quotes.quote([SYMBOL]);
    console.log(step.timestamp.toISOString(), quote.lastDone.toString());
    const { positions } = (await trade.stockPositions([SYMBOL])).channels[0] ?? { positions: [] };
    if (positions.length === 0) {
      await trade.submitOrder({
        symbol: SYMBOL, orderType: OrderType.MO, side: OrderSide.Buy, submittedQuantity: new Decimal(500),
        timeInForce: TimeInForceType.Day,
      });
    }
    [step] = await quotes.quote(["STEP-300.WORLD"]);
  }
  for (const fill of await trade.todayExecutions({ symbol: SYMBOL })) {
    console.log(`bought ${fill.quantity} at ${fill.price}`);
  }
}

// The connections stay open and would keep the process alive.
main().then(() => process.exit(0), (error) => {
  console.error(error.message);
  process.exit(1);
});
