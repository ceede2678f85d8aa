"""Real PostgreSQL servers on loopback: created, killed, promoted, and removed with the process that
started them.

They run as an ordinary user, each in a separate folder under one that is removed at the end. A
guard process takes care of that, also if this process is killed."""

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

# Ends all servers below a folder when standard input closes: only this process holds the other end
# of that pipe.
GUARD = """
trap '' INT TERM HUP
read -r _
for file in "$1"/*/postmaster.pid; do
    [ ! -f "$file" ] || kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
done
# They exit immediately; pending writes must not come after the folder is removed.
for try in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf "$1" 2>/dev/null && break
    sleep 0.2
done
"""


@functools.cache
def programs():
    """The folder of the server's programs, of the newest version installed."""
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
    """The user that they run as, for `subprocess`: PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return {}
    names = [one.pw_name for one in pwd.getpwall()]
    found = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


@functools.cache
def folder():
    """The folder of all servers of this process, with its guard."""
    # Not below the source tree: the user of the servers may have no access there.
    made = pathlib.Path(tempfile.mkdtemp(prefix="chandler-postgres-"))
    if user():
        os.chown(made, user()["user"], user()["group"])
    guard = subprocess.Popen(
        ["/bin/sh", "-c", GUARD, "guard", str(made)], stdin=subprocess.PIPE, start_new_session=True, cwd="/", **user())

    def end():
        guard.stdin.close()
        # Removing gigabytes takes a while.
        guard.wait(10 * harness.PATIENCE_S)

    atexit.register(end)
    return made


def environment():
    """The environment without the PostgreSQL variables of the user who runs the tests."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def run(program, *words, codes=(0,), timeout_s=120):
    """Runs one of the server's programs; returns its output."""
    command = [str(programs() / program), *map(str, words)]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout_s, cwd="/", stdin=subprocess.DEVNULL, env=environment(), **user())
    if ran.returncode not in codes:
        raise AssertionError(f"{command}: {ran.returncode}: {ran.stderr}")
    return ran.stdout


class Refused(Exception):
    """A statement that failed."""


class Postgres:
    """A server. It runs until the test or this process ends."""

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
        """Settings for the next start."""
        settings = {
            "listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": folder(), "cluster_name": self.name,
            **settings}
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(lines)

    def start(self):
        """Starts it at the same address. After a crash its last processes may still be ending."""
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
        """`fast` closes its connections and writes everything to disk; `immediate` is a controlled
        crash."""
        run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "60", "stop")

    def remove(self):
        """Stops it, if it runs, and removes its data."""
        if self.is_running():
            self.stop("immediate")
        shutil.rmtree(self.data)

    def kill(self):
        """Kills it as a crash would, and waits until the last of its processes has ended."""
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
        """Creates a database; returns its address."""
        self.sql(f'create database "{name}" {terms}')
        return self.url(name)

    def url(self, database="postgres", user="postgres", password=None, port=None, **options):
        """The address as the argument of `--store`."""
        return url([port or self.port], database, user, password, **options)

    def standby(self, synchronous=True):
        """A streaming standby of it. With a synchronous one no commit is acknowledged before the
        standby has it on disk."""
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
        """Sets the server that it streams from after the next start."""
        conninfo = f"host=127.0.0.1 port={primary.port} user=postgres application_name={self.name}"
        # Remove earlier settings, which belong to the primary or name another one.
        conf = self.data / "postgresql.auto.conf"
        stale = re.compile(r"^(primary_conninfo|primary_slot_name|synchronous_standby_names|port|cluster_name) ")
        remaining = [line for line in conf.read_text().splitlines(keepends=True) if not stale.match(line)]
        conf.write_text("".join(remaining))
        self.configure({"primary_conninfo": conninfo, **({"primary_slot_name": slot} if slot else {})})
        self.own(self.data / "standby.signal", "")

    def own(self, path, text):
        path.write_text(text)
        if user():
            os.chown(path, user()["user"], user()["group"])

    def set(self, name, value):
        """Applies a setting immediately."""
        self.sql(f"alter system set {name} = '{value}'")
        self.sql("select pg_reload_conf()")
        harness.wait_for(lambda: self.value(f"show {name}") == value, f"{name} = {value}")

    def role(self, name, terms="", password=None):
        """Creates a login role; with a password, it is required."""
        self.sql(f"create role {name} login {terms}" + (f" password '{password}'" if password else ""))
        if password:
            rules = self.data / "pg_hba.conf"
            self.own(rules, f"host all {name} 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
            self.sql("select pg_reload_conf()")

    def is_standby(self):
        return self.value("select pg_is_in_recovery()") == "t"

    def promote(self):
        """Promotes a standby to a primary that waits for no standby."""
        run("pg_ctl", "-D", self.data, "-w", "promote")
        # Without both it would wait for a standby that does not exist, and `rewind` would find
        # nothing to do.
        self.set("synchronous_standby_names", "")
        self.sql("checkpoint")

    def rewind(self, source):
        """Rewinds a killed primary to the timeline of `source`, as a standby of it."""
        # It must have shut down cleanly.
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
    query = urllib.parse.urlencode(options)
    return f"postgres://{who}@{hosts}/{database}" + (f"?{query}" if query else "")


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
    """Waits until a standby has replayed everything of its primary."""
    here = primary.value("select pg_current_wal_lsn()")
    caught_up = lambda: standby.value(f"select pg_last_wal_replay_lsn() >= '{here}'") == "t"
    harness.wait_for(caught_up, "a standby that has caught up")


if __name__ == "__main__":
    # A demonstration: a primary, its standby, a promotion and a rewind.
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
