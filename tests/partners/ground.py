"""Where the binary is run: a repository and a home of its own, an environment that holds nothing of the
machine but PATH.

Never reads or writes the person's files.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile

from processes import die_with_parent
from table import Failed


class Ran:
    """What a run of the binary left."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"

    def exits(self, code):
        if self.code != code:
            raise Failed(f"exit {self.code} instead of {code}\n{self}")
        return self

    def records(self):
        try:
            return [json.loads(line) for line in self.stdout.splitlines()]
        except ValueError as error:
            raise Failed(f"standard output holds a line that is not JSON: {error}\n{self}") from error


class Ground:
    """A repository of one commit. Use it in a `with`."""

    def __init__(self, binary):
        self.binary = binary
        self.root = tempfile.mkdtemp(prefix="codewhale-partners-")
        self.desk = os.path.join(self.root, "desk")
        self.home = os.path.join(self.root, "home")
        os.mkdir(self.desk)
        os.mkdir(self.home)
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": self.home,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "WIRE_KEY": "sk-of-a-partner",
        }
        self.write("home/.gitconfig", "[user]\nname = A Person\nemail = person@example.invalid\n")
        self.write("desk/greet.sh", 'echo "Hello, $1!"\n')
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
            self.git(*arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, below, text):
        with open(os.path.join(self.root, below), "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *arguments):
        done = subprocess.run(
            ["git", *arguments], cwd=self.desk, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
        if done.returncode != 0:
            raise Failed(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode()

    def run(self, *arguments, seconds):
        """Runs the binary. One that takes longer is stopped, and that is a failure."""
        child = subprocess.Popen(
            [self.binary, *arguments],
            cwd=self.desk,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            stdout, stderr = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            stdout, stderr = child.communicate()
            late = Ran("none", stdout.decode(errors="replace"), stderr.decode(errors="replace"))
            raise Failed(f"did not end within {seconds} s\n{late}") from None
        return Ran(child.returncode, stdout.decode(), stderr.decode())

    def fleet(self, roster, seconds):
        """Runs a roster, for programs."""
        self.write("roster.toml", roster)
        return self.run("fleet", "run", os.path.join(self.root, "roster.toml"), "--json", seconds=seconds)
