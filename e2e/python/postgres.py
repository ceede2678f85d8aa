"""Real PostgreSQL servers on loopback: made, killed, promoted, and gone with the process that asked for them.

They run as an ordinary user, each in a folder of its own under one that is removed at the end. A guard outside of this process sees
to it, also if this process is killed."""

import atexit
import functools
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

import harness

# What ends all servers below a folder once standard input ends: the other end of that pipe is this process alone.
GUARD = """
trap '' INT TERM HUP
read -r _
for file in "$1"/*/postmaster.pid; do
    [ ! -f "$file" ] || kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
done
# They end at once; what they were about to write must not come after the folder is gone.
for try in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf "$1" 2>/dev/null && break
    sleep 0.2
done
"""


@functools.cache
def programs():
    """The folder of the server's programs, of the newest version there is."""
    places = [pathlib.Path(os.environ[name]) for name in ("CHANDLER_TEST_POSTGRES",) if name in os.environ]
    debian = [bin for bin in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if bin.parent.name.isdigit()]
    places += sorted(debian, key=lambda bin: -int(bin.parent.name))
    if found := shutil.which("initdb"):
        places.append(pathlib.Path(found).parent)
    for place in places:
        if (place / "initdb").is_file():
            return place
    raise AssertionError("no PostgreSQL server is installed, and these tests need one: ./setup.sh --test")


@functools.cache
def user():
    """Whom they run as, for `subprocess`: it refuses to run as root."""
    if os.getuid() != 0:
        return {}
    names = [one.pw_name for one in pwd.getpwall()]
    found = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


@functools.cache
def folder():
    """The folder of all servers of this process, guarded."""
    # Not below the source tree: whom the servers run as may not be let in there.
    made = pathlib.Path(tempfile.mkdtemp(prefix="chandler-postgres-"))
    if user():
        os.chown(made, user()["user"], user()["group"])
    guard = subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "guard", str(made)], stdin=subprocess.PIPE, start_new_session=True, cwd="/", **user())

    def end():
        guard.stdin.close()
        # Gigabytes may have to be removed.
        guard.wait(10 * harness.PATIENCE_S)

    atexit.register(end)
    return made


def environment():
    """Nothing of whoever runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def run(program, *words, codes=(0,), timeout_s=120):
    """One of the server's programs; what it says."""
    command = [str(programs() / program), *map(str, words)]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, cwd="/", stdin=subprocess.DEVNULL, env=environment(), **user())
    if ran.returncode not in codes:
        raise AssertionError(f"{command}: {ran.returncode}: {ran.stderr}")
    return ran.stdout


class Refused(Exception):
    """A statement that the server has not done."""


