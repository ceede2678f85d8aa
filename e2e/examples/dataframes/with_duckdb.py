import datetime
import os

import duckdb
from fsspec.implementations.http import HTTPFileSystem

URL = os.environ["CHANDLER_URL"] + "/v1/quote/history-candlesticks"
HEAD = {"Authorization": "Bearer " + os.environ["CHANDLER_TOKEN"]}


class Candles(HTTPFileSystem):
    """What DuckDB reads through. It asks when a file was changed, which fsspec cannot say of addresses."""

    def modified(self, path):
        return datetime.datetime.now(datetime.timezone.utc)


duckdb.register_filesystem(Candles(client_kwargs={"headers": HEAD}))
days = f"{URL}?symbol=9001.HK&period=day&start=2026-01-01&format=parquet"
months = duckdb.sql(f"""
    select strftime(time at time zone 'Asia/Hong_Kong', '%Y-%m') as month,
           arg_min(open, time) as open, max(high) as high, min(low) as low, arg_max(close, time) as close,
           sum(volume)::bigint as volume
    from read_parquet('{days}') group by month order by month
""")
print(len(months.fetchall()), "months")

weeks = f"{URL}?symbol=9001.HK&period=week&limit=52&format=csv"
print(duckdb.sql(f"select count(*) from read_csv('{weeks}')").fetchall()[0][0], "weeks")
