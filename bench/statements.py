"""Every statement of the crate `store`, as PostgreSQL is asked it, read from the sources: nothing is copied that could grow old.

    for statement in read(ROOT):                 # Statement(file, name, what, text)

Reads the tables of `statements!` and the macros that they are made of; what it does not understand ends the bench.
"""
import collections
import re
from pathlib import Path

Statement = collections.namedtuple("Statement", "schema file name what text")

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<word>[A-Za-z_][A-Za-z_0-9]*!?)
      | (?P<mark>=>|::|[{}()\[\],;:$#&.*'<>=|!?0-9/+-])
    """,
    re.VERBOSE | re.DOTALL,
)


def read(root):
    """All statements, by file and in the order of the file."""
    folder = Path(root) / "crates/store/src"
    found = []
    for path in sorted(folder.rglob("*.rs")):
        source = path.read_text()
        if path.name != "statements.rs" and re.search(r"^\s*statements! \{", source, re.MULTILINE):
            found += of_file(path.relative_to(folder).as_posix(), source)
    if len(found) < 100:
        raise SystemExit(f"statements.py: only {len(found)} statements found: they are written otherwise now")
    return found


def of_file(name, source):
    macros = {}
    for at in re.finditer(r"macro_rules! (\w+) \{\s*\(\) => \{", source):
        macros[at[1] + "!"] = Reader(source, at.end(), macros, name).value()
    found = []
    for at in re.finditer(r"^\s*statements! \{", source, re.MULTILINE):
        found += list(table(Reader(source, at.end(), macros, name), name))
    return found


def table(reader, file):
    """`for SCHEMA; NAME: "what", TEXT;` or `NAME: "what", TEXT => TEXT OF POSTGRESQL;`, up to the closing brace."""
    schema = ""
    if reader.peek() == "for":
        while (word := reader.next()) != ";":
            schema += word
    is_accounts = "accounts" in (schema or file).lower()
    while reader.peek() != "}":
        name = reader.next()
        reader.expect(":")
        what = reader.value()
        reader.expect(",")
        text = reader.value()
        if reader.peek() == "=>":
            reader.next()
            text = reader.value()
        reader.expect(";")
        yield Statement("accounts" if is_accounts else "candles", file, name, what, plain(text))


def plain(text):
    """Rows have no seals in PostgreSQL."""
    return text.replace("sealed_", "")


class Reader:
    """Tokens of Rust, as far as tables of statements have them."""

    def __init__(self, source, at, macros, file):
        self.source, self.at, self.macros, self.file = source, at, macros, file

    def token(self, at):
        while True:
            found = TOKEN.match(self.source, at)
            if not found:
                self.fail("a token")
            if found.lastgroup != "space":
                return found
            at = found.end()

    def peek(self):
        return self.token(self.at)[0]

    def next(self):
        found = self.token(self.at)
        self.at = found.end()
        return found[0]

    def expect(self, wanted):
        if self.next() != wanted:
            self.fail(repr(wanted))

    def value(self):
        """A text, `concat!(…)`, or a macro of the file."""
        word = self.next()
        if word.startswith('"'):
            # A backslash at the end of a line takes the line's end and the next one's indent with it.
            return re.sub(r"\\(.)", lambda at: {"n": "\n", "t": "\t"}.get(at[1], at[1]), re.sub(r"\\\n\s*", "", word[1:-1]))
        if word == "concat!":
            self.expect("(")
            parts = []
            while self.peek() != ")":
                parts.append(self.value())
                if self.peek() == ",":
                    self.next()
            self.expect(")")
            return "".join(parts)
        if word in self.macros:
            self.expect("(")
            self.expect(")")
            return self.macros[word]
        return self.fail("a text")

    def fail(self, wanted):
        line = self.source.count("\n", 0, self.at) + 1
        raise SystemExit(f"statements.py: {self.file}:{line}: {wanted} was expected before {self.source[self.at:self.at + 60]!r}")
