#!/usr/bin/env python3
"""Live pushes and ingest: runs `bench live` for each part, and the part ingest on SQLite and on two nodes of PostgreSQL.

    python live.py CHANDLER BENCH WORK [PART…]        parts: fanout minute ingest history postgres; all by default

PostgreSQL is a new cluster in WORK, on loopback, and removed at the end; without PostgreSQL its part is left out, and without
Redis its lines. `bench/run.sh live` installs nothing.
"""
import os
import subprocess
import sys

PARTS = ("fanout", "minute", "ingest", "history", "postgres")


def part(bench, name, chandler, work, *store):
    subprocess.run([bench, "live", name, chandler, work, *store], check=True)
    print(flush=True)


def main():
    chandler, bench, work, *parts = sys.argv[1:]
    unknown = set(parts) - set(PARTS)
    if unknown:
        sys.exit(f"no part {', '.join(unknown)}: {', '.join(PARTS)}")
    os.makedirs(work, exist_ok=True)
    print(f"load average before: {' '.join(f'{load:.1f}' for load in os.getloadavg())}\n", flush=True)
    for name in parts or PARTS:
        if name != "postgres":
            part(bench, name, chandler, work)
            continue
        from cluster import Cluster

        # The key that encrypts secrets: next to a folder, it would be created.
        os.environ["CHANDLER_KEY_FILE"] = os.path.abspath(f"{work}/key")
        if os.path.exists(f"{work}/key"):
            os.remove(f"{work}/key")
        # Durable, as a server's PostgreSQL is.
        with Cluster(f"{work}/cluster") as cluster:
            part(bench, "ingest", chandler, work, cluster.create("live"))
    print(f"load average after: {' '.join(f'{load:.1f}' for load in os.getloadavg())}")


if __name__ == "__main__":
    main()
