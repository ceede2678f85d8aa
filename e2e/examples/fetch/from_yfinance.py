"""Daily candles as traded, dividends and splits from yfinance: `from_yfinance.py AAPL 0700.HK BRK-B`.

Writes candles.csv and actions.csv. Yahoo's prices are adjusted for later splits; this undoes it."""

import csv
import sys
from fractions import Fraction

import yfinance

PRICES = ("Open", "High", "Low", "Close")
with open("candles.csv", "w", newline="") as candles, open("actions.csv", "w", newline="") as actions:
    candles, actions = csv.writer(candles), csv.writer(actions)
    candles.writerow(["symbol", "time", "open", "high", "low", "close", "volume"])
    actions.writerow(["symbol", "ex_date", "cash", "split"])
    for ticker in sys.argv[1:]:
        code, _, region = ticker.rpartition(".") if "." in ticker else (ticker, "", "US")
        symbol = f"{code.replace('-', '.')}.{'SH' if region == 'SS' else region}"
        days = yfinance.Ticker(ticker).history(period="max", auto_adjust=False, actions=True)
        later = Fraction(1)  # new shares per share of the day
        for at, day in reversed(list(days.dropna(subset=list(PRICES)).iterrows())):
            prices = [f"{float(round(Fraction(day[name]) * later, 4)):.4f}" for name in PRICES]
            candles.writerow([symbol, at.date(), *prices, round(int(day["Volume"]) / later)])
            split = Fraction(day["Stock Splits"]).limit_denominator(1000)
            if split or day["Dividends"]:
                cash = float(round(Fraction(day["Dividends"]) * later * (split or 1), 6))
                actions.writerow([symbol, at.date(), cash or "", split or ""])
            later *= split or 1
