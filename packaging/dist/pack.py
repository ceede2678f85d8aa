#!/usr/bin/env python3
"""Packs the executable: a tarball, a package for Debian and Ubuntu, a wheel for pip, and their checksums.

    pack.py [--out DIR] [--executable FILE] [--extra DIR] [--baseline] [--tag vX.Y.Z] [tar] [deb] [wheel]

`make dist` builds what is packed. Nothing but Python's own library is used, and the same files give the same bytes.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import archive
import contents
import elf
from archive import Entry

KINDS = ("tar", "deb", "wheel")


def main(arguments=None):
    asked = parse(arguments)
    try:
        parts = contents.Parts(asked.executable, asked.extra, asked.baseline)
    except (elf.Unfit, OSError) as wrong:
        return f"pack.py: {wrong}"
    if asked.tag is not None and asked.tag != f"v{parts.version}":
        return f"pack.py: the tag {asked.tag} is not v{parts.version}, the version in Cargo.toml"
    asked.out.mkdir(parents=True, exist_ok=True)
    sums = {}
    for name, data in made(parts, asked.kinds or KINDS, source_time()):
        (asked.out / name).write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
        print(f"{asked.out / name}  {len(data) / 1e6:.1f} MB")
    write_sums(asked.out / "SHA256SUMS", sums)
    needs = parts.needs
    print(f"for {needs.machine} with glibc {elf.dotted(needs.glibc)} or newer; shared libraries: {', '.join(needs.libraries)}")
    return None


def write_sums(path, sums):
    """In the form that `sha256sum --check` reads. `make deb` after `make dist` changes one line: the others are still there."""
    lines = path.read_text().splitlines() if path.exists() else []
    earlier = {name: digest for digest, name in (line.split("  ", 1) for line in lines) if (path.parent / name).exists()}
    path.write_text("".join(f"{digest}  {name}\n" for name, digest in {**earlier, **sums}.items()))


def parse(arguments):
    target = contents.ROOT / "target"
    parser = argparse.ArgumentParser(description="Packs the executable.")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], metavar="tar|deb|wheel", help="all three without any")
    parser.add_argument("--out", type=Path, default=target / "dist")
    parser.add_argument("--executable", type=Path, default=target / "release/package/chandler")
    parser.add_argument("--extra", type=Path, default=target / "release/package", help="where manual and completions are")
    parser.add_argument("--baseline", action="store_true", help="the executable runs on processors without AVX2")
    parser.add_argument("--tag", help="fail unless it names the version that is packed")
    return parser.parse_args(arguments)


def made(parts, kinds, at):
    """Name and bytes of each package."""
    if "tar" in kinds:
        name = contents.tarball_name(parts)
        yield f"{name}.tar.gz", archive.gz(archive.tar(contents.tarball(parts), at, prefix=f"{name}/"))
    if "deb" in kinds:
        yield contents.debian_name(parts), deb(parts, at)
    if "wheel" in kinds:
        record = f"chandler-{parts.version}.dist-info/RECORD"
        name = f"chandler-{parts.version}-{contents.wheel_tag(parts)}.whl"
        yield name, archive.wheel_zip(contents.wheel(parts), record, at)


def deb(parts, at):
    data = contents.debian_data(parts)
    sums = "".join(f"{hashlib.md5(entry.data, usedforsecurity=False).hexdigest()}  {entry.name}\n"
                   for entry in sorted(data, key=lambda entry: entry.name))
    control = [
        Entry("control", contents.debian_control(parts, data).encode()),
        Entry("conffiles", b"/etc/chandler/chandler.toml\n"),
        Entry("md5sums", sums.encode()),
        *contents.debian_scripts(parts),
    ]
    return archive.ar([
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", archive.xz(archive.tar(control, at, prefix="./"))),
        ("data.tar.xz", archive.xz(archive.tar(data, at, prefix="./"))),
    ], at)


def source_time():
    """The time that all files in the archives have: that of the commit, or what SOURCE_DATE_EPOCH says."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    told = subprocess.run(["git", "-C", contents.ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(told.stdout) if told.returncode == 0 and told.stdout.strip() else archive.EARLIEST


if __name__ == "__main__":
    sys.exit(main())
