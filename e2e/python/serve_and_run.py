"""Runs a command with a server for it; the address and accounts are in the environment."""

import os
import subprocess
import sys

import harness
import person

server = harness.Server()
accounts = {
    "": server.generous(),
    "HK_": server.account("hong kong alone", "--markets", "HK", "--rate", "unlimited"),
    "THREE_": server.account("three", "--quota", "3", "--rate", "unlimited"),
}
environment = {**os.environ, **accounts[""]["environment"]}
environment.update({
    "CHANDLER_E2E_BINARY": str(harness.BINARY), "CHANDLER_E2E_SCENARIOS": str(harness.SCENARIOS),
    "CHANDLER_STORE": harness.store_argument(server.store), "CHANDLER_CLOCK": harness.NOW,
})
for prefix, account in accounts.items():
    for name in ("app_key", "app_secret", "access_token"):
        environment[f"E2E_{prefix}{name.upper()}"] = account[name]
# And a login: a home folder with a token file.
terms = ("--rate", "unlimited", "--quota", "1000")
_, login, environment["E2E_CLIENT_ID"] = person.signed_in(server, "by token file", *terms)
environment["HOME"] = str(login.home)
code = subprocess.run(sys.argv[1:], env=environment, cwd=harness.ROOT, timeout=harness.SERVER_LIFE_S).returncode
stopped = server.stop()
sys.exit(code or stopped)
