"""A person at the pages of a server, as a minimal browser: cookies, forms, no scripts; and the
`chandler login` that they approve."""

import html.parser
import http.cookiejar
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

import harness

PASSWORD = "paraffin and twine"


class Person:
    """A person with a name and a password, who reads pages and fills in forms."""

    def __init__(self, name, password):
        self.name, self.password = name, password
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        self.url, self.text, self.forms = None, "", []

    def open(self, url, fields=None):
        """Reads a page. Returns its status."""
        data = None if fields is None else urllib.parse.urlencode(fields).encode()
        # A browser sends the origin of a form; some servers check it.
        origin = {"Origin": "/".join(self.url.split("/")[:3])} if self.url else {}
        request = urllib.request.Request(url, data, origin if data else {})
        try:
            answer = self.opener.open(request, timeout=harness.PATIENCE_S)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            page = Page()
            page.feed(answer.read().decode())
            self.url, self.text, self.forms = answer.url, " ".join(page.words), page.forms
            return answer.status

    def press(self, button, **typed):
        """Fills in fields, by a word of their labels, and presses a button; returns the status of
        the resulting page."""
        for form in self.forms:
            found = next((send for text, send in form.buttons if re.search(button, text, re.I)), None)
            if found is not None:
                break
        else:
            raise AssertionError(f"no button {button!r} on {self.url}: {self.text}")
        fields = dict(form.values)
        for word, value in typed.items():
            name = next((name for label, name in form.labels.items() if re.search(word, label, re.I)), None)
            assert name, f"no field {word!r} on {self.url}: {form.labels}"
            fields[name] = value
        fields.update([found] if found[0] else [])
        return self.open(urllib.parse.urljoin(self.url, form.action or self.url), fields)

    def sees(self, button):
        return any(re.search(button, text, re.I) for form in self.forms for text, _ in form.buttons)

    def decide(self, url, button):
        """From an address to the decision: types the code, signs in if needed, and decides."""
        self.open(url)
        for _ in range(4):
            if self.sees(button):
                return self.press(button)
            if any(label for form in self.forms for label in form.labels if re.search("password", label, re.I)):
                self.press("sign in", account=self.name, password=self.password)
            else:
                self.press("continue|next")
        raise AssertionError(f"no decision at {self.url}: {self.text}")


class Form:
    def __init__(self, action):
        self.action, self.values, self.labels, self.buttons = action, {}, {}, []


class Page(html.parser.HTMLParser):
    """The text and the forms of a page."""

    def __init__(self):
        super().__init__()
        self.words, self.forms = [], []
        self.label, self.button, self.by_id, self.ids = None, None, {}, {}

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        if tag == "form":
            self.forms.append(Form(of.get("action")))
        elif tag == "label":
            self.label = [of.get("for"), ""]
        elif tag == "input" and self.forms and of.get("name"):
            form = self.forms[-1]
            if of.get("type") == "submit":
                form.buttons.append((of.get("value", ""), (of["name"], of.get("value", ""))))
                return
            form.values[of["name"]] = of.get("value") or ""
            self.ids[of.get("id")] = of["name"]
            if self.label is not None and self.label[0] is None:
                self.by_id[id(self.label)] = (form, of["name"])
        elif tag == "button" and self.forms:
            self.button = [(of.get("name"), of.get("value", "")), ""]

    def handle_data(self, data):
        if data.strip():
            self.words.append(data.strip())
        if self.label is not None:
            self.label[1] += data
        if self.button is not None:
            self.button[1] += data

    def handle_endtag(self, tag):
        if tag == "label" and self.label is not None:
            target, text = self.label
            inside = self.by_id.get(id(self.label))
            if inside:
                inside[0].labels[text.strip()] = inside[1]
            elif self.forms:
                # The field may come after its label.
                self.forms[-1].labels[text.strip()] = target
            self.label = None
        elif tag == "button" and self.button is not None:
            self.forms[-1].buttons.append((self.button[1].strip(), self.button[0]))
            self.button = None
        elif tag == "form" and self.forms:
            form = self.forms[-1]
            form.labels = {text: self.ids.get(name, name) for text, name in form.labels.items()}


class Login:
    """`chandler login`, with an empty home folder."""

    def __init__(self, server, *options):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=harness.WORK))
        harness.atexit.register(shutil.rmtree, self.home, ignore_errors=True)
        command = ["timeout", str(harness.SERVER_LIFE_S), str(harness.BINARY), "login", "--server", server.url]
        command += ["--no-browser", *options]
        # All folders of the user are below their home.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        self.environment["HOME"] = str(self.home)
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment)
        # `timeout` forwards the signal.
        harness.atexit.register(self.process.terminate)
        self.output = []
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.process.stdout:
            self.output.append(line)

    def url(self):
        """The address that it shows, including the code."""
        def shown():
            found = re.search(r"https?://\S*user_code=\S+", "".join(self.output))
            assert found or self.process.poll() is None, self.output
            return found and found[0]
        return harness.wait_for(shown, lambda: f"an address in {self.output}")

    def result(self):
        code = self.process.wait(harness.PATIENCE_S)
        self.reader.join(harness.PATIENCE_S)
        self.process.stdout.close()
        return code, "".join(self.output)

    def chandler(self, *arguments):
        """Standard output of a command of the signed-in person, which must succeed."""
        command = [str(harness.BINARY), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=harness.PATIENCE_S, env=self.environment)
        assert ran.returncode == 0, f"{command}: {ran.stderr}"
        return ran.stdout

    def tokens(self):
        """The token files in the home, by client."""
        folder = self.home / ".longbridge/openapi/tokens"
        return {file.name: json.loads(file.read_text()) for file in folder.iterdir()} if folder.is_dir() else {}


def signed_in(server, name, *options, login=()):
    """A new account that has signed in by the device flow: the account, the login, and the client
    id."""
    account = server.account(name, *options)
    harness.chandler(server.store, "account", "password", name, input=f"{PASSWORD}\n")
    login = Login(server, *login)
    Person(name, PASSWORD).decide(login.url(), "approve")
    code, output = login.result()
    assert code == 0, output
    return account, login, re.search(r"client id\s+(\S+)", output)[1]
