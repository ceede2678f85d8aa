"""A PostgreSQL cluster in a folder, on loopback, which stops at the end of its `with` block.

    with Cluster(folder) as cluster:
        cluster.url("name")                      # postgres://…, as `chandler --store` takes it
        cluster.rows("select 1", "name")         # [["1"]]

Its programs are Debian's newest, or those in PG_BIN. No Python driver is needed: queries run through `psql`.
"""
import glob
import os
import shutil
import socket
import subprocess
import sys

USER = "bench"
# Column separator in the output of psql; no text of ours contains it.
BETWEEN = "\x1f"


class Cluster:
    def __init__(self, folder, port=None, settings=None, durable=True):
        self.programs = os.environ.get("PG_BIN") or max(glob.glob("/usr/lib/postgresql/*/bin"), key=version_of, default="")
        if not os.path.exists(f"{self.programs}/initdb"):
            sys.exit("no PostgreSQL found; install Debian's postgresql, or name the folder of its programs in PG_BIN")
        self.folder = os.path.abspath(folder)
        self.port = port or free_port()
        self.settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "max_connections": 200,
            "shared_buffers": "1GB",
            "max_wal_size": "4GB",
            **({} if durable else {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}),
            **(settings or {}),
        }
        # It refuses to run as root.
        self.user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []

    def __enter__(self):
        self.remove()
        os.makedirs(self.folder)
        if self.user:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", f"{self.folder}/data", "-U", USER, "-A", "trust", "--no-sync", "--data-checksums", "-E", "UTF8", "--locale=C.UTF-8")
        try:
            self.start()
        except subprocess.CalledProcessError:
            sys.exit(f"PostgreSQL does not start:\n{self.log()}")
        return self

    def __exit__(self, *_):
        self.stop()
        self.remove()

    def start(self):
        options = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        command = [*self.user, f"{self.programs}/pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start"]
        # The server inherits open files: a pipe would never end.
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd="/")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", mode, "stop")

    def remove(self):
        if os.path.exists(f"{self.folder}/data/postmaster.pid"):
            subprocess.run([*self.user, f"{self.programs}/pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "immediate", "stop"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd="/")
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        try:
            with open(f"{self.folder}/log") as lines:
                return lines.read()
        except OSError:
            return ""

    def url(self, database="postgres", **parameters):
        # The connection does not leave the machine.
        parameters = {"sslmode": "disable", **parameters}
        return f"postgres://{USER}@127.0.0.1:{self.port}/{database}?" + "&".join(f"{name}={value}" for name, value in parameters.items())

    def create(self, database):
        self.rows(f"drop database if exists {database}")
        self.rows(f"create database {database}")
        return self.url(database)

    def rows(self, text, database="postgres"):
        """The result of the last statement as text; a list for each row."""
        command = [f"{self.programs}/psql", "-X", "-q", "-A", "-t", "-F", BETWEEN, "-v", "ON_ERROR_STOP=1",
                   "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", database, "-f", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{done.stderr.strip()}\nin: {text[:2000]}")
        return [line.split(BETWEEN) for line in done.stdout.splitlines()]

    def version(self):
        return self.rows("show server_version")[0][0].split()[0]

    def run(self, program, *arguments):
        command = [*self.user, f"{self.programs}/{program}", *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True, cwd="/").stdout


def version_of(programs):
    """15 of `/usr/lib/postgresql/15/bin`."""
    name = os.path.basename(os.path.dirname(programs))
    return int(name) if name.isdigit() else 0


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
