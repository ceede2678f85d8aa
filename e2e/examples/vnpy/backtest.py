import datetime
import os

from vnpy.trader.constant import Exchange, Interval
from vnpy.trader.datafeed import get_datafeed
from vnpy.trader.object import HistoryRequest
from vnpy.trader.setting import SETTINGS
from vnpy.trader.utility import ArrayManager
from vnpy_ctastrategy import CtaTemplate
from vnpy_ctastrategy.backtesting import BacktestingEngine

SETTINGS["datafeed.name"] = "chandler"
SETTINGS["datafeed.username"] = os.environ["CHANDLER_URL"]
SETTINGS["datafeed.password"] = os.environ["CHANDLER_TOKEN"]


class TwoAverages(CtaTemplate):
    """Long while the short average is above the long one."""

    author = "an example"
    parameters, variables = [], []

    def on_init(self):
        self.candles = ArrayManager(30)

    def on_bar(self, bar):
        self.candles.update_bar(bar)
        if not self.candles.inited:
            return
        self.cancel_all()
        closes = self.candles.close_array
        is_up = closes[-10:].mean() > closes[-30:].mean()
        if is_up and self.pos == 0:
            self.buy(bar.close_price * 1.01, 100)
        elif not is_up and self.pos > 0:
            self.sell(bar.close_price * 0.99, self.pos)


start, end = datetime.datetime(2020, 1, 1), datetime.datetime(2026, 11, 13)
request = HistoryRequest(symbol="9001", exchange=Exchange.SEHK, interval=Interval.DAILY, start=start, end=end)
bars = get_datafeed().query_bar_history(request)
print(len(bars), "days, the last closed at", bars[-1].close_price)

engine = BacktestingEngine()
engine.set_parameters(
    vt_symbol="9001.SEHK", interval=Interval.DAILY, start=start, end=end,
    rate=0.001, slippage=0.05, size=1, pricetick=0.05, capital=100_000)
engine.history_data = bars
engine.add_strategy(TwoAverages, {})
engine.run_backtesting()
print(len(engine.trades), "trades")
print(engine.calculate_result()["net_pnl"].sum().round(2), "made or lost")
