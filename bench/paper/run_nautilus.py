"""The list of orders in NautilusTrader: `run_nautilus.py WORK`."""
import sys
import time
from importlib.metadata import version

from given import Given
from nautilus_trader.backtest.config import BacktestEngineConfig
from nautilus_trader.backtest.engine import BacktestEngine
from nautilus_trader.config import LoggingConfig, RiskEngineConfig
from nautilus_trader.model.currencies import USD
from nautilus_trader.model.data import Bar, BarType
from nautilus_trader.model.enums import AccountType, OmsType, OrderSide, TimeInForce
from nautilus_trader.model.identifiers import InstrumentId, Symbol, Venue
from nautilus_trader.model.instruments import Equity
from nautilus_trader.model.objects import Money, Price, Quantity
from nautilus_trader.portfolio.config import PortfolioConfig
from nautilus_trader.trading.strategy import Strategy

VENUE = Venue("XNAS")


class ListOfOrders(Strategy):
    def __init__(self, given, bar_types):
        super().__init__()
        self.given = given
        self.bar_types = bar_types
        self.last = bar_types[-1]
        self.minute = -1
        self.sent = {}
        self.numbers = {}
        self.fills = []

    def on_start(self):
        for bar_type in self.bar_types:
            self.subscribe_bars(bar_type)

    def on_bar(self, bar):
        # All securities have every minute: the last of them ends it.
        if bar.bar_type != self.last:
            return
        self.minute += 1
        for step, order, symbol, side, quantity, cents in self.given.steps.get(self.minute, ()):
            if step == "cancel":
                known = self.sent[order]
                if known.is_open:
                    self.cancel_order(known)
                continue
            limit = self.order_factory.limit(
                instrument_id=self.bar_types[symbol].instrument_id,
                order_side=OrderSide.BUY if side > 0 else OrderSide.SELL,
                quantity=Quantity.from_int(quantity),
                price=Price(cents / 100, 2),
                time_in_force=TimeInForce.GTC,
            )
            self.sent[order] = limit
            self.numbers[limit.client_order_id] = order
            self.submit_order(limit)

    def on_order_filled(self, event):
        cents = round(float(event.last_px) * 100)
        self.fills.append((self.numbers[event.client_order_id], self.minute, cents))


def main():
    given = Given(sys.argv[1])
    began = time.perf_counter()
    # Everything optional is disabled: logs, risk checks, statistics, portfolio updates with every candle.
    config = BacktestEngineConfig(
        logging=LoggingConfig(log_level="ERROR", bypass_logging=True),
        risk_engine=RiskEngineConfig(bypass=True),
        portfolio=PortfolioConfig(bar_updates=False),
        run_analysis=False,
    )
    engine = BacktestEngine(config=config)
    engine.add_venue(
        venue=VENUE,
        oms_type=OmsType.NETTING,
        account_type=AccountType.MARGIN,
        base_currency=USD,
        starting_balances=[Money(1_000_000_000, USD)],
    )
    bar_types = []
    for symbol, candles in zip(given.symbols, given.candles):
        name = Symbol(symbol.split(".")[0])
        instrument = Equity(
            instrument_id=InstrumentId(name, VENUE),
            raw_symbol=name,
            currency=USD,
            price_precision=2,
            price_increment=Price.from_str("0.01"),
            lot_size=Quantity.from_int(1),
            ts_event=0,
            ts_init=0,
        )
        engine.add_instrument(instrument)
        bar_type = BarType.from_str(f"{instrument.id}-1-MINUTE-LAST-EXTERNAL")
        bar_types.append(bar_type)
        bars = []
        columns = [candles[column].tolist() for column in ("time", "open", "high", "low", "close", "volume")]
        for at, open_price, high, low, close, volume in zip(*columns):
            prices = [Price(cents / 100, 2) for cents in (open_price, high, low, close)]
            # A bar is known when its minute is over.
            end = (at + 60) * 1_000_000_000
            bars.append(Bar(bar_type, *prices, Quantity.from_int(volume), end, end))
        engine.add_data(bars, sort=False)
    engine.sort_data()
    strategy = ListOfOrders(given, bar_types)
    engine.add_strategy(strategy)
    prepared = time.perf_counter()
    engine.run()
    ran = time.perf_counter()
    given.report("nautilus_trader", version("nautilus_trader"), prepared - began, ran - prepared, strategy.fills)


main()
