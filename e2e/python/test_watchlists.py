"""Watchlists and the list of securities through the quote context of the SDK, and the command
line's view of them."""

import json
import unittest
from datetime import datetime, timezone
from decimal import Decimal

import harness
from longbridge.openapi import Language, Market, OpenApiException, PinnedMode, SecuritiesUpdateMode, SecurityListCategory

HK, US, UNLIT = "9001.HK", "CNDL.US", "9099.HK"


def symbols(group):
    return [one.symbol for one in group.securities]


class Watchlists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, _ = harness.shared()

    def opened(self, name, **options):
        account = self.server.generous(name)
        return account, self.server.quotes(account, **options)

    def groups(self, context):
        return {group.name: group for group in context.watchlist()}

    def test_a_group_is_made_changed_pinned_and_deleted(self):
        account, context = self.opened("watcher")
        self.assertEqual([(group.id, group.name, group.securities) for group in context.watchlist()], [(1, "all", [])])
        group_id = context.create_watchlist_group("lamps", [US, HK, UNLIT])
        self.assertGreater(group_id, 1000)
        context.update_watchlist_group(group_id, name="燭", securities=["9002.HK"], mode=SecuritiesUpdateMode.Add)
        self.assertEqual(symbols(self.groups(context)["燭"]), [US, HK, UNLIT, "9002.HK"])
        context.update_watchlist_group(group_id, securities=[UNLIT, "9002.HK"], mode=SecuritiesUpdateMode.Remove)
        context.update_watchlist_group(group_id, securities=[HK, US], mode=SecuritiesUpdateMode.Replace)
        context.update_watchlist_group(group_id, name="wicks")
        groups = self.groups(context)
        self.assertEqual(symbols(groups["wicks"]), [HK, US])
        self.assertEqual(symbols(groups["all"]), [US, HK, UNLIT, "9002.HK"])

        # Each at the price of a quote, at market time.
        quotes = {one.symbol: one.last_done for one in context.quote([HK, US])}
        followed = {one.symbol: one for one in groups["all"].securities}
        self.assertEqual({symbol: followed[symbol].watched_price for symbol in quotes}, quotes)
        self.assertIsInstance(followed[HK].watched_price, Decimal)
        self.assertIsNone(followed[UNLIT].watched_price)
        self.assertEqual((followed[HK].market, followed[US].market), (Market.HK, Market.US))
        self.assertEqual(followed[HK].watched_at.strftime("%Y-%m-%dT%H:%M:%SZ"), harness.NOW)
        self.assertEqual(followed[UNLIT].name, "Unlit Holdings")

        context.update_pinned(PinnedMode.Add, [US])
        self.assertEqual(symbols(self.groups(context)["wicks"]), [US, HK])
        printed = json.loads(harness.chandler(
            self.server.store, "watchlist", "list", "--account", "watcher", "--format", "json", clock=self.server.clock))
        _, envelope = self.server.request("GET", "/v1/watchlist/groups", account)
        # The command line has the same with times in RFC 3339.
        for one in (one for group in envelope["data"]["groups"] for one in group["securities"]):
            one["watched_at"] = datetime.fromtimestamp(int(one["watched_at"]), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.assertEqual(printed, envelope["data"])
        context.update_pinned(PinnedMode.Remove, [US])
        self.assertEqual(symbols(self.groups(context)["wicks"]), [HK, US])

        context.delete_watchlist_group(group_id, purge=True)
        self.assertEqual({name: symbols(group) for name, group in self.groups(context).items()}, {"all": [UNLIT, "9002.HK"]})
        for wrong, code in (
            (lambda: context.delete_watchlist_group(group_id), 404),
            (lambda: context.update_watchlist_group(group_id, name="x"), 404),
            (lambda: context.delete_watchlist_group(1), 301600),
            (lambda: context.create_watchlist_group("a\u202eb"), 301600),
            (lambda: context.create_watchlist_group("a", ["nothing"]), 301600),
        ):
            with self.assertRaises(OpenApiException) as refused:
                wrong()
            self.assertEqual(refused.exception.code, code, refused.exception)

    def test_the_list_has_securities_that_trade_overnight_and_one_name_of_each(self):
        for language, field in ((Language.EN, "name_en"), (Language.ZH_CN, "name_cn"), (Language.ZH_HK, "name_hk")):
            account, context = self.opened(f"lister {field}", language=language)
            listed = context.security_list(Market.US, SecurityListCategory.Overnight)
            self.assertEqual([one.symbol for one in listed], ["CNDL.US", "WICK.US"])
            known = {one.symbol: one for one in context.static_info(["CNDL.US", "WICK.US"])}
            for one in listed:
                names = {name: getattr(one, name) for name in ("name_en", "name_cn", "name_hk")}
                wanted = {name: getattr(known[one.symbol], name) if name == field else "" for name in names}
                self.assertEqual(names, wanted)
            self.assertEqual(context.security_list(Market.HK), [])
            with self.assertRaises(OpenApiException) as refused:
                context.security_list(Market.SG)
            self.assertEqual(refused.exception.code, 310010)


if __name__ == "__main__":
    unittest.main()
