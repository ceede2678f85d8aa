"""The libraries and the glibc version that an executable needs, read from its ELF headers."""

import struct
from dataclasses import dataclass
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}
# Libraries of every Debian system. Any other would be an undeclared dependency.
ALLOWED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1",
           "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# Debian 12.
GLIBC_MAX = (2, 36)

DYNAMIC, VERSIONS_NEEDED, NEEDED = 6, 0x6FFFFFFE, 1


class Unfit(Exception):
    """The executable would not run on a supported system."""


@dataclass(frozen=True)
class Needs:
    machine: str
    libraries: tuple
    glibc: tuple

    def check(self):
        foreign = sorted(set(self.libraries) - ALLOWED)
        if foreign:
            raise Unfit(f"needs {', '.join(foreign)}, which a plain Debian does not have")
        if self.glibc > GLIBC_MAX:
            raise Unfit(f"needs glibc {dotted(self.glibc)}, newer than {dotted(GLIBC_MAX)}: build it on Debian 12")


def dotted(version):
    return ".".join(map(str, version))


def needs(path):
    """Reads a dynamically linked ELF file of 64 bits, little-endian."""
    data = Path(path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise Unfit(f"{path} is no ELF file of 64 bits, little-endian")
    machine = struct.unpack_from("<H", data, 18)[0]
    if machine not in MACHINES:
        raise Unfit(f"{path} is for a machine that is not known here ({machine})")
    sections = section_headers(data)
    libraries, glibc = [], []
    for kind, offset, size, link in sections:
        if kind not in (DYNAMIC, VERSIONS_NEEDED):
            continue
        names = sections[link][1]
        if kind == DYNAMIC:
            for at in range(offset, offset + size, 16):
                tag, value = struct.unpack_from("<qQ", data, at)
                if tag == NEEDED:
                    libraries.append(text(data, names + value))
        else:
            glibc += glibc_versions(data, offset, names)
    if not glibc:
        raise Unfit(f"{path} names no version of glibc: it is linked statically or against another libc")
    return Needs(MACHINES[machine], tuple(libraries), max(glibc))


def section_headers(data):
    """Kind, offset, size and link of each section."""
    start, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = []
    for place in range(count):
        _, kind, _, _, offset, length, link = struct.unpack_from("<IIQQQQI", data, start + place * size)
        headers.append((kind, offset, length, link))
    return headers


def glibc_versions(data, at, names):
    """The versions of glibc's symbols that are used: a list of lists, each with its own offsets."""
    while True:
        _, count, _, first, after = struct.unpack_from("<HHIII", data, at)
        entry = at + first
        for _ in range(count):
            _, _, _, name, following = struct.unpack_from("<IHHII", data, entry)
            version = text(data, names + name)
            # Packed relative relocations, which have no versioned symbol.
            if version == "GLIBC_ABI_DT_RELR":
                yield (2, 36)
            if version.startswith("GLIBC_2."):
                yield tuple(map(int, version.removeprefix("GLIBC_").split(".")))
            entry += following
        if after == 0:
            return
        at += after


def text(data, at):
    return data[at:data.index(b"\0", at)].decode()
