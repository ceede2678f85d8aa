#!/usr/bin/env python3
"""Tests of the install script with a stand-in for the executable, from a folder and from a server on loopback."""

import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import contents
import pack
from test_pack import packed

PROGRAM = '#include <stdio.h>\nint main(void) { puts("chandler 1.2.3"); return 0; }\n'
BROKEN = '#include <stdio.h>\nint main(void) { fputs("cannot run here\\n", stderr); return 1; }\n'


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Installing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packed = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.pack("release", PROGRAM)
        cls.pack("broken", BROKEN)

    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.home = self.work / "home"
        self.home.mkdir()
        self.release = shutil.copytree(self.packed / "release", self.work / "release")

    @classmethod
    def pack(cls, name, program):
        """A release of which only the tarball is packed, with this program as its executable."""
        stand_in, extra = cls.packed / f"{name}-program", cls.packed / "extra"
        subprocess.run(["cc", "-x", "c", "-o", stand_in, "-"], input=program, text=True, check=True)
        (extra / "man").mkdir(parents=True, exist_ok=True)
        (extra / "man/chandler.1").write_text(".TH chandler 1\n")
        for shell in contents.SHELLS:
            (extra / f"chandler.{shell}").write_text(f"# {shell}\n")
        assert packed(cls.packed / name, stand_in, extra, "tar") is None

    def install(self, release=None, script=None, **environment):
        """Runs the script as `curl … | sh` does, from standard input."""
        text = (script or self.release / "install.sh").read_text()
        environment = {"HOME": str(self.home), "PATH": os.defpath, **environment}
        if release is not None:
            environment["CHANDLER_RELEASE"] = str(release)
        return subprocess.run(["sh"], input=text, env=environment, cwd=self.work, capture_output=True, text=True, check=False)

    def refused(self, words, **arguments):
        ran = self.install(**arguments)
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn(words, ran.stderr)
        self.assertEqual(list(self.home.rglob("*")), [], "nothing is installed")

    def served(self, folder):
        """The address of a server of a folder, which ends with the test."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def check_installed(self, prefix):
        ran = subprocess.run([prefix / "bin/chandler"], capture_output=True, text=True, check=True, env={})
        self.assertEqual(ran.stdout, "chandler 1.2.3\n")
        for name in (
            "share/man/man1/chandler.1.gz",
            "share/bash-completion/completions/chandler",
            "share/zsh/site-functions/_chandler",
            "share/fish/vendor_completions.d/chandler.fish",
        ):
            self.assertTrue((prefix / name).is_file(), name)
        self.assertEqual(list(prefix.rglob("*.new*")), [])

    def test_a_release_is_installed_into_the_home_folder(self):
        ran = self.install(self.release)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn(f"chandler 1.2.3 is installed: {self.home}/.local/bin/chandler\n", ran.stdout)
        self.assertIn("is not in PATH", ran.stdout)
        self.check_installed(self.home / ".local")

    @unittest.skipUnless(shutil.which("curl") or shutil.which("wget"), "neither curl nor wget on this machine")
    def test_a_release_is_downloaded_and_replaces_an_older_program(self):
        prefix = self.work / "own"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin/chandler").write_text("an older one")
        path = f"{prefix}/bin:{os.defpath}"
        ran = self.install(self.served(self.release) + "/", CHANDLER_PREFIX=str(prefix), PATH=path)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertNotIn("is not in PATH", ran.stdout)
        self.check_installed(prefix)

    def test_the_script_of_a_release_knows_its_address(self):
        address = self.served(self.release)
        script = self.work / "install.sh"
        script.write_bytes(contents.install_script(address))
        if shutil.which("curl") or shutil.which("wget"):
            self.assertEqual(self.install(script=script).returncode, 0)
            self.check_installed(self.home / ".local")
        for wrong in ("ftp://host/x", "https://host/'; rm -rf /", "https://host/$(x)"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=wrong):
                pack.release_url(wrong)

    def test_a_changed_package_is_not_installed(self):
        package = next(self.release.glob("*.tar.gz"))
        package.write_bytes(package.read_bytes() + b"x")
        self.refused("the checksum of chandler-", release=self.release)

    def test_a_program_that_does_not_run_here_is_not_installed(self):
        self.refused("cannot run here", release=self.packed / "broken")

    def test_an_incomplete_release_is_refused(self):
        self.refused("set CHANDLER_RELEASE to the address of a release")
        self.refused(f"cannot get {self.work}/nowhere/SHA256SUMS", release=self.work / "nowhere")
        sums = self.release / "SHA256SUMS"
        lines = sums.read_text().splitlines(keepends=True)
        sums.write_text("".join(line for line in lines if ".tar.gz" not in line))
        self.refused("has no package for", release=self.release)
        package = next(self.release.glob("*.tar.gz"))
        sums.write_text("".join(lines))
        package.unlink()
        self.refused(f"cannot get {package}", release=self.release)

    def test_another_system_is_refused(self):
        programs = self.work / "programs"
        programs.mkdir()
        (programs / "uname").write_text("#!/bin/sh\necho Darwin\n")
        (programs / "uname").chmod(0o755)
        self.refused("for Linux only", release=self.release, PATH=f"{programs}:{os.defpath}")

    def test_an_interrupted_download_of_the_script_does_nothing(self):
        whole = (self.release / "install.sh").read_text()
        part = self.work / "part.sh"
        part.write_text(whole[: whole.rindex("main")])
        ran = self.install(self.release, script=part)
        self.assertEqual((ran.stdout, list(self.home.rglob("*"))), ("", []))


if __name__ == "__main__":
    sys.exit(unittest.main())
