"""The examples that ship with the SDK, in the documentation of the installed package: run
unchanged."""

import ast
import pathlib
import re
import textwrap

import longbridge

PLACE = pathlib.Path(longbridge.__file__).with_name("openapi.pyi")
# The client id that all of them contain.
CLIENT_ID = "your-client-id"


def examples(classes, methods):
    """`Class.method` and the text of its example. Some published ones are not valid Python, and are
    skipped."""
    for owner in ast.parse(PLACE.read_text()).body:
        for method in owner.body if isinstance(owner, ast.ClassDef) and owner.name in classes else []:
            if getattr(method, "name", None) not in methods:
                continue
            for text in re.split(r"^.*::\s*$", ast.get_docstring(method) or "", flags=re.MULTILINE)[1:]:
                text = textwrap.dedent(text).strip() + "\n"
                if CLIENT_ID in text and is_python(text):
                    yield f"{owner.name}.{method.name}", text


def is_python(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
