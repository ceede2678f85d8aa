"""Every statement of the crate `store` in the form for PostgreSQL, read from the sources, so that no copy can become outdated.

    for statement in read(ROOT):                 # Statement(schema, file, name, what, text)

Reads the tables of `statements!`, constants that are `Sql::new(…)`, and the macros that they use; anything that it cannot parse ends the bench.
"""
import collections
import re
from pathlib import Path

Statement = collections.namedtuple("Statement", "schema file name what text")
Macro = collections.namedtuple("Macro", "parameters source at file")

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<word>\$?[A-Za-z_][A-Za-z_0-9]*!?)
      | (?P<mark>=>|::|[{}()\[\],;:$#&.*'<>=|!?0-9/+-])
    """,
    re.VERBOSE | re.DOTALL,
)
# Backups of SQLite, creation of a database, reports about its server, and moves, which read everything.
LEFT_OUT = ("backup/", "engine/", "transfer/", "survey.rs")


def read(root):
    """All statements, by file and in the order of the file."""
    folder = Path(root) / "crates/store/src"
    sources = {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.rs"))}
    sources = {file: text.split("#[cfg(test)]\nmod tests {")[0] for file, text in sources.items() if not file.startswith(LEFT_OUT)}
    # Some are used in other files than their own; a file's own goes before.
    everywhere = {name: macro for file, text in sources.items() for name, macro in macros_of(file, text).items()}
    found = [one for file, text in sources.items() for one in of_file(file, text, {**everywhere, **macros_of(file, text)})]
    if len(found) < 100:
        raise SystemExit(f"statements.py: only {len(found)} statements found: their form has changed")
    return found


def macros_of(file, source):
    macros = {}
    for at in re.finditer(r"macro_rules! (\w+) \{\s*\(([^)]*)\) => \{", source):
        parameters = re.findall(r"(\$\w+):(?:expr|literal)", at[2])
        macros[at[1] + "!"] = Macro(parameters, source, at.end(), file)
    return macros


def of_file(file, source, macros):
    schema = "accounts" if file.startswith(("accounts", "cluster", "social", "trading")) else "candles"
    for at in re.finditer(r"^\s*statements! \{", source, re.MULTILINE):
        for name, what, text in table(Reader(source, at.end(), macros, file)):
            yield Statement(schema, file, name, what, plain(text))
    for at in re.finditer(r"const (\w+): Sql =\s*Sql::new\(", source):
        reader = Reader(source, at.end(), macros, file)
        what = reader.value()
        reader.expect(",")
        yield Statement(schema, file, at[1], what, plain(reader.value()))


def table(reader):
    """`for SCHEMA; NAME: "what", TEXT;` or `NAME: "what", TEXT => TEXT OF POSTGRESQL;`, up to the closing brace."""
    if reader.peek() == "for":
        while reader.next() != ";":
            pass
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
        yield name, what, text


def plain(text):
    """Rows have no seals in PostgreSQL."""
    return text.replace("sealed_", "")


class Reader:
    """Tokens of Rust, as far as statements have them."""

    def __init__(self, source, at, macros, file, values=None):
        self.source, self.at, self.macros, self.file, self.values = source, at, macros, file, values or {}

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
        """A text, `concat!(…)`, a macro, or the parameter of one."""
        word = self.next()
        if word.startswith('"'):
            # A backslash at the end of a line takes the line's end and the next one's indent with it.
            return re.sub(r"\\(.)", lambda at: {"n": "\n", "t": "\t"}.get(at[1], at[1]), re.sub(r"\\\n\s*", "", word[1:-1]))
        if word == "concat!":
            return "".join(self.arguments())
        if word in self.values:
            return self.values[word]
        if word in self.macros:
            macro, given = self.macros[word], self.arguments()
            return Reader(macro.source, macro.at, self.macros, macro.file, dict(zip(macro.parameters, given))).value()
        return self.fail("a text")

    def arguments(self):
        self.expect("(")
        given = []
        while self.peek() != ")":
            given.append(self.value())
            if self.peek() == ",":
                self.next()
        self.expect(")")
        return given

    def fail(self, wanted):
        line = self.source.count("\n", 0, self.at) + 1
        raise SystemExit(f"statements.py: {self.file}:{line}: {wanted} was expected before {self.source[self.at:self.at + 60]!r}")
