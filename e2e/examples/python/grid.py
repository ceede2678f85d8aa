import datetime
import queue
import zoneinfo
from decimal import Decimal

from longbridge.openapi import (
    Config, GridContext, GridTimeInForce, GridTradeRule, HttpClient, OrderSide, OrderType, TimeInForceType, TopicType,
    TradeContext, TriggerPriceType)

SYMBOL, LOT = "9001.HK", Decimal(500)
MARKET = zoneinfo.ZoneInfo("Asia/Hong_Kong")
DAY = datetime.date(2026, 11, 12)

config = Config.from_apikey_env()
grids, trade, http = GridContext(config), TradeContext(config), HttpClient.from_apikey_env()
changes = queue.Queue()
trade.set_on_grid_order_changed(changes.put)
trade.subscribe([TopicType.Private])


def move_clock(hour, minute):
    """The market's clock moves only by this request, which requires the operator's role."""
    to = datetime.datetime.combine(DAY, datetime.time(hour, minute), MARKET)
    http.request("post", "/v1/admin/clock", body={"now": to.isoformat()})


# Something to sell, at the market.
trade.submit_order(SYMBOL, OrderType.MO, OrderSide.Buy, 3 * LOT, TimeInForceType.Day)
move_clock(9, 35)

# From 92, a lot is sold at every half dollar up and bought at every half dollar down, until it is cancelled: between 88 and 96, and as
# long as one lot stays and there are no more than ten.
rule = GridTradeRule(
    Decimal(92), Decimal(96), Decimal(88), TriggerPriceType.Spread, Decimal("0.5"), Decimal("0.5"), LOT, 10 * LOT, LOT,
    GridTimeInForce.GoodTilCanceled)
order_id = grids.submit(SYMBOL, "HKD", rule).order_id
move_clock(16, 10)

for trigger in reversed(grids.trigger_history(order_id).trigger_orders):
    side = "buy" if trigger.action == 1 else "sell"
    time = trigger.trigger_at.astimezone(MARKET).strftime("%H:%M")
    print(time, side, trigger.quantity, "at", trigger.trigger_price, "filled at", trigger.executed_price)

# Every new base was pushed, in order.
(grid,) = grids.list_by_ids([order_id])
bases = [changes.get(timeout=30).current_base_price for _ in range(1 + grid.trigger_times)]
print("bases", *bases)
print("bought", grid.total_buy_quantity, "sold", grid.total_sell_quantity, "profit", grid.total_profit_balance)

grids.cancel(order_id)
print(grids.detail(order_id).status)
