"""Daily candles from Stooq: `from_stooq.py aapl.us 700.hk` writes aapl_us_d.csv and 700_hk_d.csv.

Stooq's prices are adjusted for splits: import no splits for them."""

import csv
import os
import sys
import urllib.parse
import urllib.request

ADDRESS = os.environ.get("STOOQ_URL", "https://stooq.com") + "/q/d/l/?"
for symbol in map(str.lower, sys.argv[1:]):
    with urllib.request.urlopen(ADDRESS + urllib.parse.urlencode({"s": symbol, "i": "d"}), timeout=60) as answer:
        table = answer.read().decode()
    if not table.startswith("Date,"):
        # An unknown symbol or the daily limit: Stooq answers with a sentence.
        sys.exit(f"{symbol}: {table.strip()[:200]}")
    with open(symbol.replace(".", "_") + "_d.csv", "w", newline="") as file:
        rows = csv.writer(file)
        for number, row in enumerate(csv.reader(table.splitlines())):
            # Volumes are adjusted too, and then no whole numbers. An index has none.
            rows.writerow(row if number == 0 else [*row[:5], round(float((row[5:] or [0])[0] or 0))])
