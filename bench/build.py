#!/usr/bin/env python3
"""The parts of a first build of the executable: `bench/run.sh build`, or `build.py REPORT` for an existing report of cargo.

Builds the release from scratch in a separate folder, with `cargo build --timings`, and prints a table. `PROFILE=demo` is the build of `make demo`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHOWN = 15


def main():
    if len(sys.argv) > 1:
        report, wall = Path(sys.argv[1]), None
    else:
        report, wall = build(ROOT / "target/bench/build")
    units = units_of(report.read_text())
    print(table(units, wall, our_crates()))


def build(folder):
    """Builds from scratch; returns the report of cargo, and the wall time."""
    shutil.rmtree(folder, ignore_errors=True)
    began = time.monotonic()
    profile = os.environ.get("PROFILE", "release")
    command = ["cargo", "build", "--profile", profile, "--locked", "-p", "chandler", "--timings", "--target-dir", folder]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder / "cargo-timings/cargo-timing.html", time.monotonic() - began


def our_crates():
    return {path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml")}


def units_of(page):
    """Name, kind and seconds of each piece that was compiled or run."""
    found = re.search(r"const UNIT_DATA = (\[.*?\n\]);", page, re.DOTALL)
    if found is None:
        sys.exit("build.py: no UNIT_DATA in the report: another version of cargo writes it otherwise")
    return [(unit["name"], unit["target"].strip() or "library", unit["duration"]) for unit in json.loads(found[1])]


def table(units, wall, ours):
    total = sum(seconds for _, _, seconds in units)
    lines = []
    if wall is not None:
        lines.append(f"{wall:.0f} s from nothing, {len(units)} pieces, {total:.0f} s of compilers on {os.cpu_count()} cores\n")
    groups = [("ours", True), ("of others", False)]
    lines += ["| pieces | seconds of compilers | share |", "|---|---|---|"]
    for title, is_ours in groups:
        seconds = sum(duration for name, _, duration in units if (name in ours) == is_ours)
        lines.append(f"| {title} | {seconds:.0f} | {share(seconds, total)} |")
    for name, kind, seconds in sorted(units, key=lambda unit: -unit[2])[:SHOWN]:
        lines.append(f"| `{name}` {kind} | {seconds:.1f} | {share(seconds, total)} |")
    return "\n".join(lines)


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else ""


if __name__ == "__main__":
    main()
