"""Candles as tables: the values that pandas, polars and DuckDB read equal those of the command
line, to the last digit."""

import decimal
import io
import unittest
import urllib.error
import urllib.request

import duckdb
import harness
import pandas
import polars
import questions

PATH = "/v1/quote/history-candlesticks"
QUERIES = [
    ("symbol=9001.HK&period=day&start=2026-01-01", ("9001.HK", "--start", "2026-01-01")),
    ("symbol=CNDL.US&period=5m&session=extended&adjust=forward&start=2026-10-28&end=2026-11-03",
     ("CNDL.US", "--period", "5m", "--session", "extended", "--adjust", "forward", "--start", "2026-10-28", "--end", "2026-11-03")),
]
PRICES = ("open", "high", "low", "close")


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()
        cls.token = cls.account["access_token"]
        cls.head = {"Authorization": f"Bearer {cls.token}"}

    def address(self, query, form, token=None):
        return f"{self.server.url}{PATH}?{query}&format={form}" + (f"&access_token={token}" if token else "")

    def questions(self):
        for query, arguments in QUERIES:
            wanted = questions.kline(self.server.store, arguments)
            self.assertGreater(len(wanted), 100)
            yield query, [(row[0], *map(decimal.Decimal, row[1:5]), row[5]) for row in wanted]

    def test_parquet_is_exact(self):
        for query, wanted in self.questions():
            by_header = pandas.read_parquet(self.address(query, "parquet"), storage_options=self.head)
            by_address = pandas.read_parquet(self.address(query, "parquet", self.token))
            columns = by_header["time"].astype("datetime64[s, UTC]").astype("int64"), *(by_header[name] for name in PRICES), by_header["volume"]
            self.assertEqual(list(zip(*columns)), wanted)
            self.assertTrue(by_header.equals(by_address))
            frame = polars.read_parquet(self.address(query, "parquet", self.token))
            self.assertEqual(frame.select(polars.col("time").dt.epoch("s"), *PRICES, "volume").rows(), wanted)

    def test_csv_equals_parquet(self):
        for query, wanted in self.questions():
            frame = pandas.read_csv(self.address(query, "csv"), storage_options=self.head, dtype=dict.fromkeys(PRICES, str))
            stamps = pandas.to_datetime(frame["time"], utc=True).astype("datetime64[s, UTC]").astype("int64")
            prices = (frame[name].map(decimal.Decimal) for name in PRICES)
            self.assertEqual(list(zip(stamps, *prices, frame["volume"])), wanted)
            frame = polars.read_csv(self.address(query, "csv", self.token))
            self.assertEqual(frame["volume"].to_list(), [row[-1] for row in wanted])
            self.assertEqual(frame["close"].to_list(), [float(row[4]) for row in wanted])

    def test_a_frame_can_be_queried_in_sql(self):
        query, wanted = next(self.questions())
        candles = polars.read_parquet(self.address(query, "parquet", self.token))
        [(rows, high, volume)] = duckdb.sql("select count(*), max(high), sum(volume)::bigint from candles").fetchall()
        self.assertEqual((rows, high, volume), (len(wanted), max(row[2] for row in wanted), sum(row[5] for row in wanted)))
        self.assertEqual(candles.height, rows)

    def test_a_lazy_reader_reads_only_its_columns_and_is_counted_once(self):
        account = self.server.account("lazy", "--rate", "1/3600")
        url = self.address("symbol=9001.HK&period=day&start=2024-01-01", "parquet", account["access_token"])
        self.assertGreater(polars.scan_parquet(url).select(polars.col("close").max()).collect().item(), 0)
        self.assertGreater(polars.scan_parquet(url).select(polars.col("volume").sum()).collect().item(), 0)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url)
        self.assertEqual(refused.exception.code, 429)
        refused.exception.close()

    def test_arrow_streams_into_polars(self):
        for query, wanted in self.questions():
            with urllib.request.urlopen(self.address(query, "arrow", self.token)) as answer:
                frame = polars.read_ipc_stream(io.BytesIO(answer.read()))
            self.assertEqual(frame["close"].to_list(), [row[4] for row in wanted])


if __name__ == "__main__":
    unittest.main()
