#!/usr/bin/env python3
"""Measures the paper account: `measure.py BENCH CHANDLER WORK [engine|fleet|submit|assets|statements …]` prints one table for each part.

`BENCH` and `CHANDLER` are release executables, `WORK` is a folder for output. Other engines run in the Python that runs this.
The only assertion: engines with the same rules fill the same orders from the same candles at the same prices.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Engines, their scripts, and by how much ours should be faster.
ENGINES = [("backtrader", "run_backtrader.py", 10), ("vnpy", "run_vnpy.py", 10), ("nautilus_trader", "run_nautilus.py", 1)]
# Those that fill a touched limit at the limit, or at a better open, as ours does with the same settings.
SAME_RULES = {"backtrader", "vnpy"}


def lines(*command):
    """The output of a part of the bench: rows of fields; the first is the kind of the row."""
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def goal(is_met):
    return "met" if is_met else "missed"


def fills(work, name):
    with open(os.path.join(work, f"fills-{name}.csv")) as file:
        return file.read().splitlines()[1:]


def engine(bench, _, work):
    own = lines(bench, "paper", "engine", work)
    (_, _, _, seconds, orders, _) = own[0]
    mine, reference = float(seconds), fills(work, "chandler")
    rows = []
    for _, name, best, median, _, count in own:
        rows.append([name, "", f"{float(median):.3f} (best {float(best):.3f})", "1", "", count, ""])
    for name, script, times in ENGINES:
        out = subprocess.run(
            [sys.executable, os.path.join(HERE, script), work], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        result = json.loads(out.splitlines()[-1])
        ratio, theirs = result["run"] / mine, fills(work, name)
        agreement = f"{len(set(theirs) & set(reference))} the same"
        if name in SAME_RULES and theirs != reference:
            different = sorted(set(theirs) ^ set(reference))[:5]
            sys.exit(f"{name} fills other orders, or at other prices: {different}")
        verdict = f"{times} times: {goal(ratio >= times)}"
        seconds = f"{result['run']:.2f}"
        rows.append([f"{name} {result['version']}", f"{result['prepare']:.1f}", seconds, f"{ratio:.1f}", verdict, str(result["fills"]), agreement])
    print(f"One account, {orders} orders:\n")
    header = ["engine", "candles made ready, s", "run, s", "times ours", "goal", "fills", "order, minute and price"]
    table(header, rows)


def fleet(bench, _, work):
    rows = []
    for _, name, median, ninety, worst, busy, count in lines(bench, "paper", "fleet", work):
        verdict = f"100 ms: {goal(float(median) <= 100)}" if name == "service" else ""
        rows.append([name, median, ninety, worst, busy if float(busy) else "", verdict, count if int(count) else ""])
    print("A minute of the market for all accounts:\n")
    header = ["", "median ms", "90 %", "worst", "processor ms, median", "goal", "entries made, or accounts advanced"]
    table(header, rows)


def submit(bench, _, work):
    times, rates = [], []
    for kind, name, *fields in lines(bench, "paper", "submit", work):
        if kind == "submit":
            times.append([name, *fields, ""])
        elif kind == "submit-ratio":
            median, least, most = fields
            times.append([f"{name}, times", f"{median} ({least} to {most})", "", f"2: {goal(float(median) <= 2)}"])
        else:
            rate, ratio = fields
            verdict = f"3 times: {goal(float(ratio) >= 3)}" if "each" in name else ""
            rates.append([name, rate, ratio, verdict])
    print("Orders that are on the disk when they are answered:\n")
    table(["", "p50 us", "p99 us", "goal"], times)
    table(["", "submits and cancellations a second", "times one client", "goal"], rates)


def assets(bench, chandler, work):
    rows = []
    for kind, *fields in lines(bench, "paper", "assets", chandler, work):
        if kind == "entries":
            entries, _, memory = fields
            print(f"An account with {entries} entries, over HTTP; the server has {int(memory) / 1e6:.0f} MB:\n")
            continue
        name, p50, p99, worst, first, size = fields
        verdict = f"2 ms: {goal(float(p50) <= 2)}" if name.endswith("/asset/account") else ""
        rows.append([name, p50, p99, worst, first, verdict, size])
    table(["", "p50 ms", "p99", "worst", "the first", "goal", "bytes"], rows)


def statements(bench, chandler, work):
    rows = []
    for _, entries, trades, made, first, again in lines(bench, "paper", "statements", work):
        rows.append([entries, trades, made, first, f"2 s: {goal(float(first) <= 2)}", again])
    print("Statements of a year, made when the list is requested:\n")
    table(["entries", "trades", "statements", "all made, s", "goal", "listed again, s"], rows)


PARTS = {"engine": engine, "fleet": fleet, "submit": submit, "assets": assets, "statements": statements}


def main():
    bench, chandler, work, *parts = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    for part in parts or PARTS:
        PARTS[part](bench, chandler, work)


main()
