"""Price alerts through the alert context of the SDK, under the set clock of a server and in a world."""

import unittest
from decimal import Decimal

import harness
from longbridge.openapi import AlertCondition, AlertContext, AlertFrequency, OpenApiException

HK = "9001.HK"


class Alerts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, _ = harness.shared()

    def test_alerts_are_added_listed_disabled_and_deleted(self):
        account = self.server.generous("alerted")
        context = AlertContext(self.server.config(account))
        self.assertEqual(context.list().lists, [])
        context.add(HK, AlertCondition.PriceRise, "600.5", AlertFrequency.Once)
        context.add(HK, AlertCondition.PercentFall, "5", AlertFrequency.Daily)
        context.add("CNDL.US", AlertCondition.PriceFall, "1", AlertFrequency.EveryTime)
        groups = {group.symbol: group for group in context.list().lists}
        self.assertEqual(set(groups), {HK, "CNDL.US"})
        group = groups[HK]
        self.assertEqual((group.code, group.market), ("9001", "HK"))
        quote = self.server.quotes(account).quote([HK])[0]
        self.assertEqual(Decimal(group.price), quote.last_done)
        self.assertEqual(Decimal(group.chg), quote.last_done - quote.prev_close)
        rise, fall = group.indicators
        self.assertEqual((rise.indicator_id, rise.frequency, rise.enabled, rise.text), ("1", 3, True, "price rises to 600.5"))
        self.assertEqual((fall.indicator_id, fall.frequency), ("4", 1))

        rise.enabled = False
        context.update(rise)
        shown = next(group for group in context.list().lists if group.symbol == HK)
        self.assertEqual([one.enabled for one in shown.indicators], [False, True])
        context.delete([rise.id, fall.id])
        self.assertEqual([group.symbol for group in context.list().lists], ["CNDL.US"])
        with self.assertRaises(OpenApiException) as refused:
            context.update(fall)
        self.assertEqual(refused.exception.code, 404)
        for value, condition in (("0", AlertCondition.PriceRise), ("x", AlertCondition.PercentRise)):
            with self.assertRaises(OpenApiException) as refused:
                context.add(HK, condition, value, AlertFrequency.Once)
            self.assertEqual(refused.exception.code, 301600)


if __name__ == "__main__":
    unittest.main()
