"""Reproducible archives: sorted names, one time stamp, owned by root."""

import base64
import gzip
import hashlib
import io
import lzma
import tarfile
import time
import zipfile
from dataclasses import dataclass

# The earliest time that a zip file can store.
EARLIEST = 315_532_800


@dataclass(frozen=True)
class Entry:
    name: str
    data: bytes
    mode: int = 0o644


def tar(entries, at, prefix=""):
    """A tar file with its folders, as bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for folder in folders(entries):
            info = member(prefix + folder, 0o755, at)
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
        for entry in sorted(entries, key=lambda entry: entry.name):
            info = member(prefix + entry.name, entry.mode, at)
            info.size = len(entry.data)
            archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def member(name, mode, at):
    info = tarfile.TarInfo(name)
    info.mode, info.mtime, info.uid, info.gid, info.uname, info.gname = mode, at, 0, 0, "root", "root"
    return info


def folders(entries):
    """All folders of the entries, each before its content."""
    found = set()
    for entry in entries:
        parts = entry.name.split("/")[:-1]
        found.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return sorted(found)


def gz(data):
    return gzip.compress(data, compresslevel=9, mtime=0)


def xz(data):
    return lzma.compress(data, preset=6)


def ar(parts, at):
    """The container of a Debian package."""
    out = [b"!<arch>\n"]
    for name, data in parts:
        out.append(f"{name:<16}{at:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode())
        out.append(data + b"\n" * (len(data) % 2))
    return b"".join(out)


def wheel_zip(entries, record_name, at):
    """A zip file that ends with a record of its entries."""
    rows, out = [], io.BytesIO()
    when = time.gmtime(max(at, EARLIEST))[:6]
    entries = sorted(entries, key=lambda entry: entry.name)
    for entry in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode()
        rows.append(f"{entry.name},sha256={digest},{len(entry.data)}\n")
    record = Entry(record_name, "".join([*rows, f"{record_name},,\n"]).encode())
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for entry in [*entries, record]:
            info = zipfile.ZipInfo(entry.name, when)
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            info.external_attr = (0o100000 | entry.mode) << 16
            archive.writestr(info, entry.data)
    return out.getvalue()
