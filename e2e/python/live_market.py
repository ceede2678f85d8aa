"""Markets with one security and a sentinel, and SDK contexts that listen.

The clock stands and is moved by an operator. Answers are sent before pushes, so no request proves
that a client has received everything. The sentinel does: it has a print in every minute, and its
symbol is the last one of an instant."""

import collections
import functools
import importlib
import random
from decimal import Decimal

import harness
import trade_clients
from paper_market import instant, utc

MINUTE = 60
# A listed security whose pushes are compared, and its sentinel.
SENTINELS = {"700.HK": "9988.HK", "HSI.HK": "HSZ.HK", "AAPL.US": "ZION.US", "600519.SH": "600520.SH"}
SECURITIES = """symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,decimals,board
700.HK,Lamp & Wick,灯芯,燈芯,SEHK,HKD,100,3,HKEquity
9988.HK,Sentinel,哨兵,哨兵,SEHK,HKD,100,3,HKEquity
HSI.HK,Lamp Index,灯指数,燈指數,SEHK,HKD,1,3,HKHS
HSZ.HK,Sentinel,哨兵,哨兵,SEHK,HKD,100,3,HKEquity
600519.SH,Lamp Glass,灯罩,燈罩,SSE,CNY,100,2,SHMainConnect
600520.SH,Sentinel,哨兵,哨兵,SSE,CNY,100,2,SHMainConnect
AAPL.US,Lamp Oil,灯油,燈油,NASD,USD,1,3,USMain
ZION.US,Sentinel,哨兵,哨兵,NASD,USD,1,3,USMain
"""
HEADER = "symbol,time,open,high,low,close,volume,turnover\n"
SEGMENTS = {
    "HK": (("09:30", "12:00"), ("13:00", "16:00")), "SH": (("09:30", "11:30"), ("13:00", "15:00")), "US": (("04:00", "20:00"),)}
HALF_DAY, HALF = "2026-02-16", (("09:30", "12:00"),)
# The closing auction is stamped with the end of the session, and acts ten minutes later. In New York
# there is none.
TAIL_ACTS, TAIL_PRINTS = 600, 480


def at(day, time, market):
    """Unix seconds of a market time."""
    return instant(day, time, "US" if market == "US" else "HK")


def tail_of(day, market):
    """The stamp of the closing auction."""
    segments = HALF if day == HALF_DAY else SEGMENTS[market]
    return None if market == "US" else at(day, segments[-1][1], market)


@functools.cache
def minutes_of(day, market):
    """The start of every minute of a day, including the closing auction."""
    segments = HALF if day == HALF_DAY else SEGMENTS[market]
    starts = [
        start for begin, end in segments for start in range(at(day, begin, market), at(day, end, market), MINUTE)]
    tail = tail_of(day, market)
    return starts if tail is None else [*starts, tail]


def random_candles(symbol, day, seed):
    """Candles of a day, with gaps, minutes without volume, and turnovers that no single price gives,
    or none in the range of the candle."""
    market = symbol.rsplit(".", 1)[1]
    # Volumes of A shares are in lots.
    unit = 100 if market == "SH" else 1
    chance, price, rows = random.Random(seed), 3000, []
    for start in minutes_of(day, market):
        if chance.random() < 0.1:
            continue
        low, high = price - chance.randrange(8), price + chance.randrange(8)
        open, close = chance.randint(low, high), chance.randint(low, high)
        volume = chance.choice((0, 1, 7, 100, 1200, 45600))
        if volume == 0:
            low = high = close = open
        # Between the lowest and the highest price, to a thousandth.
        turnover = chance.randint(low * volume * 100 * unit, high * volume * 100 * unit)
        # A block trade. The SDKs have no type of trades for it in mainland China.
        if market != "SH" and chance.random() < 0.05:
            turnover = (high + 3) * volume * 100
        price = close
        cells = [Decimal(value) / 10 for value in (open, high, low, close)]
        rows.append(",".join([symbol, utc(start), *map(str, cells), str(volume), str(Decimal(turnover) / 1000)]))
    return rows


def folded(symbol, day, rows):
    """The daily candle of all minutes of a day."""
    cells = [[Decimal(cell) for cell in row.split(",")[2:]] for row in rows]
    opens, highs, lows, closes, volumes, turnovers = zip(*cells)
    return ",".join(map(str, (symbol, day, opens[0], max(highs), min(lows), closes[-1], sum(volumes), sum(turnovers))))


class Sentinel:
    """The candles of a sentinel: flat, one in every minute of its days, and one a day."""

    def __init__(self, symbol, eve, days):
        self.symbol, self.eve, self.days, self.market = symbol, eve, days, symbol.rsplit(".", 1)[1]

    def minutes(self):
        return [f"{self.symbol},{utc(start)},80,80,80,80,100,8000" for day in self.days for start in minutes_of(day, self.market)]

    def daily(self):
        """Also of the day before: a security without any candle would not be known yet."""
        return [f"{self.symbol},{day},80,80,80,80,30000,2400000" for day in (self.eve, *self.days)]

    def last_second(self, now):
        """The time of its newest push at an instant; 0 before the first of these days."""
        newest = 0
        for day in self.days:
            for start in minutes_of(day, self.market):
                if start == tail_of(day, self.market):
                    newest = max(newest, start + TAIL_PRINTS if start + TAIL_ACTS <= now else 0)
                elif start <= now:
                    newest = max(newest, start + 59 if start + MINUTE <= now else start)
            end = at(day, "16:00", "US") if self.market == "US" else tail_of(day, self.market) + TAIL_ACTS
            newest = max(newest, end if end <= now else 0)
        return newest


