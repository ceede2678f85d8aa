"""The shared scenarios with the Node SDK: a separate process, its responses compared with the
command line's."""

import json
import subprocess
import unittest

import harness
import questions


def answers(account, queries):
    """The response of the Node SDK to each query."""
    lines = "".join(json.dumps(question) + "\n" for question in queries)
    command = ["node", str(harness.ROOT / "e2e/node/questions.js")]
    environment = harness.foreign_environment(account)
    ran = subprocess.run(command, env=environment, input=lines, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


class Node(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()

    def test_every_query_returns_the_same_as_the_command_line(self):
        queries = questions.load("questions.json")
        found = answers(self.account, queries)
        self.assertEqual(len(found), len(queries))
        for question, answer in zip(queries, found):
            with self.subTest(**question):
                wanted = questions.expected(self.server.store, question, overnight=False)
                self.assertNotIn("error", answer, answer.get("error"))
                self.assertEqual([tuple(row) for row in answer["rows"]], wanted)

    def test_every_refusal_has_its_code(self):
        part = self.server.account("hong kong by node", "--markets", "HK", "--rate", "unlimited")
        for is_part, account in ((False, self.account), (True, part)):
            queries = [one for one in questions.load("refusals.json") if ("markets" in one) == is_part]
            for question, answer in zip(queries, answers(account, queries), strict=True):
                with self.subTest(**question):
                    self.assertIn(f"code: {question['code']},", answer.get("error", ""))


if __name__ == "__main__":
    unittest.main()
