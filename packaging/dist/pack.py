#!/usr/bin/env python3
"""Packs the executable: a tarball, a package for Debian and Ubuntu, a wheel for pip, and their checksums; and the script that
installs the tarball.

    pack.py [--out DIR] [--executable FILE] [--extra DIR] [--baseline] [--tag vX.Y.Z] [--url URL] [tar] [deb] [wheel]

`make dist` builds the input. Only Python's standard library is used, and the output is reproducible.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import archive
import contents
import elf
from archive import Entry

KINDS = ("tar", "deb", "wheel")


def main(arguments=None):
    options = parse(arguments)
    try:
        parts = contents.Parts(options.executable, options.extra, options.baseline)
    except (elf.Unfit, OSError) as wrong:
        return f"pack.py: {wrong}"
    if options.tag is not None and options.tag != f"v{parts.version}":
        return f"pack.py: the tag {options.tag} is not v{parts.version}, the version in Cargo.toml"
    options.out.mkdir(parents=True, exist_ok=True)
    sums = {}
    for name, data in made(parts, options.kinds or KINDS, source_time(), options.url or ""):
        (options.out / name).write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
        print(f"{options.out / name}  {len(data) / 1e6:.1f} MB")
    write_sums(options.out / "SHA256SUMS", sums)
    needs = parts.needs
    print(f"for {needs.machine} with glibc {elf.dotted(needs.glibc)} or newer; shared libraries: {', '.join(needs.libraries)}")
    return None


def write_sums(path, sums):
    """In the format of `sha256sum --check`. `make deb` after `make dist` changes one line; the others remain."""
    lines = path.read_text().splitlines() if path.exists() else []
    earlier = {name: digest for digest, name in (line.split("  ", 1) for line in lines) if (path.parent / name).exists()}
    path.write_text("".join(f"{digest}  {name}\n" for name, digest in {**earlier, **sums}.items()))


def parse(arguments):
    target = contents.ROOT / "target"
    parser = argparse.ArgumentParser(description="Packs the executable.")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], metavar="tar|deb|wheel", help="all three without any")
    parser.add_argument("--out", type=Path, default=target / "dist")
    parser.add_argument("--executable", type=Path, default=target / "release/package/chandler")
    parser.add_argument("--extra", type=Path, default=target / "release/package", help="the folder of manual and completions")
    parser.add_argument("--baseline", action="store_true", help="the executable runs on processors without AVX2")
    parser.add_argument("--url", type=release_url, help="address of the release, which the install script uses by default")
    parser.add_argument("--tag", help="fail unless it names the packed version")
    return parser.parse_args(arguments)


def release_url(text):
    """An address that can be written into a shell script."""
    if not re.fullmatch(r"https?://[A-Za-z0-9._~:/@%+-]+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the address of a release")
    return text


def made(parts, kinds, at, url):
    """Name and bytes of each package."""
    if "tar" in kinds:
        name = contents.tarball_name(parts)
        yield f"{name}.tar.gz", archive.gz(archive.tar(contents.tarball(parts), at, prefix=f"{name}/"))
        yield "install.sh", contents.install_script(url)
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
    """The time stamp of all files in the archives: SOURCE_DATE_EPOCH, or the time of the commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    ran = subprocess.run(["git", "-C", contents.ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(ran.stdout) if ran.returncode == 0 and ran.stdout.strip() else archive.EARLIEST


if __name__ == "__main__":
    sys.exit(main())
