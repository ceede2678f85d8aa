"""Reads the output of `bench paper engine` for other engines: candles and a list of orders; and reports their runs."""
import csv
import json
import os
from collections import defaultdict

import numpy as np

COLUMNS = ("time", "open", "high", "low", "close", "volume")


class Given:
    def __init__(self, work):
        """Reads the files of a folder. Prices are cents."""
        path = os.path.join(work, "candles.bin")
        with open(path, "rb") as file:
            head = file.readline()
            minutes, *self.symbols = head.decode().split()
            self.minutes = int(minutes)
            numbers = np.fromfile(file, dtype="<i8")
        numbers = numbers.reshape(len(self.symbols), len(COLUMNS), self.minutes)
        self.candles = [dict(zip(COLUMNS, columns)) for columns in numbers]
        # The steps after the candle of each minute.
        self.steps = defaultdict(list)
        with open(os.path.join(work, "orders.csv"), newline="") as file:
            for row in csv.DictReader(file):
                order, symbol = int(row["order"]), int(row["symbol"])
                if row["step"] == "cancel":
                    self.steps[int(row["minute"])].append(("cancel", order, symbol, 0, 0, 0))
                else:
                    side = 1 if row["side"] == "buy" else -1
                    step = ("submit", order, symbol, side, int(row["quantity"]), int(row["cents"]))
                    self.steps[int(row["minute"])].append(step)
        self.steps = dict(self.steps)
        self.work = work

    def report(self, name, version, prepare, run, fills):
        """Prints the result of a run. `fills` has (order, minute, cents) for each execution."""
        with open(os.path.join(self.work, f"fills-{name}.csv"), "w") as file:
            file.write("order,minute,cents\n")
            for order, minute, cents in sorted(fills):
                file.write(f"{order},{minute},{cents}\n")
        result = {"name": name, "version": version, "prepare": prepare, "run": run, "fills": len(fills)}
        print(json.dumps(result), flush=True)
