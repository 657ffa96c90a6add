"""A fleet of three roles whose models aimock plays: a scout, a builder whose first work is rejected, and a
reviewer. aimock's journal holds every body that was sent; each is checked as a strict provider would.

Never looks into the ledger: what counts here is what went over the wire.
"""

import json

from faults import call
from ground import Ground
from processes import Server
from table import Failed

SECONDS = 90

WIRES = {"chat": ("openai", "/v1"), "messages": ("anthropic", "/v1")}

ROSTER = """name = "crew"
model = "wire/gpt-4o"
goal = "The script greets the world."
[provider.wire]
kind = "{kind}"
base_url = "{url}"
key_env = "WIRE_KEY"
[limits]
attempts = 2
[[task]]
id = "survey"
role = "scout"
prompt = "Find out whom greet.sh greets."
[[task]]
id = "greeting"
role = "builder"
needs = ["survey"]
prompt = "Let greet.sh greet the world."
check = ["sh greet.sh | grep -q '!'"]
review = "reviewer"
"""

SURVEYED = "FINDING-SURVEY: greet.sh greets its first argument."
REJECTED = "FINDING-REVIEW: greet.sh:1 must say world in small letters."


def calls(*named):
    return {"toolCalls": [{"id": f"call-{number}-{name}", "name": name, "arguments": arguments} for number, name, arguments in named]}


def edit(number, old, new):
    return calls((number, "edit", {"path": "greet.sh", "old": old, "new": new}))


def verdict(number, what, findings):
    return calls((number, "verdict", {"verdict": what, "findings": findings}))


# Who is asked, the beginning of what it is told, its turns.
AGENTS = [
    ("scout", "Find out whom", [
        calls((1, "read", {"path": "greet.sh"}), (2, "grep", {"pattern": "Hello"}), (3, "read", {"path": "none.sh"})),
        {"content": SURVEYED},
    ]),
    ("builder", "Attempt 1 was not enough", [edit(4, "WORLD", "world"), {"content": "The script says world."}]),
    ("builder", "Let greet.sh greet", [
        {"content": "I look first.", **calls((5, "read", {"path": "greet.sh"}))},
        edit(6, "$1", "WORLD"),
        {"content": "The script says WORLD."},
    ]),
    ("reviewer", '+echo "Hello, WORLD!"', [verdict(7, "reject", REJECTED)]),
    ("reviewer", '+echo "Hello, world!"', [
        calls((8, "read", {"path": "greet.sh"})),
        verdict(9, "approve", "greet.sh:1 says what it should."),
    ]),
]

READING = {"read", "list", "glob", "grep"}
WRITING = {"write", "edit", "shell"}


def names():
    return [f"{wire}: scout, builder, reviewer" for wire in WIRES]


def fixtures():
    """The turns as aimock reads them. It takes the first that fits."""
    return {
        "fixtures": [
            {"match": {"systemMessage": f"the {role} of", "userMessage": told, "turnIndex": turn}, "response": response}
            for role, told, turns in AGENTS
            for turn, response in enumerate(turns)
        ]
    }


def play(table, aimock, binary):
    for wire in WIRES:
        table.play("aimock", f"{wire}: scout, builder, reviewer", 15, lambda: one(aimock, binary, wire))


def one(aimock, binary, wire):
    kind, path = WIRES[wire]
    with Ground(binary) as ground:
        ground.write("fixtures.json", json.dumps(fixtures()))
        command = ["env", "AIMOCK_STRICT_TURN_INDEX=1", *aimock, "-p", "0", "-f", "fixtures.json", "--strict"]
        with Server(command, ground.root, r"listening on (http://[0-9.:]+)", 60) as server:
            ran = ground.fleet(ROSTER.format(kind=kind, url=server.address + path), SECONDS)
            journal = call(server.address, "/__aimock/journal")
            ran.exits(0)
    bodies = [entry["body"] for entry in journal if entry["method"] == "POST"]
    try:
        judge(bodies)
    except Failed as reason:
        raise Failed(f"{reason}\n{json.dumps(bodies, indent=1)}\n{ran}") from None
    return f"{len(bodies)} requests"


def judge(bodies):
    """What must hold for all that was sent."""
    planned = sum(len(turns) for _, _, turns in AGENTS)
    expect(len(bodies) == planned, f"{len(bodies)} requests instead of {planned}")
    expect(len({json.dumps(body) for body in bodies}) == planned, "a request was sent twice")
    told = {}
    for body in bodies:
        expect(body.get("stream") is True and body["model"] == "gpt-4o", f"stream {body.get('stream')}, model {body['model']}")
        system, messages = split(body["messages"])
        role = next((role for role in ("scout", "builder", "reviewer") if f"the {role} of" in system), None)
        paired(messages)
        offered(role, {tool["function"]["name"] for tool in body["tools"]})
        # What one agent was told before, it is told again, to the letter.
        first = text(messages[0])
        before = told.get((role, first), [])
        expect(messages[: len(before)] == before, f"the {role}'s conversation was changed")
        told[(role, first)] = messages
    handed_over(told)


def split(messages):
    expect(messages[0]["role"] == "system", "the first message is not the system's")
    rest = messages[1:]
    expect(rest and rest[0]["role"] == "user", "the first message after the system's is not the user's")
    expect(all(message["role"] != "system" for message in rest), "a second system message")
    return text(messages[0]), rest


def paired(messages):
    """Each call is followed at once by its result, in the order asked, and no id comes twice."""
    seen, owed = set(), []
    for message in messages:
        if message["role"] == "tool":
            expect(owed and message["tool_call_id"] == owed.pop(0), f"a result out of place: {message['tool_call_id']}")
            expect(text(message).strip(), "a blank result")
            continue
        expect(not owed, f"no result for {owed}")
        asked = [asked["id"] for asked in message.get("tool_calls") or []]
        expect(asked or text(message).strip(), f"a blank message: {message}")
        expect(not seen & set(asked) and len(set(asked)) == len(asked), f"ids used twice: {asked}")
        for one_call in message.get("tool_calls") or []:
            expect(isinstance(json.loads(one_call["function"]["arguments"]), dict), "arguments that are no object")
        seen |= set(asked)
        owed = asked
    expect(not owed, f"no result for {owed}")


def offered(role, tools):
    expect(READING <= tools, f"the {role} cannot read: {tools}")
    expect((WRITING <= tools) if role == "builder" else not (WRITING & tools), f"tools of the {role}: {tools}")
    expect(("verdict" in tools) == (role == "reviewer"), f"tools of the {role}: {tools}")


def handed_over(told):
    """What one agent found stands, fenced, in what the next one is told."""
    builders = sorted((first for role, first in told if role == "builder"), key=len)
    expect(len(builders) == 2, f"{len(builders)} attempts of the builder")
    for first in builders:
        expect(SURVEYED in first and "```data result of task `survey`" in first, "the survey was not handed over")
    expect(REJECTED not in builders[0] and REJECTED in builders[1], "the review was not handed over")
    expect("The script greets the world." in builders[0], "the goal was not told")


def text(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def expect(holds, otherwise):
    if not holds:
        raise Failed(otherwise)
