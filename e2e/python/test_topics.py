"""The community through the public SDK: writing and finding topics, replies, refusals, and
moderation."""

import datetime
import json
import unittest

import harness
from longbridge.openapi import ContentContext, OpenApiException

ARTICLE = "# Wicks\n\nOf **9002.HK** and [the rules](https://example.com/rules).\n\n<script>alert(1)</script> \U0001f642 \u202etfel"
MINUTE = datetime.timedelta(minutes=1)


class Topics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, _ = harness.shared()
        cls.writer, cls.reader = (cls.trader(name) for name in ("topic writer", "topic reader"))

    @classmethod
    def trader(cls, name):
        """An account with holdings."""
        return cls.server.account(name, "--cash", "HKD=1000")

    def content(self, account):
        return ContentContext(self.server.config(account))

    def refused(self, code, call, *arguments, **named):
        with self.assertRaises(OpenApiException) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        return caught.exception.message

    def operator(self, *words):
        return json.loads(harness.chandler(self.server.store, "topic", *words, "--format", "json"))

    def test_a_topic_is_written_found_and_answered(self):
        writer, reader = self.content(self.writer), self.content(self.reader)
        before = datetime.datetime.now() - MINUTE
        number = writer.create_topic("On wicks", ARTICLE, topic_type="article", tickers=["09001.HK"], hashtags=["wicks", "#手数"])
        post = writer.create_topic("", "plain text on 9003.HK")
        topic = reader.topic_detail(number)
        self.assertEqual((topic.id, topic.title, topic.body, topic.topic_type), (number, "On wicks", ARTICLE, "article"))
        self.assertEqual((topic.tickers, topic.hashtags, topic.images), (["9001.HK", "9002.HK"], ["wicks", "手数"], []))
        self.assertTrue(topic.description.startswith("Wicks Of 9002.HK and the rules. <script>"), topic.description)
        self.assertEqual((topic.author.member_id, topic.author.name, topic.author.avatar),
                         (str(self.writer["account_id"]), "topic writer", ""))
        self.assertEqual((topic.likes_count, topic.comments_count, topic.shares_count), (0, 0, 0))
        self.assertEqual(topic.detail_url, f"/topics/{number}")
        self.assertTrue(before <= topic.created_at.replace(tzinfo=None) <= before + 3 * MINUTE, topic.created_at)
        self.assertEqual(topic.created_at, topic.updated_at)
        # Newest first, by kind and by page.
        self.assertEqual([one.id for one in writer.my_topics()], [post, number])
        self.assertEqual([one.id for one in writer.my_topics(topic_type="article")], [number])
        self.assertEqual([one.id for one in writer.my_topics(page=2, size=1)], [number])
        self.assertEqual(writer.my_topics(page=99), [])
        self.assertEqual(reader.my_topics(), [])
        for symbol, found in (("9002.HK", number), ("9003.HK", post)):
            (item, *_) = reader.topics(symbol)
            self.assertEqual((item.id, item.url), (found, f"/topics/{found}"))
        self.assertEqual(reader.topics("WAX.US"), [])
        # Replies, also to a reply.
        first = reader.create_topic_reply(number, "agreed \U0001f642")
        second = writer.create_topic_reply(number, "thanks", reply_to_id=first.id)
        self.assertEqual((first.topic_id, first.reply_to_id, second.reply_to_id), (number, "0", first.id))
        self.assertEqual([(one.id, one.body, one.author.name, one.comments_count) for one in reader.list_topic_replies(number)],
                         [(second.id, "thanks", "topic writer", 0), (first.id, "agreed \U0001f642", "topic reader", 1)])
        self.assertEqual([one.id for one in reader.list_topic_replies(number, page=2, size=1)], [first.id])
        self.assertEqual(reader.list_topic_replies(number, page=9), [])
        self.assertEqual(reader.topic_detail(number).comments_count, 2)
        self.assertEqual(reader.topic_detail(number).views_count, 1)
        self.refused(404, reader.create_topic_reply, post, "of another topic", reply_to_id=first.id)
        self.refused(404, reader.topic_detail, "999999")
        self.refused(404, reader.list_topic_replies, "999999")

    def test_what_is_invalid_is_refused_with_a_message(self):
        writer = self.content(self.trader("topic mistakes"))
        for says, arguments in (
            ("title is required", ("", "x", "article")),
            ("body is required", ("t", " ")),
            ("body has the control character U+0000", ("t", "x\0")),
            ("title has the invisible character U+202E", ("a\u202eb", "x")),
            ("body has more than 5000 characters", ("", "\U0001f642" * 5001)),
            ("is not a symbol", ("", "x", "post", ["9001"])),
        ):
            self.assertIn(says, self.refused(301600, writer.create_topic, *arguments))
        self.assertEqual(writer.my_topics(), [])

    def test_an_account_that_holds_nothing_reads_and_does_not_write(self):
        empty = self.content(self.server.account("topic visitor"))
        self.assertIn("with assets", self.refused(403008, empty.create_topic, "", "hello"))
        self.assertEqual(empty.my_topics(), [])

    def test_the_fourth_topic_in_a_minute_waits(self):
        writer = self.content(self.trader("topic hurry"))
        for number in range(3):
            writer.create_topic("", f"number {number}")
        self.assertIn("at most 3 topics in a minute", self.refused(429002, writer.create_topic, "", "one more"))
        self.assertEqual(len(writer.my_topics()), 3)

    def test_what_an_operator_hides_is_gone_for_others_until_it_is_restored(self):
        writer, reader = self.content(self.trader("topic hidden")), self.content(self.reader)
        number = writer.create_topic("", "look at WICK.US")
        hidden = self.operator("hide", number, "--reason", "advertising")
        self.assertEqual((hidden["author"], hidden["hidden_because"]), ("topic hidden", "advertising"))
        self.refused(404, reader.topic_detail, number)
        self.refused(404, reader.create_topic_reply, number, "hm")
        self.assertEqual(reader.topics("WICK.US"), [])
        # Its author sees it, with a note.
        self.assertEqual([one.id for one in writer.my_topics()], [number])
        self.operator("restore", number)
        self.assertEqual(reader.topic_detail(number).body, "look at WICK.US")


if __name__ == "__main__":
    unittest.main()
