"""The list of orders in vn.py's engine for several securities: `run_vnpy.py WORK`."""
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import version

from given import Given
from vnpy.trader.constant import Exchange, Interval
from vnpy.trader.object import BarData
from vnpy_portfoliostrategy import StrategyTemplate
from vnpy_portfoliostrategy.backtesting import BacktestingEngine


class ListOfOrders(StrategyTemplate):
    parameters = ["given"]
    given = None

    def on_init(self):
        self.minute = -1
        self.numbers = {}
        self.sent = {}
        self.fills = []
        self.load_bars(0)

    def on_bars(self, bars):
        self.minute += 1
        for step, order, symbol, side, quantity, cents in self.given.steps.get(self.minute, ()):
            if step == "cancel":
                self.cancel_order(self.sent[order])
                continue
            send = self.buy if side > 0 else self.short
            (sent,) = send(self.vt_symbols[symbol], cents / 100, quantity)
            self.sent[order] = sent
            self.numbers[sent] = order

    def update_trade(self, trade):
        super().update_trade(trade)
        # Called before its minute is counted.
        self.fills.append((self.numbers[trade.vt_orderid], self.minute + 1, round(trade.price * 100)))


def main():
    given = Given(sys.argv[1])
    began = time.perf_counter()
    engine = BacktestingEngine()
    engine.output = lambda message: None
    names = [symbol.split(".")[0] for symbol in given.symbols]
    symbols = [f"{name}.{Exchange.NASDAQ.value}" for name in names]
    each = lambda value: dict.fromkeys(symbols, value)
    engine.set_parameters(
        vt_symbols=symbols,
        interval=Interval.MINUTE,
        start=datetime(2025, 1, 1),
        end=datetime(2027, 1, 1),
        rates=each(0),
        slippages=each(0),
        sizes=each(1),
        priceticks=each(0.01),
        capital=1_000_000_000,
    )
    engine.add_strategy(ListOfOrders, {"given": given})
    # Like load_data, without its database.
    for name, symbol, candles in zip(names, symbols, given.candles):
        moments = [datetime.fromtimestamp(at, timezone.utc) for at in candles["time"].tolist()]
        prices = [(candles[column] / 100).tolist() for column in ("open", "high", "low", "close")]
        for at, open_price, high, low, close, volume in zip(moments, *prices, candles["volume"].tolist()):
            bar = BarData(
                gateway_name="bench",
                symbol=name,
                exchange=Exchange.NASDAQ,
                datetime=at,
                interval=Interval.MINUTE,
                open_price=open_price,
                high_price=high,
                low_price=low,
                close_price=close,
                volume=volume,
            )
            engine.dts.add(at)
            engine.history_data[(at, symbol)] = bar
    prepared = time.perf_counter()
    engine.run_backtesting()
    ran = time.perf_counter()
    versions = f"{version('vnpy')} with portfolio engine {version('vnpy_portfoliostrategy')}"
    given.report("vnpy", versions, prepared - began, ran - prepared, engine.strategy.fills)


main()
