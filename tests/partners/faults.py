"""llmock breaks its answers and judges what the client made of it: waits kept, errors asked again or
not, half answers refused. A verdict without a fault that was really played is none.

Never judges itself, apart from the exit code of the fleet.
"""

import json
import subprocess
import urllib.request

from ground import Ground
from processes import Server
from table import Failed

SECONDS = 90

# Between two pieces of an answer. A client that hangs up after a broken piece is seen to do so only while
# llmock still has pieces to send.
PAUSE = "50"

# What a roster calls a wire, and where llmock speaks it.
WIRES = {"chat": ("openai", "/v1"), "messages": ("anthropic", "/anthropic/v1")}

# Only the requests of the fleet, not the look before the run.
ASKED = {"stream": True}


def status(code, times, **more):
    return {"type": "fail", "status": code, "times": times, **more}


def broken(kind, times, **more):
    return {"type": "stream_fault", "kind": kind, "after_chunks": 3, "times": times, **more}


# Name, what is played, how many faults that are at least, and how the fleet must end.
FAULTS = [
    ("429 with Retry-After", [status(429, 2, retry_after=2, match=ASKED)], 2, 0),
    ("429 at the look before the run", [status(429, 1, retry_after=2)], 1, 0),
    ("529 at the look before the run", [status(529, 1)], 1, 0),
    ("529", [status(529, 2, match=ASKED)], 2, 0),
    ("401", [status(401, None)], 1, 6),
    ("401 in the middle", [status(401, None, match=ASKED)], 1, 6),
    ("cut", [broken("truncate", 2)], 2, 0),
    ("disconnect", [broken("disconnect", 2)], 2, 0),
    ("malformed", [broken("malformed", 2), {"type": "reply", "text": "word " * 60, "times": 3}], 2, 0),
    ("arguments that are no JSON", [{"type": "tool_fault", "kind": "malformed_arguments"}], 0, 0),
    ("a tool nobody offered", [{"type": "tool_fault", "kind": "unknown_tool"}], 0, 0),
]

ROSTER = """name = "faults"
model = "wire/gpt-4o"
[provider.wire]
kind = "{kind}"
base_url = "{url}"
key_env = "WIRE_KEY"
[limits]
attempts = 1
[[task]]
id = "look"
role = "scout"
prompt = "List the files of this repository."
"""


def names():
    return [f"{wire}: {fault[0]}" for wire in WIRES for fault in FAULTS]


def play(table, installed, binary):
    """All rows, each against a server of its own."""
    for wire in WIRES:
        for fault in FAULTS:
            table.play("llmock", f"{wire}: {fault[0]}", 15, lambda: one(installed, binary, wire, fault))


def one(installed, binary, wire, fault):
    _, behaviours, least, exit_code = fault
    kind, path = WIRES[wire]
    with Ground(binary) as ground:
        command = [installed.tool("llmock"), "serve", "--host", "127.0.0.1", "--port", "0", "--stream-chunk-delay-ms", PAUSE]
        with Server(command, ground.root, r"Uvicorn running on (http://[0-9.:]+)", 60) as server:
            call(server.address, "/_llmock/scenario", {"behaviors": behaviours})
            ran = ground.fleet(ROSTER.format(kind=kind, url=server.address + path), SECONDS)
            ran.exits(exit_code)
            verdict = subprocess.run(
                [installed.tool("llmock"), "report", "--strict", "--url", server.address],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
            )
            counted = call(server.address, "/_llmock/verdict")
            if verdict.returncode != 0:
                raise Failed(f"llmock's verdict\n{verdict.stdout.decode(errors='replace')}\n{counted}\n{ran}")
            # A faulty call is no fault of the exchange: it is not counted, but answered by the fleet.
            calls = [record for record in ran.records() if record["type"] == "tool.finished"]
            unplayed = behaviours[0]["type"] == "tool_fault" and not any(call["status"] == "error" for call in calls)
            if counted["faults_injected"] < least or unplayed:
                raise Failed(f"fewer faults than planned were played: {counted}\n{ran}")
            return f"{counted['attempts']} requests, {counted['faults_injected']} faults"


def call(address, path, body=None):
    request = urllib.request.Request(address + path, data=None if body is None else json.dumps(body).encode())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return json.load(answer)
