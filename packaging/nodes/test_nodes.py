#!/usr/bin/env python3
"""Checks the files of this folder and of packaging/docker without Docker, quickly enough for `make test`. `try.py` runs the nodes."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    yaml = None

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPOSE = (HERE / "compose.yaml", ROOT / "packaging/docker/compose.yaml")


def services(path):
    return yaml.safe_load(path.read_text())["services"]


def backend(path, name):
    """The lines of a backend, without the servers and their addresses."""
    lines = re.search(rf"^backend {name}\n(.*?)(?=^\w|\Z)", path.read_text(), re.MULTILINE | re.DOTALL)[1].splitlines()
    lines = [re.sub(r" resolvers docker init-addr libc,none", "", line.strip()) for line in lines]
    return [line for line in lines if line and not line.startswith(("#", "server "))]


class Proxy(unittest.TestCase):
    def test_both_files_treat_nodes_alike(self):
        for name in ("nodes", "nodes_tcp"):
            self.assertEqual(backend(HERE / "haproxy.cfg", name), backend(HERE / "haproxy.compose.cfg", name))

    def test_requests_that_change_something_are_not_sent_twice(self):
        for path in (HERE / "haproxy.cfg", HERE / "haproxy.compose.cfg"):
            self.assertIn("http-request disable-l7-retry unless { method GET HEAD }", backend(path, "nodes"))

    @unittest.skipUnless(shutil.which("haproxy", path="/usr/sbin:/usr/bin"), "no haproxy on this machine")
    def test_haproxy_accepts_them(self):
        with tempfile.TemporaryDirectory() as folder:
            made = f"{folder}/cert.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=try", "-keyout", made,
                            "-out", f"{folder}/c"], check=True, capture_output=True)
            Path(made).write_text(Path(f"{folder}/c").read_text() + Path(made).read_text())
            for name in ("haproxy.cfg", "haproxy.compose.cfg"):
                text = re.sub(r"/etc/haproxy/certs/\S+", made, (HERE / name).read_text())
                Path(f"{folder}/{name}").write_text(text)
                haproxy = shutil.which("haproxy", path="/usr/sbin:/usr/bin")
                done = subprocess.run([haproxy, "-c", "-f", f"{folder}/{name}"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)


@unittest.skipUnless(yaml, "no yaml module for this Python")
class Compose(unittest.TestCase):
    def test_references_exist(self):
        for path in COMPOSE:
            whole = yaml.safe_load(path.read_text())
            for name, service in whole["services"].items():
                self.assertLessEqual(set(service.get("depends_on", ())), set(whole["services"]), name)
                for key in ("networks", "secrets"):
                    self.assertLessEqual(set(service.get(key, ())), set(whole.get(key, ())), name)
                for volume in service.get("volumes", ()):
                    source = volume.split(":")[0]
                    if source.startswith("./"):
                        # The folder of files is the operator's; all others are in the source tree.
                        self.assertTrue(source == "./files" or (path.parent / source).exists(), volume)
                    else:
                        self.assertIn(source, whole["volumes"], name)
                if "build" in service:
                    self.assertTrue((path.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists(), name)
                else:
                    self.assertRegex(service["image"], r":\d+(\.\d+)*(-\w+)?$", "an image without a version")

    def test_settings_are_known(self):
        known = set(re.findall(r"CHANDLER_\w+", (ROOT / "docs/chandler.toml").read_text())) | {"CHANDLER_STORE"}
        for path in COMPOSE:
            for service in services(path).values():
                named = {name for name in service.get("environment", ()) if name.startswith("CHANDLER_")}
                self.assertLessEqual(named, known)

    def test_published_ports_are_on_loopback(self):
        for path in COMPOSE:
            for name, service in services(path).items():
                for port in service.get("ports", ()):
                    self.assertTrue(port.startswith("127.0.0.1:"), f"{name}: {port}")

    def test_nodes_share_the_key_but_not_their_caches(self):
        nodes = [services(HERE / "compose.yaml")[name]["environment"] for name in ("one", "two")]
        for key in ("CHANDLER_STORE", "CHANDLER_KEY_FILE"):
            self.assertEqual(nodes[0][key], nodes[1][key])
        for key in ("CHANDLER_CACHE", "CHANDLER_NODE_NAME"):
            self.assertNotEqual(nodes[0][key], nodes[1][key])

    def test_no_file_contains_a_password(self):
        for path in COMPOSE:
            for service in services(path).values():
                for name, value in service.get("environment", {}).items():
                    self.assertTrue("PASSWORD" not in name or name.endswith("_FILE"), name)
                    self.assertNotRegex(str(value), r"postgres://[^@/]*:[^@/]*@")

    def test_a_node_has_time_to_stop(self):
        for path in COMPOSE:
            for name, service in services(path).items():
                if "build" in service:
                    self.assertGreater(int(service["stop_grace_period"].removesuffix("s")), 10, name)


if __name__ == "__main__":
    if yaml is None:
        print("packaging: compose files NOT CHECKED: this Python has no module yaml", file=sys.stderr)
    unittest.main()
