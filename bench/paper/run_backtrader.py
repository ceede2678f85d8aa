"""The list of orders in backtrader: `run_backtrader.py WORK`."""
import sys
import time
from datetime import datetime, timezone

import backtrader as bt

from given import Given


class Columns(bt.feed.DataBase):
    """Candles out of arrays: nothing is parsed."""

    params = (("columns", None),)

    def start(self):
        super().start()
        self.place = 0

    def _load(self):
        columns, place = self.p.columns, self.place
        if place >= len(columns[0]):
            return False
        lines = self.lines
        lines.datetime[0], lines.open[0], lines.high[0], lines.low[0], lines.close[0], lines.volume[0] = (
            column[place] for column in columns
        )
        lines.openinterest[0] = 0
        self.place = place + 1
        return True


class ListOfOrders(bt.Strategy):
    params = (("given", None),)

    def __init__(self):
        self.minute = -1
        self.open = {}
        self.fills = []

    def next(self):
        self.minute += 1
        for step, order, symbol, side, quantity, cents in self.p.given.steps.get(self.minute, ()):
            if step == "cancel":
                known = self.open.pop(order, None)
                if known is not None:
                    self.cancel(known)
                continue
            send = self.buy if side > 0 else self.sell
            terms = {"size": quantity, "price": cents / 100, "exectype": bt.Order.Limit}
            self.open[order] = send(data=self.datas[symbol], **terms)
            self.open[order].addinfo(number=order)

    def notify_order(self, order):
        if order.status == bt.Order.Completed:
            number = order.info["number"]
            self.open.pop(number, None)
            # Called before its minute is counted.
            self.fills.append((number, self.minute + 1, round(order.executed.price * 100)))


def main():
    given = Given(sys.argv[1])
    began = time.perf_counter()
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.broker.set_cash(1e9)
    cerebro.broker.set_checksubmit(False)
    for symbol, candles in zip(given.symbols, given.candles):
        moments = [bt.date2num(datetime.fromtimestamp(at, timezone.utc)) for at in candles["time"].tolist()]
        prices = [(candles[name] / 100).tolist() for name in ("open", "high", "low", "close")]
        columns = (moments, *prices, candles["volume"].tolist())
        cerebro.adddata(Columns(columns=columns, timeframe=bt.TimeFrame.Minutes), name=symbol)
    cerebro.addstrategy(ListOfOrders, given=given)
    prepared = time.perf_counter()
    (strategy,) = cerebro.run()
    ran = time.perf_counter()
    given.report("backtrader", bt.__version__, prepared - began, ran - prepared, strategy.fills)


main()
