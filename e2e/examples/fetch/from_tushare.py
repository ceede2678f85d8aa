"""Unadjusted daily candles, dividends and bonus shares from Tushare: `from_tushare.py 600519.SH 000001.SZ`.

Writes candles.csv and actions.csv. Tushare counts lots and thousands; this writes shares and yuan."""

import csv
import os
import sys
from decimal import Decimal

import tushare

NAMES = ("trade_date", "open", "high", "low", "close")
pro = tushare.pro_api(os.environ["TUSHARE_TOKEN"])
with open("candles.csv", "w", newline="") as candles, open("actions.csv", "w", newline="") as actions:
    candles, actions = csv.writer(candles), csv.writer(actions)
    candles.writerow(["symbol", "date", "open", "high", "low", "close", "volume", "turnover"])
    actions.writerow(["symbol", "ex_date", "cash", "bonus", "pay_date"])
    for symbol in sys.argv[1:]:
        end = ""
        # An answer has at most 6,000 days, newest first.
        while days := pro.daily(ts_code=symbol, end_date=end, limit=6000).to_dict("records"):
            for day in days if not end else days[1:]:
                volume, turnover = round(Decimal(str(day["vol"])) * 100), Decimal(str(day["amount"])) * 1000
                candles.writerow([symbol, *(day[name] for name in NAMES), volume, turnover])
            if len(days) < 2:
                break
            end = days[-1]["trade_date"]
        for of in pro.dividend(ts_code=symbol).fillna("").to_dict("records"):
            if of["div_proc"] == "实施" and of["ex_date"]:
                actions.writerow([symbol, of["ex_date"], of["cash_div_tax"], of["stk_div"], of["pay_date"]])
