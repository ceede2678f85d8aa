import datetime
import queue
import zoneinfo
from decimal import Decimal

from longbridge.openapi import (
    AdjustType, Config, HttpClient, OrderSide, OrderStatus, OrderType, Period, QuoteContext, TimeInForceType, TopicType,
    TradeContext)

SYMBOL, LOT = "9001.HK", Decimal(500)
FAST, SLOW = 3, 12
MARKET = zoneinfo.ZoneInfo("Asia/Hong_Kong")
DAY = datetime.date(2026, 11, 12)
OVER = (OrderStatus.Filled, OrderStatus.Expired, OrderStatus.Rejected)

config = Config.from_apikey_env()
quotes, trade, http = QuoteContext(config), TradeContext(config), HttpClient.from_apikey_env()
changes = queue.Queue()
trade.set_on_order_changed(changes.put)
trade.subscribe([TopicType.Private])


def at(hour, minute):
    return datetime.datetime.combine(DAY, datetime.time(hour, minute), MARKET)


def move_clock(to):
    """The market's clock moves only by this request, which requires the operator's role."""
    http.request("post", "/v1/admin/clock", body={"now": to.isoformat()})


def every_five_minutes():
    for start, end in ((at(9, 35), at(12, 0)), (at(13, 5), at(15, 55))):
        while start < end:
            yield start
            start += datetime.timedelta(minutes=5)


def signal():
    """Whether the last closes are above those of the hour, on average. The forming candle is left out."""
    candles = quotes.candlesticks(SYMBOL, Period.Min_5, SLOW + 1, AdjustType.NoAdjust)
    closes = [candle.close for candle in candles[:-1]]
    return sum(closes[-FAST:]) * SLOW > sum(closes[-SLOW:]) * FAST


def held():
    positions = trade.stock_positions([SYMBOL]).channels[0].positions
    return positions[0].quantity if positions else Decimal(0)


def submit(side):
    """At the market, for the day. Candles that begin after it fill it."""
    return trade.submit_order(SYMBOL, OrderType.MO, side, LOT, TimeInForceType.Day).order_id


orders = []
for now in every_five_minutes():
    move_clock(now)
    if signal() and held() == 0:
        orders.append(submit(OrderSide.Buy))
    elif not signal() and held() > 0:
        orders.append(submit(OrderSide.Sell))
if held() > 0:
    orders.append(submit(OrderSide.Sell))
move_clock(at(16, 10))

# Every change of an order was pushed, in order. The day is over, so each of them has ended.
ended = set()
while ended != set(orders):
    change = changes.get(timeout=30)
    if change.last_share:
        done = "bought" if change.side == OrderSide.Buy else "sold"
        time = change.updated_at.astimezone(MARKET).strftime("%H:%M")
        print(time, done, change.last_share, "at", change.last_price)
    if change.status in OVER:
        ended.add(change.order_id)

charges = sum(trade.order_detail(order).charge_detail.total_amount for order in orders)
print(len(orders), "orders, charges", charges, "net assets", trade.account_balance("HKD")[0].net_assets)
