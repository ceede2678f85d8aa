#!/usr/bin/env python3
"""Tests of packing with a small stand-in for the executable, quick enough for `make test`. `try.py` uses the real packages."""

import base64
import contextlib
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import contents
import elf
import pack

PROGRAM = '#include <stdio.h>\nint main(void) { puts("stand-in"); return 0; }\n'


def packed(folder, stand_in, extra, *more):
    with contextlib.redirect_stdout(io.StringIO()):
        return pack.main([f"--out={folder}", f"--executable={stand_in}", f"--extra={extra}", *more])


class Packing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.stand_in, cls.extra = cls.work / "stand-in", cls.work / "extra"
        subprocess.run(["cc", "-x", "c", "-o", cls.stand_in, "-"], input=PROGRAM, text=True, check=True)
        (cls.extra / "man").mkdir(parents=True)
        (cls.extra / "man/chandler.1").write_text(".TH chandler 1\n")
        for shell in contents.SHELLS:
            (cls.extra / f"chandler.{shell}").write_text(f"# {shell}\n")
        cls.out = cls.work / "out"
        assert packed(cls.out, cls.stand_in, cls.extra) is None
        cls.version = contents.Parts(cls.stand_in, cls.extra).version

    def one(self, pattern):
        found = list(self.out.glob(pattern))
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def runs(self, executable):
        ran = subprocess.run([executable], capture_output=True, text=True, check=True, env={})
        self.assertEqual(ran.stdout, "stand-in\n")

    def test_the_same_files_give_the_same_bytes(self):
        again = self.work / "again"
        os.utime(self.stand_in, (1, 1))
        self.assertIsNone(packed(again, self.stand_in, self.extra))
        for path in self.out.iterdir():
            self.assertEqual(path.read_bytes(), (again / path.name).read_bytes(), path.name)
        with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1000000000"):
            self.assertIsNone(packed(again, self.stand_in, self.extra))
        self.assertNotEqual((self.out / "SHA256SUMS").read_text(), (again / "SHA256SUMS").read_text())

    def test_the_checksums_are_those_of_the_packages(self):
        lines = [line.split("  ") for line in (self.out / "SHA256SUMS").read_text().splitlines()]
        self.assertEqual({name for _, name in lines}, {path.name for path in self.out.iterdir()} - {"SHA256SUMS"})
        self.assertEqual(len(lines), 4)
        for digest, name in lines:
            self.assertEqual(hashlib.sha256((self.out / name).read_bytes()).hexdigest(), digest)

    def test_one_package_made_again_leaves_the_checksums_of_the_others(self):
        again = self.work / "one-again"
        shutil.copytree(self.out, again)
        with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1000000000"):
            self.assertIsNone(packed(again, self.stand_in, self.extra, "deb"))
        before, after = ((folder / "SHA256SUMS").read_text().splitlines() for folder in (self.out, again))
        changed = {line.split("  ")[1] for line in set(after) - set(before)}
        self.assertEqual((len(after), changed), (4, {self.one("*.deb").name}))
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=again, check=True)

    def test_the_tarball_runs_from_where_it_is_unpacked(self):
        path = self.one("*.tar.gz")
        folder = self.work / "unpacked"
        with tarfile.open(path) as archive:
            for member in archive:
                self.assertEqual((member.uid, member.gid, member.uname), (0, 0, "root"), member.name)
        folder.mkdir()
        subprocess.run(["tar", "-xzf", path, "-C", folder], check=True)
        top = folder / path.name.removesuffix(".tar.gz")
        self.runs(top / "chandler")
        for name in ("README.md", "LICENSE", "docs/cli.md", "man/man1/chandler.1.gz", "completions/chandler.zsh", "systemd/chandler.service"):
            self.assertTrue((top / name).is_file(), name)

    def test_documents_hold_what_the_readme_links_to(self):
        names = {entry.name for entry in contents.documents("")}
        text = (contents.ROOT / "README.md").read_text()
        links = {part.split(")")[0].split("#")[0] for part in text.split("](")[1:]}
        links |= {part.split('"')[0] for key in ("src=", "srcset=") for part in text.split(key + '"')[1:]}
        missing = {link for link in links if link and "://" not in link and link not in names}
        self.assertEqual({link for link in missing if not (contents.ROOT / link).exists()}, set(), "links to nothing")
        self.assertEqual(missing, set())

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb on this machine")
    def test_the_debian_package_is_understood_by_dpkg(self):
        path = self.one("*.deb")

        def dpkg_deb(*arguments):
            return subprocess.run(["dpkg-deb", *arguments], capture_output=True, text=True, check=True).stdout

        self.assertEqual(dpkg_deb("--field", path, "Package", "Version"), f"Package: chandler\nVersion: {self.version}-1\n")
        self.assertRegex(dpkg_deb("--field", path, "Depends"), r"^libc6 \(>= 2\.\d+\), .*passwd$")
        folder = self.work / "debian"
        dpkg_deb("--raw-extract", path, folder)
        self.runs(folder / "usr/bin/chandler")
        sums = (folder / "DEBIAN/md5sums").read_text().splitlines()
        files = {path for path in folder.rglob("*") if path.is_file() and "DEBIAN" not in path.parts}
        self.assertEqual({folder / line.split("  ")[1] for line in sums}, files)
        for line in sums:
            digest, name = line.split("  ")
            self.assertEqual(hashlib.md5((folder / name).read_bytes()).hexdigest(), digest, name)
        for name in (folder / "DEBIAN/conffiles").read_text().split():
            self.assertTrue((folder / name.lstrip("/")).is_file(), name)
        for script in ("preinst", "postinst", "prerm", "postrm"):
            self.assertTrue(os.access(folder / "DEBIAN" / script, os.X_OK), script)
        for line in dpkg_deb("--contents", path).splitlines():
            self.assertEqual(line.split()[1], "root/root", line)

    def test_the_package_for_any_processor_does_not_look_for_avx2(self):
        plain = contents.Parts(self.stand_in, self.extra, baseline=True)
        self.assertNotIn("preinst", [script.name for script in contents.debian_scripts(plain)])

    def test_the_wheel_says_of_each_file_what_it_is(self):
        path = self.one("*.whl")
        self.assertRegex(path.name, rf"^chandler-{self.version}-py3-none-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            record = f"chandler-{self.version}.dist-info/RECORD"
            rows = list(csv.reader(archive.read(record).decode().splitlines()))
            self.assertEqual([row[0] for row in rows], names)
            for name, digest, size in rows[:-1]:
                data = archive.read(name)
                sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={sha}", str(len(data))), name)
            script = archive.getinfo(f"chandler-{self.version}.data/scripts/chandler")
            self.assertEqual(script.external_attr >> 16, 0o100755)
            self.assertEqual(archive.read(script), self.stand_in.read_bytes())
            tag = path.name.removesuffix(".whl").split("-", 2)[2]
            self.assertIn(f"Tag: {tag}\n", archive.read(f"chandler-{self.version}.dist-info/WHEEL").decode())

    def test_what_would_not_run_elsewhere_is_not_packed(self):
        said = packed(self.work / "none", self.stand_in, self.extra, "--tag=v0.0.0")
        self.assertIn("the tag v0.0.0 is not", said)
        text = self.work / "text"
        text.write_text("#!/bin/sh\n")
        self.assertIn("is no ELF file", packed(self.work / "none", text, self.extra))
        with mock.patch.object(elf, "GLIBC_MAX", (2, 1)):
            self.assertIn("newer than 2.1", packed(self.work / "none", self.stand_in, self.extra))
        with mock.patch.object(elf, "ALLOWED", set()):
            self.assertIn("which a plain Debian does not have", packed(self.work / "none", self.stand_in, self.extra))
        self.assertIn("no pages of the manual", str(self.refused_without_manual()))
        self.assertFalse((self.work / "none").exists())

    def test_packed_relocations_need_the_glibc_that_can_read_them(self):
        packed_relocations = self.work / "relr"
        command = ["cc", "-x", "c", "-Wl,-z,pack-relative-relocs", "-o", packed_relocations, "-"]
        made = subprocess.run(command, input=PROGRAM, text=True, capture_output=True, check=False)
        if made.returncode != 0 or made.stderr:
            self.skipTest("the linker does not pack relocations")
        self.assertEqual(elf.needs(packed_relocations).glibc, max((2, 36), elf.needs(self.stand_in).glibc))

    def refused_without_manual(self):
        parts = contents.Parts(self.stand_in, self.work / "nowhere")
        with self.assertRaises(FileNotFoundError) as refused:
            contents.tarball(parts)
        return refused.exception


if __name__ == "__main__":
    sys.exit(unittest.main())
