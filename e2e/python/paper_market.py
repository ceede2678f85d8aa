"""A small market of exact candles, and servers whose clock is fixed until an operator moves it.

Every fill, charge and balance of the tests that trade here can be computed by hand from these
rows. The days are Wednesday, Thursday and Friday, 18 to 20 March 2026, all full trading days in
Hong Kong and in New York."""

import datetime
import functools
import zoneinfo
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal

import harness

ZONES = {"HK": zoneinfo.ZoneInfo("Asia/Hong_Kong"), "US": zoneinfo.ZoneInfo("America/New_York")}
WEDNESDAY, THURSDAY, FRIDAY = "2026-03-18", "2026-03-19", "2026-03-20"

SECURITIES = """symbol,name_en,name_cn,name_hk,exchange,currency,lot_size,decimals,kind
700.HK,Lamp & Wick,灯芯,燈芯,SEHK,HKD,100,3,equity
LAMP.US,Lamp Oil,灯油,燈油,NASD,USD,1,3,equity
"""
# Five new shares for an old one on Friday, and 4.50 a share on Thursday, paid immediately because
# no payment date is given.
ACTIONS = f"""symbol,ex_date,cash,split
700.HK,{THURSDAY},4.5,
700.HK,{FRIDAY},,5
"""
MARGINS = """symbol,im,mm,fm
700.HK,0.35,0.3,0.25
"""
# Market time, open, high, low, close, volume.
CANDLES = {
    "700.HK": {
        WEDNESDAY: """
            10:00 305   305   300   305   50000
            10:01 305.2 305.8 305   305.6 2000
            10:02 305.6 306   305.4 305.8 3000
            10:03 305   305.2 304.8 305   50000
            10:04 305.8 306   305.6 305.8 1000""",
        THURSDAY: """
            10:00 301   302   300.4 301.2 50000""",
        FRIDAY: """
            09:30 60.2  60.4  60    60.2  80000
            10:00 60.5  60.8  60.3  60.6  20000
            10:01 60.7  60.9  60.5  60.8  30000""",
    },
    "LAMP.US": {
        WEDNESDAY: """
            09:30 190   190.4 189.8 190   40000
            09:31 190.1 190.6 190   190.5 9000
            09:32 190.6 191   190.4 190.8 20000
            09:33 189.5 189.6 188.2 188.4 20000""",
    },
}


def instant(day, time, market="HK"):
    """Unix seconds of a market time."""
    local = datetime.datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=ZONES[market])
    return int(local.timestamp())


def utc(seconds):
    """An instant in the format of the command line and the operator's API."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def minutes():
    """The candles as a file to import."""
    rows = ["symbol,time,open,high,low,close,volume"]
    for symbol, days in CANDLES.items():
        for day, lines in days.items():
            for line in lines.split("\n")[1:]:
                time, *values = line.split()
                rows.append(",".join([symbol, f"{day} {time}", *values]))
    return "\n".join(rows) + "\n"


@functools.cache
def made():
    """A folder with the store of this market, never served itself."""
    folder = harness.fresh_folder()
    tables = {"securities.csv": SECURITIES, "actions.csv": ACTIONS, "margins.csv": MARGINS, "minutes.csv": minutes()}
    for name, text in tables.items():
        (folder / name).write_text(text)
        period = ("--period", "1m") if name == "minutes.csv" else ()
        harness.chandler(folder, "import", folder / name, "--strict", *period)
    return folder


class Market(harness.Server):
    """A server in this market, with an operator. Its clock is fixed."""

    def __init__(self, day=WEDNESDAY, time="09:55:00", **options):
        super().__init__(harness.fresh_store(made()), clock=utc(instant(day, time)), **options)
        self.operator = self.account("operator", "--role", "operator", "--rate", "unlimited")
        self.report_rates()

    def trader(self, name="trader", *options):
        """An account without a rate limit."""
        return self.account(name, "--rate", "unlimited", *options)

    def manage(self, path, **body):
        """An operator's request over HTTP, which must succeed."""
        status, envelope = self.request("POST", f"/v1/admin/{path}", self.operator, body)
        assert (status, envelope["code"]) == (200, 0), envelope
        return envelope["data"]

    def move(self, day, time, market="HK"):
        """Moves the clock forward. A restarted server begins there."""
        self.clock = utc(instant(day, time, market))
        self.manage("clock", now=self.clock)


def hong_kong_charges(amount):
    """The charges of a purchase or sale of an equity in March 2026, by code, for everything that an
    order traded on one day. Proportional charges are rounded to the cent, stamp duty up to the
    whole dollar, and the platform takes 15 per order and day."""
    def share(percent):
        return (amount * Decimal(percent) / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)

    return {
        "PLATFORM": Decimal(15), "STAMP_DUTY": (amount * Decimal("0.001")).quantize(Decimal(1), ROUND_CEILING),
        "TRADING_FEE": share("0.00565"), "SFC_LEVY": share("0.0027"), "AFRC_LEVY": share("0.00015"),
        "SETTLEMENT": share("0.0042"),
    }


def charges_of_fills(amounts):
    """The charges of each of several fills of one order and day: a fill pays the increase of the
    total. Amounts of 0 are not booked."""
    before, total, booked = {}, Decimal(0), []
    for amount in amounts:
        total += amount
        after = hong_kong_charges(total)
        grown = {code: charge - before.get(code, Decimal(0)) for code, charge in after.items()}
        booked.append({code: charge for code, charge in grown.items() if charge})
        before = after
    return booked
