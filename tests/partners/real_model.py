"""A turn with a model that really answers: the llama.cpp server, token by token, straight and with every
byte in a packet of its own. What the ledger then holds is compared with the bytes that were sent.

Never judges what the model says.
"""

import json
import os

from bytewise import Bytewise
from ground import Ground
from processes import Server
from table import Failed

SECONDS = 120

WIRES = {"chat": ("openai", "/v1"), "messages": ("anthropic", "/v1")}

WAYS = ["straight", "byte by byte"]

ROSTER = """name = "real"
model = "wire/smollm2"
[provider.wire]
kind = "{kind}"
base_url = "{url}"
[limits]
attempts = 1
[[task]]
id = "say"
role = "scout"
prompt = "Say in one sentence what a repository is."
"""


def names():
    return [f"{wire}: a turn, {way}" for wire in WIRES for way in WAYS]


def play(table, installed, binary):
    """All rows, each against a server of its own."""
    for wire in WIRES:
        table.play("llama.cpp", f"{wire}: a turn, straight", 30, lambda: straight(installed, binary, wire))
        table.play("llama.cpp", f"{wire}: a turn, byte by byte", 30, lambda: byte_by_byte(installed, binary, wire))


def server(installed, ground):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_server.py")
    command = [installed.tool("python"), "-B", script, installed.weights()]
    return Server(command, ground.root, r"(?m)^listening (http://[0-9.:]+)", 90)


def straight(installed, binary, wire):
    kind, path = WIRES[wire]
    with Ground(binary) as ground, server(installed, ground) as llama:
        answer, usage = turn(ground, kind, llama.address + path)
        return f"{usage['input']} tokens in, {usage['output']} out: {answer}"


def byte_by_byte(installed, binary, wire):
    kind, path = WIRES[wire]
    with Ground(binary) as ground, server(installed, ground) as llama, Bytewise(llama.address) as between:
        answer, usage = turn(ground, kind, between.address + path)
        (body,) = between.streams()
        sent = READERS[wire](body)
        if (answer, usage["input"], usage["output"]) != sent:
            raise Failed(f"recorded {answer!r}, {usage}; sent {sent}\n{body.decode()}")
        return f"{len(body)} packets, {usage['output']} tokens"


def turn(ground, kind, url):
    """Runs the fleet; text and usage of its one answer, as the ledger holds them."""
    ran = ground.fleet(ROSTER.format(kind=kind, url=url), SECONDS).exits(0)
    answers = [record for record in ran.records() if record["type"] == "model.responded"]
    if len(answers) != 1:
        raise Failed(f"{len(answers)} answers instead of one\n{ran}")
    text = "".join(block["text"] for block in answers[0]["answer"]["blocks"] if block["block"] == "text")
    usage = answers[0].get("usage") or {}
    if not text.strip() or not usage.get("input") or not usage.get("output"):
        raise Failed(f"no text, or no usage\n{ran}")
    return text, usage


def chat(body):
    """Text, tokens in and tokens out of a stream of chat completions."""
    text, usage = "", None
    for event in events(body):
        if event == "[DONE]":
            break
        chunk = json.loads(event)
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            text += choice["delta"].get("content") or ""
    return text, usage["prompt_tokens"], usage["completion_tokens"]


def events(body):
    """Payloads of the events, read in a simpler way than the product does."""
    lines = body.decode().splitlines()
    return [line[len("data: ") :] for line in lines if line.startswith("data: ")]


def messages(body):
    """The same of a stream of messages: the last usage that is told counts."""
    text, used = "", {}
    for event in map(json.loads, events(body)):
        told = event.get("message", event).get("usage") or {}
        used.update({key: value for key, value in told.items() if value is not None})
        if event["type"] == "content_block_delta":
            text += event["delta"].get("text", "")
    # What was read from a cache was read all the same.
    cached = used.get("cache_read_input_tokens", 0) + used.get("cache_creation_input_tokens", 0)
    return text, used["input_tokens"] + cached, used["output_tokens"]


READERS = {"chat": chat, "messages": messages}
