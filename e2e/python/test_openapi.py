"""The OpenAPI description of the HTTP interface: valid by its standard, and matching the responses.
"""

import http.client
import json
import unittest

import openapi_spec_validator

import conformance
import harness


class Document(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server, cls.account = harness.shared()

    def document(self):
        connection = http.client.HTTPConnection(self.server.address, timeout=harness.PATIENCE_S)
        connection.request("GET", "/openapi.json")
        document = json.loads(connection.getresponse().read())
        connection.close()
        return document

    def test_it_is_valid_openapi(self):
        openapi_spec_validator.OpenAPIV31SpecValidator(self.document()).validate()

    def test_requests_of_an_account_about_itself_match_the_document(self):
        for path in ("/v1/me", "/v1/quota", "/v1/connections", "/v1/sign-ins", "/v1/securities?query=a&limit=5",
                     "/v1/securities/9001.HK", "/v1/securities/9001.HK/actions", "/v1/quote/my-quotes",
                     "/v1/quote/history-candlesticks?symbol=9001.HK&period=5m&limit=3", "/udf/config",
                     "/udf/symbols?symbol=9001.HK", "/udf/history?symbol=9001.HK&resolution=1D&to=1794708000&countback=5",
                     "/udf/marks?symbol=9001.HK", "/udf/search?query=a"):
            with self.subTest(path):
                # The harness validates every response against the document.
                status, _ = self.server.request("GET", path, self.account)
                self.assertEqual(status, 200)

    def test_an_answer_that_is_not_described_is_found(self):
        answer = {"code": 0, "message": "success", "data": {"account": "ann", "role": "user", "csrf": None, "unlimited": False, "store": None}}
        conformance.check(self.server.address, "GET", "/v1/me", 200, answer)
        for wrong in ({"role": "king"}, {"csrf": 7}, {"age": 7}):
            with self.assertRaises(AssertionError):
                other = {**answer, "data": {**answer["data"], **wrong}}
                conformance.check(self.server.address, "GET", "/v1/me", 200, other)
        with self.assertRaises(AssertionError):
            conformance.check(self.server.address, "GET", "/v1/me", 201, answer)


if __name__ == "__main__":
    unittest.main()
