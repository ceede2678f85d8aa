#!/usr/bin/env python3
"""Installs each package of `make dist` in a clean folder, and uses it as a new user would.

    try.py [DIR] [--system]

With `--system` the Debian package is installed by apt and removed again, for a disposable machine; otherwise it is only
unpacked. Everything is on loopback and in a temporary folder. It takes half a minute, most of it for Python's venv.
"""

import argparse
import http.cookiejar
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import contents

# Four days of a downloaded file, with the symbol in a column.
PRICES = """\
symbol,date,open,high,low,close,volume
TRY.US,2026-11-09,10.00,10.50,9.90,10.40,120000
TRY.US,2026-11-10,10.40,10.80,10.30,10.75,98000
TRY.US,2026-11-11,10.75,10.90,10.20,10.25,143000
TRY.US,2026-11-12,10.25,10.60,10.10,10.55,87000
"""
PATIENCE_S = 60
# Headers of a browser when the user opens an address.
OPENS = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=contents.ROOT / "target/dist")
    parser.add_argument("--system", action="store_true", help="install the Debian package by apt; as root, on a disposable machine")
    args = parser.parse_args()
    dist = args.folder.resolve()
    run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=dist)
    for kind, installed in (("tarball", from_tarball), ("install script", from_script), ("wheel", from_wheel), ("Debian package", from_debian)):
        with tempfile.TemporaryDirectory(prefix="chandler-try-") as work:
            work = Path(work)
            executable = from_apt(dist) if args.system and installed is from_debian else installed(dist, work)
            use(executable, work / "used")
        print(f"{kind}: installed, opened a file, answered", flush=True)
    if args.system:
        run(["apt-get", "purge", "-qy", "chandler"])


def from_tarball(dist, work):
    path = one(dist, "*.tar.gz")
    run(["tar", "-xzf", path, "-C", work])
    return work / path.name.removesuffix(".tar.gz") / "chandler"


def from_script(dist, work):
    environment = {**os.environ, "CHANDLER_RELEASE": str(dist), "CHANDLER_PREFIX": str(work / "own")}
    run(["sh", dist / "install.sh"], env=environment)
    return work / "own/bin/chandler"


def from_wheel(dist, work):
    run([sys.executable, "-m", "venv", work / "venv"])
    run([work / "venv/bin/pip", "install", "--quiet", "--no-index", "--no-deps", one(dist, "*.whl")])
    return work / "venv/bin/chandler"


def from_debian(dist, work):
    run(["dpkg-deb", "--extract", one(dist, "*.deb"), work / "root"])
    return work / "root/usr/bin/chandler"


def from_apt(dist):
    run(["apt-get", "install", "-qy", "--no-install-recommends", one(dist, "*.deb")])
    return Path("/usr/bin/chandler")


def one(dist, pattern):
    found = list(dist.glob(pattern))
    if len(found) != 1:
        sys.exit(f"try.py: {len(found)} files {pattern} in {dist}: run `make dist` in an empty target/dist")
    return found[0]


def use(executable, folder):
    """Opens a file and reads its candles, with the command of the README."""
    folder.mkdir()
    environment = {"HOME": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}
    version = run([executable, "--version"], env=environment, cwd=folder)
    expected = f"chandler {contents.source_version()}"
    check(version.startswith(expected), f"{version!r} is not {expected!r}")
    (folder / "prices.csv").write_text(PRICES)
    command = [executable, "open", "prices.csv", "--no-browser", "--format=json", "--listen=127.0.0.1:0", "--tcp=127.0.0.1:0"]
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            answered(link_of(server))
            server.send_signal(signal.SIGINT)
            check(server.wait(PATIENCE_S) == 0, "an interrupt did not end it with code 0")
        finally:
            server.kill()
    table = run([executable, "kline", "TRY.US", "--format", "json"], env=environment, cwd=folder)
    closes = [candle["close"] for candle in json.loads(table)["candlesticks"]]
    check([float(close) for close in closes] == [10.40, 10.75, 10.25, 10.55], f"closes are {closes}")


def link_of(server):
    """The one-time link, from the line with the addresses."""
    for line in server.stdout:
        if '"link"' in line:
            return json.loads(line)["link"]
    sys.exit("try.py: `chandler open` printed no link")


def answered(link):
    """The link signs in and opens the chart; the session can read candles."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    visitor = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)
    visitor.addheaders = list(OPENS.items())
    with visitor.open(link, timeout=PATIENCE_S) as page:
        check(page.status == 200 and "symbol=TRY.US" in page.url, f"{page.status} {page.url}")
        check(b"<html" in page.read(), "the chart is not a page")
    site = link.split("/signin")[0]
    with visitor.open(f"{site}/v1/quote/history-candlesticks?symbol=TRY.US&period=day&limit=2", timeout=PATIENCE_S) as answer:
        check("10.55" in answer.read().decode(), "the last close is missing")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=600, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"try.py: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def check(holds, words):
    if not holds:
        sys.exit(f"try.py: {words}")


if __name__ == "__main__":
    main()