class Postgres:
    """A server. It stands until the test ends it, or with this process."""

    numbers = iter(range(1, 1 << 30))

    def __init__(self, settings=None, initdb=("-E", "UTF8", "--locale=C")):
        self.make_folder()
        run("initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "-k", "--no-sync", *initdb)
        self.configure({"wal_log_hints": "on", "wal_keep_size": "512MB", "max_wal_size": "512MB", "max_connections": "200", **(settings or {})})
        self.start()

    def make_folder(self):
        self.name = f"s{next(Postgres.numbers)}"
        self.data = folder() / self.name
        self.port = harness.free_port()

    def configure(self, settings):
        """Settings that the next start reads."""
        settings = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": folder(), "cluster_name": self.name,
            **settings}
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(lines)

    def start(self):
        """Starts it where it was. After a crash its last processes may still be about to end."""
        def started():
            code = subprocess.run(
                [str(programs() / "pg_ctl"), "-D", str(self.data), "-w", "-t", "60", "-l", str(folder() / f"{self.name}.log"), "start"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", env=environment(), **user(),
            ).returncode
            return code == 0

        harness.wait_for(started, self.log)
        return self

    def log(self):
        lines = (folder() / f"{self.name}.log").read_text().splitlines()
        return "a server: " + " | ".join(lines[-5:])

    def pid(self):
        return int((self.data / "postmaster.pid").read_text().splitlines()[0])

    def is_running(self):
        try:
            os.kill(self.pid(), 0)
            return True
        except (FileNotFoundError, ProcessLookupError):
            return False

    def stop(self, mode="fast"):
        """`fast` ends its connections and writes everything down; `immediate` is a crash that the server knows of."""
        run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "60", "stop")

    def remove(self):
        """Ends it, if it runs, and takes its data away."""
        if self.is_running():
            self.stop("immediate")
        shutil.rmtree(self.data)

    def kill(self):
        """Ends it as a crash would, and waits until the last of its processes has noticed."""
        pid = self.pid()
        below = [pid, *children(pid)]
        os.kill(pid, signal.SIGKILL)
        harness.wait_for(lambda: not any(is_alive(one) for one in below), "the end of a killed server")

    def sql(self, statements, database="postgres", user="postgres"):
        """The rows of the last statement, as lists of texts."""
        command = [str(programs() / "psql"), "-X", "-q", "-A", "-t", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]
        command += ["-p", str(self.port), "-U", user, "-d", database, "-c", statements]
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=harness.PATIENCE_S * 4, cwd="/", stdin=subprocess.DEVNULL,
            env=environment())
        if ran.returncode != 0:
            raise Refused(ran.stderr.strip())
        return [line.split("\x1f") for line in ran.stdout.splitlines()]

    def value(self, statement, database="postgres"):
        return self.sql(statement, database)[0][0]

    def database(self, name, terms=""):
        """A new database, and its address."""
        self.sql(f'create database "{name}" {terms}')
        return self.url(name)

    def url(self, database="postgres", user="postgres", password=None, port=None, **options):
        """The address as `--store` takes it."""
        return url([port or self.port], database, user, password, **options)

    def standby(self, synchronous=True):
        """A standby of it that streams. With a synchronous one no commit is acknowledged before the standby has it on disk."""
        other = object.__new__(Postgres)
        other.make_folder()
        slot = other.name
        self.sql(f"select pg_create_physical_replication_slot('{slot}')")
        run("pg_basebackup", "-h", "127.0.0.1", "-p", self.port, "-U", "postgres", "-D", other.data, "-R", "-S", slot, "-X", "stream",
            "--checkpoint=fast", "--no-sync")
        other.follow(self, slot)
        other.start()
        if synchronous:
            self.set("synchronous_standby_names", f"ANY 1 ({slot})")
        state = "quorum" if synchronous else "async"
        following = f"select count(*) from pg_stat_replication where application_name = '{slot}' and sync_state = '{state}'"
        harness.wait_for(lambda: self.value(following) == "1", "a standby that streams")
        return other

    def follow(self, primary, slot=None):
        """Where it streams from when it is started next."""
        told = f"host=127.0.0.1 port={primary.port} user=postgres application_name={self.name}"
        # What it was told before is the primary's own, or of another one.
        conf = self.data / "postgresql.auto.conf"
        stale = re.compile(r"^(primary_conninfo|primary_slot_name|synchronous_standby_names|port|cluster_name) ")
        kept = [line for line in conf.read_text().splitlines(keepends=True) if not stale.match(line)]
        conf.write_text("".join(kept))
        self.configure({"primary_conninfo": told, **({"primary_slot_name": slot} if slot else {})})
        self.own(self.data / "standby.signal", "")

    def own(self, path, text):
        path.write_text(text)
        if user():
            os.chown(path, user()["user"], user()["group"])

    def set(self, name, value):
        """A setting from now on."""
        self.sql(f"alter system set {name} = '{value}'")
        self.sql("select pg_reload_conf()")
        harness.wait_for(lambda: self.value(f"show {name}") == value, f"{name} = {value}")

    def role(self, name, terms="", password=None):
        """Somebody who may come to the server; with a password, only with that."""
        self.sql(f"create role {name} login {terms}" + (f" password '{password}'" if password else ""))
        if password:
            rules = self.data / "pg_hba.conf"
            self.own(rules, f"host all {name} 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
            self.sql("select pg_reload_conf()")

    def is_standby(self):
        return self.value("select pg_is_in_recovery()") == "t"

    def promote(self):
        """Makes a primary of a standby, which waits for no standby of its own."""
        run("pg_ctl", "-D", self.data, "-w", "promote")
        # Without both it would wait for a standby that is not there, and `rewind` would find nothing to do.
        self.set("synchronous_standby_names", "")
        self.sql("checkpoint")

    def rewind(self, source):
        """Takes a primary that was killed back to where `source` has left it, as a standby of that."""
        # It must have ended in order.
        self.start()
        self.stop()
        run("pg_rewind", f"--target-pgdata={self.data}", "--source-server", f"host=127.0.0.1 port={source.port} user=postgres dbname=postgres")
        self.follow(source)
        self.start()
        following = f"select count(*) from pg_stat_replication where application_name = '{self.name}'"
        harness.wait_for(lambda: source.value(following) == "1", "a standby that streams")


def url(ports, database="postgres", user="postgres", password=None, **options):
    """The address of a database on one or several servers of this machine."""
    who = user if password is None else f"{user}:{urllib.parse.quote(password, safe='')}"
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    asked = urllib.parse.urlencode(options)
    return f"postgres://{who}@{hosts}/{database}" + (f"?{asked}" if asked else "")


def children(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_caught_up(primary, standby):
    """Until a standby has shown everything that its primary has."""
    here = primary.value("select pg_current_wal_lsn()")
    caught_up = lambda: standby.value(f"select pg_last_wal_replay_lsn() >= '{here}'") == "t"
    harness.wait_for(caught_up, "a standby that has caught up")


if __name__ == "__main__":
    # A look at what is here: a primary, its standby, a promotion and a rewind.
    began = time.monotonic()
    first = Postgres()
    second = first.standby()
    print(f"{first.url()} and {second.url()} after {time.monotonic() - began:.1f} s")
    first.sql("create table t (x int); insert into t values (1)")
    first.kill()
    second.promote()
    second.sql("insert into t values (2)")
    first.rewind(second)
    wait_until_caught_up(second, first)
    print(first.sql("select x from t order by x"), first.is_standby(), f"after {time.monotonic() - began:.1f} s")
