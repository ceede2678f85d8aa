"""Sends rows to a Chandler server. A batch is sent until it is acknowledged."""

import json
import os
import sys
import time
import urllib.error
import urllib.request


class Ingest:
    def __init__(self, source):
        self.source, self.url = source, os.environ["CHANDLER_URL"]
        self.headers = {"authorization": f"Bearer {os.environ['CHANDLER_TOKEN']}", "content-type": "application/json"}
        # Larger than all numbers of former runs.
        self.seq, self.gap = time.time_ns() // 1000, True

    def send(self, kind, rows):
        """Adds candles or trades. The server recognizes a batch that it has already by its number."""
        batch = {"source": self.source, "seq": self.seq, "gap": self.gap, "rows": rows}
        request = urllib.request.Request(f"{self.url}/v1/ingest/{kind}", json.dumps(batch).encode(), self.headers)
        while rows:
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    for refused in json.load(answer)["data"].get("refused", []):
                        print(rows[refused["row"]], refused["reason"], file=sys.stderr)
                self.seq, self.gap = self.seq + 1, False
                return
            except urllib.error.HTTPError as error:
                # Busy, or about to restart. Anything else is an error of this program.
                if error.code != 429 and error.code < 500:
                    raise
            except OSError:
                pass
            time.sleep(1)
