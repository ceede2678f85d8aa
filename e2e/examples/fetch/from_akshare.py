"""Unadjusted daily candles from AkShare: `from_akshare.py 600519.SH 00700.HK 105.AAPL.US`.

Writes candles.csv. US symbols have the number of their exchange in front, as in AkShare. Mainland
volumes are in lots there; this writes shares."""

import csv
import sys

import akshare

READ = {"HK": akshare.stock_hk_hist, "US": akshare.stock_us_hist}
COLUMNS = ("日期", "开盘", "最高", "最低", "收盘", "成交量", "成交额")
with open("candles.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["symbol", "date", "open", "high", "low", "close", "volume", "turnover"])
    for symbol in sys.argv[1:]:
        code, region = symbol.rsplit(".", 1)
        read = READ.get(region, akshare.stock_zh_a_hist)
        days = read(symbol=code, period="daily", start_date="19900101", end_date="20991231", adjust="")
        ticker = code.split(".", 1)[1] if region == "US" else code
        for day in days.to_dict("records"):
            date, *prices, volume, turnover = (day[name] for name in COLUMNS)
            shares = int(volume) * (1 if region in READ else 100)
            rows.writerow([f"{ticker}.{region}", date, *prices, shares, turnover])