@functools.cache
def made(minutes, daily):
    """A folder with a store of these rows, never served itself."""
    folder = harness.fresh_folder()
    (folder / "securities.csv").write_text(SECURITIES)
    harness.chandler(folder, "import", folder / "securities.csv", "--strict")
    for period, rows in (("1m", minutes), ("1d", daily)):
        file = folder / f"{period}.csv"
        file.write_text(HEADER + "".join(f"{row}\n" for row in rows))
        harness.chandler(folder, "import", file, "--strict", "--period", period)
    return folder


class LiveMarket(harness.Server):
    """A server with the candles of one security and its sentinel, and an operator."""

    def __init__(self, symbol, minutes, daily, eve, days, now, **options):
        self.symbol = symbol
        self.sentinel = Sentinel(SENTINELS[symbol], eve, days)
        folder = made((*minutes, *self.sentinel.minutes()), (*daily, *self.sentinel.daily()))
        super().__init__(harness.fresh_store(folder), clock=utc(now), **options)
        self.now = now
        self.operator = self.account("operator", "--role", "operator", "--rate", "unlimited")

    def move(self, to):
        """Moves the clock forward. A restarted server begins there."""
        self.now, self.clock = to, utc(to)
        status, envelope = self.request("POST", "/v1/admin/clock", self.operator, {"now": self.clock})
        assert (status, envelope["code"]) == (200, 0), envelope

    def connections(self, account):
        """The connections of an account, by id, with their subscriptions."""
        status, envelope = self.request("GET", "/v1/connections", account)
        assert status == 200, envelope
        return {one["id"]: one["subscriptions"] for one in envelope["data"]["connections"]}


class Listener:
    """A quote context, and everything its callbacks were called with."""

    def __init__(self, package, server, account, **options):
        self.api, self.server, self.account = importlib.import_module(f"{package}.openapi"), server, account
        if package == "longport":
            # It would print a table at every connection.
            options["enable_print_quote_packages"] = False
        self.quotes, self.trades, self.candles = (collections.defaultdict(list) for _ in range(3))
        # Depth and brokers are not stored.
        self.never = []
        self.context = self.api.QuoteContext(trade_clients.config(package, server, account, **options))
        # The newest time that the sentinel was pushed with.
        self.heard = 0
        self.context.set_on_quote(lambda symbol, event: self.receive(self.quotes, symbol, [event]))
        self.context.set_on_trades(lambda symbol, event: self.receive(self.trades, symbol, event.trades))
        self.context.set_on_candlestick(lambda symbol, event: self.candles[symbol].append(event))
        self.context.set_on_depth(lambda *event: self.never.append(event))
        self.context.set_on_brokers(lambda *event: self.never.append(event))
        # Known wrong: `longport` can hang in `set_on_…` while a push arrives, so callbacks are set
        # before the first subscription.
        self.context.subscribe([server.sentinel.symbol], [self.api.SubType.Quote, self.api.SubType.Trade])

    def subscribe(self, *kinds):
        self.context.subscribe([self.server.symbol], [getattr(self.api.SubType, kind) for kind in kinds])

    def unsubscribe(self, *kinds):
        self.context.unsubscribe([self.server.symbol], [getattr(self.api.SubType, kind) for kind in kinds])

    def period(self, name):
        return getattr(self.api.Period, name)

    def candles_of(self, period):
        """The candles of a period that its callback was called with."""
        return [event for event in self.candles[self.server.symbol] if event.period == self.period(period)]

    def periods(self):
        """The periods that the callback of candles was called with."""
        return {str(event.period).removeprefix("Period.") for event in self.candles[self.server.symbol]}

    def receive(self, received, symbol, events):
        received[symbol].extend(events)
        if symbol == self.server.sentinel.symbol:
            self.heard = max([self.heard, *(int(event.timestamp.timestamp()) for event in events)])

    def move(self, to):
        """Moves the clock, and waits until all pushes up to then have been received."""
        self.server.move(to)
        self.wait()

    def wait(self):
        awaited = self.server.sentinel.last_second(self.server.now)
        harness.wait_for(lambda: self.heard >= awaited, lambda: f"{utc(awaited)} of the sentinel, after {utc(self.heard)}")

    def clear(self):
        for received in (self.quotes, self.trades, self.candles):
            received.clear()

    def requested(self, period, sessions="Intraday", count=1000):
        """The newest candles that the server answers."""
        candles = self.context.candlesticks(
            self.server.symbol, self.period(period), count, self.api.AdjustType.NoAdjust, getattr(self.api.TradeSessions, sessions))
        return [plain_candle(candle) for candle in candles]

    def built(self, period, count=1000):
        """The candles that the SDK has built."""
        return [plain_candle(one) for one in self.context.realtime_candlesticks(self.server.symbol, self.period(period), count)]


def plain_candle(candle):
    """A candle of either package: time, prices, volume and turnover."""
    prices = (candle.open, candle.high, candle.low, candle.close)
    return (int(candle.timestamp.timestamp()), *prices, candle.volume, candle.turnover)


def plain_quote(quote):
    """A pushed quote: time, last price, open, high, low, volume, turnover, and the growth of both."""
    prices = (quote.last_done, quote.open, quote.high, quote.low)
    grown = (quote.current_volume, quote.current_turnover)
    return (int(quote.timestamp.timestamp()), *prices, quote.volume, quote.turnover, *grown)


def plain_trade(trade):
    return int(trade.timestamp.timestamp()), trade.price, trade.volume
