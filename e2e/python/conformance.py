"""Responses of a server, validated against its OpenAPI description: `GET /openapi.json`."""

import functools
import http.client
import json
import re

import jsonschema

JSON = "application/json"


@functools.cache
def document(address):
    """The OpenAPI document of a server, with every object closed: an undescribed field is an error.
    """
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request("GET", "/openapi.json")
    described = json.loads(connection.getresponse().read())
    connection.close()
    close(described)
    return described


def close(value):
    if isinstance(value, dict):
        if isinstance(value.get("properties"), dict):
            value.setdefault("additionalProperties", False)
        for field in value.values():
            close(field)
    elif isinstance(value, list):
        for item in value:
            close(item)


@functools.cache
def validator(address, method, path, status):
    """The validator of a response; fails if the document does not describe it."""
    described = document(address)
    schema = schema_of(described, method, path, str(status))
    return jsonschema.Draft202012Validator({**schema, "components": described["components"]})


def schema_of(described, method, path, status):
    operation = operation_of(described, method, path)
    if operation is None:
        assert status >= "400", f"{method} {path} is not described, and answered {status}"
        return {"$ref": "#/components/schemas/Problem"}
    answers = operation["responses"]
    answer = answers.get(status) or (answers.get("default") if status >= "400" else None)
    assert answer is not None, f"{method} {path} answered {status}, which is not described"
    if "$ref" in answer:
        answer = described["components"]["responses"][answer["$ref"].rsplit("/", 1)[1]]
    return answer["content"][JSON]["schema"]


def operation_of(described, method, path):
    """The operation of a path: a literal path wins over one with a parameter."""
    def fits(template):
        return re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), path)

    found = sorted(filter(fits, described["paths"]), key=lambda template: template.count("{"))
    return described["paths"][found[0]].get(method.lower()) if found else None


def check(address, method, target, status, answer):
    """Fails unless a JSON response matches the server's description."""
    path = "/" + target.split("?")[0].lstrip("/")
    complaints = list(validator(address, method, path, status).iter_errors(answer))
    assert not complaints, f"{method} {path} answered {status}, which /openapi.json does not allow: {complaints}"
