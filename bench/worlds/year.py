#!/usr/bin/env python3
"""A year of ten securities with 5,000 orders through `chandler world run`, and in other engines in process, with the same candles and
rules: `year.py BENCH CHANDLER WORK [ENGINE…]`. Other engines run in the Python that runs this. Asserted: backtrader, which has the
same rules, and the world fill the same orders at the same minutes and prices as our engine alone."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PAPER = HERE.parent / "paper"
SAME_RULES = ["--fees", "none", "--participation", "off", "--touch", "touch"]
OTHERS = {"backtrader": "run_backtrader.py", "nautilus_trader": "run_nautilus.py"}
# NautilusTrader fills at other prices.
EQUAL = {"world-minutes", "world-orders", "backtrader"}


def output(command, **options):
    ran = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, **options)
    if ran.returncode:
        sys.exit(f"{command[0]} failed: {ran.stdout[-2000:]}")
    return ran.stdout


def fills(work, name):
    return (work / f"fills-{name}.csv").read_text().splitlines()[1:]


def in_a_world(chandler, work, mode, span):
    store = work / "store"
    words = [chandler, "--store", f"sqlite:{store}", "world", "run", "--from", span[0], "--to", span[1], "--markets", "US"]
    words += ["--cash", "USD=1000000000", *SAME_RULES, "--short", "us", "--quiet", "--format", "json", "--delete"]
    began = time.perf_counter()
    # The report is on stdout, and what the program prints on stderr.
    ran = subprocess.run(
        [*map(str, words), "--", sys.executable, str(HERE / "run_world.py"), str(work), mode], capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if ran.returncode:
        sys.exit(ran.stderr[-2000:])
    report = json.loads(ran.stdout)
    result = json.loads(next(line for line in ran.stderr.splitlines() if line.startswith("{")))
    if report["figures"]["fills"] != result["fills"]:
        sys.exit(f"the report has {report['figures']['fills']} fills, and the program has seen {result['fills']}")
    return {**result, "whole": seconds}


def in_process(work, name):
    began = time.perf_counter()
    result = json.loads(output([sys.executable, PAPER / OTHERS[name], work]).splitlines()[-1])
    return {**result, "whole": time.perf_counter() - began}


def main():
    bench, chandler, folder, *names = sys.argv[1:]
    names = names or ["world-minutes", "world-orders", *OTHERS]
    work = pathlib.Path(folder)
    work.mkdir(parents=True, exist_ok=True)
    _, orders, *span = output([bench, "paper", "year", work]).split()
    store = work / "store"
    shutil.rmtree(store, ignore_errors=True)
    began = time.perf_counter()
    output([chandler, "--store", f"sqlite:{store}", "import", work / "minutes.csv", "--quiet"])
    output([chandler, "--store", f"sqlite:{store}", "account", "rates", "USD", "7.8", "--day", "2024-01-02"])
    imported = time.perf_counter() - began
    reference, results = fills(work, "engine"), []
    for name in names:
        result = in_process(work, name) if name in OTHERS else in_a_world(chandler, work, name.removeprefix("world-"), span)
        theirs = fills(work, name)
        if name in EQUAL and theirs != reference:
            sys.exit(f"{name} fills other orders, or at other prices: {sorted(set(theirs) ^ set(reference))[:5]}")
        results.append(result)
    mine = next((result["run"] for result in results if result["name"] == "world-minutes"), None)
    print(f"{orders} orders; the candles were imported in {imported:.1f} s:\n")
    print("| engine | candles made ready, s | run, s | of the time of world-minutes | whole command, s | fills |")
    print("|---|---|---|---|---|---|")
    for result in results:
        share = f"{result['run'] / mine:.2f}" if mine else ""
        name = f"{result['name']} {result['version']}"
        print(f"| {name} | {result['prepare']:.1f} | {result['run']:.1f} | {share} | {result['whole']:.1f} | {result['fills']} |", flush=True)


main()
