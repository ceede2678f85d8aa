"""What each package holds."""

import textwrap
import tomllib
from pathlib import Path

import archive
import elf
from archive import Entry

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = "Self-hosted securities history service for public SDKs"
DESCRIPTION = """\
Imports candles from files, keeps them as compressed blocks, and serves them \
over WebSocket, TCP and HTTP to public SDKs. An independent implementation, \
not affiliated with any broker or data vendor."""
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
SHELLS = ("bash", "zsh", "fish")


class Parts:
    """The executable, what it says about itself (`extra`), and the files of the source tree."""

    def __init__(self, executable, extra, baseline=False):
        self.executable = Path(executable).read_bytes()
        self.needs = elf.needs(executable)
        self.needs.check()
        self.extra = Path(extra)
        # Built for any processor of its kind, not for those with AVX2 alone.
        self.baseline = baseline
        self.version = source_version()

    def manual(self):
        pages = sorted((self.extra / "man").glob("*.1"))
        if not pages:
            raise FileNotFoundError(f"no pages of the manual in {self.extra / 'man'}")
        return [(page.name + ".gz", archive.gz(page.read_bytes())) for page in pages]

    def completion(self, shell):
        return (self.extra / f"chandler.{shell}").read_bytes()


def source_version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def source(path):
    return (ROOT / path).read_bytes()


def documents(prefix):
    """The README and what it links to, in the folders that it names."""
    paths = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "bench/README.md", "bench/HISTORY.md")]
    paths += sorted(path for path in (ROOT / "docs").rglob("*") if path.is_file())
    return [Entry(prefix + path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in paths]


def tarball(parts):
    """One folder; the executable in it runs from wherever it is unpacked."""
    entries = documents("")
    entries.append(Entry("chandler", parts.executable, 0o755))
    entries += [Entry(f"man/man1/{name}", data) for name, data in parts.manual()]
    entries += [Entry(f"completions/chandler.{shell}", parts.completion(shell)) for shell in SHELLS]
    for path in sorted((ROOT / "packaging/systemd").iterdir()):
        entries.append(Entry(f"systemd/{path.name}", path.read_bytes()))
    return entries


def tarball_name(parts):
    return f"chandler-{parts.version}-linux-{parts.needs.machine}"


def debian_data(parts):
    doc = "usr/share/doc/chandler/"
    # Debian has the licence, and the changelog under a name of its own.
    entries = [entry for entry in documents(doc) if entry.name not in (doc + "LICENSE", doc + "CHANGELOG.md")]
    entries += [
        Entry("usr/bin/chandler", parts.executable, 0o755),
        Entry("etc/chandler/chandler.toml", source("docs/chandler.toml")),
        Entry("usr/lib/sysusers.d/chandler.conf", source("packaging/systemd/chandler.sysusers")),
        Entry("usr/lib/tmpfiles.d/chandler.conf", source("packaging/systemd/chandler.tmpfiles")),
        Entry("usr/share/bash-completion/completions/chandler", parts.completion("bash")),
        Entry("usr/share/zsh/vendor-completions/_chandler", parts.completion("zsh")),
        Entry("usr/share/fish/vendor_completions.d/chandler.fish", parts.completion("fish")),
        Entry(doc + "changelog.gz", archive.gz(source("CHANGELOG.md"))),
        Entry(doc + "changelog.Debian.gz", archive.gz(source("packaging/deb/changelog"))),
        Entry(doc + "copyright", b"Copyright: 2026, The Chandler contributors\n\n" + source("packaging/deb/license")),
    ]
    for unit in ("chandler.service", "chandler-backup.service", "chandler-backup.timer"):
        entries.append(Entry(f"usr/lib/systemd/system/{unit}", source(f"packaging/systemd/{unit}")))
    for example in ("nginx.conf", "nginx-stream.conf", "Caddyfile", "haproxy.cfg"):
        entries.append(Entry(f"{doc}examples/{example}", source(f"packaging/proxy/{example}")))
    # Several nodes on PostgreSQL.
    entries.append(Entry(f"{doc}examples/haproxy-nodes.cfg", source("packaging/nodes/haproxy.cfg")))
    entries.append(Entry(f"{doc}examples/node.conf", source("packaging/systemd/node.conf")))
    entries += [Entry(f"usr/share/man/man1/{name}", data) for name, data in parts.manual()]
    return entries


def debian_control(parts, data):
    size = sum((len(entry.data) + 1023) // 1024 for entry in data) + len(archive.folders(data))
    libraries = [f"libc6 (>= {elf.dotted(parts.needs.glibc)})"]
    if "libgcc_s.so.1" in parts.needs.libraries:
        libraries.append("libgcc-s1 (>= 4.2)")
    text = "\n".join(" " + line for line in textwrap.wrap(DESCRIPTION, 76))
    return f"""\
Package: chandler
Version: {debian_version(parts)}
Architecture: {DEBIAN[parts.needs.machine]}
Section: net
Priority: optional
Maintainer: The Chandler contributors <chandler@localhost.localdomain>
Installed-Size: {size}
Depends: {', '.join([*libraries, 'passwd'])}
Recommends: ca-certificates
Description: {SUMMARY}
{text}
"""


def debian_version(parts):
    return f"{parts.version}-1"


def debian_name(parts):
    return f"chandler_{debian_version(parts)}_{DEBIAN[parts.needs.machine]}.deb"


def debian_scripts(parts):
    names = ["postinst", "postrm", "preinst", "prerm"]
    if parts.baseline or parts.needs.machine != "x86_64":
        # It looks for AVX2.
        names.remove("preinst")
    return [Entry(name, source(f"packaging/deb/{name}"), 0o755) for name in names]


def wheel_tag(parts):
    return f"py3-none-manylinux_{'_'.join(map(str, parts.needs.glibc))}_{parts.needs.machine}"


def wheel(parts):
    """The executable as a script, which pip puts beside the interpreter; there is no module."""
    info = f"chandler-{parts.version}.dist-info/"
    metadata = f"""\
Metadata-Version: 2.1
Name: chandler
Version: {parts.version}
Summary: {SUMMARY}
License: Apache-2.0
Requires-Python: >=3.8
Description-Content-Type: text/plain

{DESCRIPTION}

Installs one executable, `chandler`. It needs nothing else of Python.
"""
    kind = f"Wheel-Version: 1.0\nGenerator: chandler\nRoot-Is-Purelib: false\nTag: {wheel_tag(parts)}\n"
    return [
        Entry(f"chandler-{parts.version}.data/scripts/chandler", parts.executable, 0o755),
        Entry(info + "METADATA", metadata.encode()),
        Entry(info + "WHEEL", kind.encode()),
        Entry(info + "licenses/LICENSE", source("LICENSE")),
    ]
