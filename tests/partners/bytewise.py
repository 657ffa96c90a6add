"""A forwarder that sends every byte of an answer as a packet of its own, and keeps what it sent.

Listens on the loopback address only. Its threads end with their connections.
"""

import socket
import threading


class Bytewise:
    """Between a client and the server at `address`. Use it in a `with`."""

    def __init__(self, address):
        host, port = address.rsplit("/", 1)[-1].split(":")
        self.target = (host, int(port))
        self.answers = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A thread that waits in `accept` is woken by a shutdown, not by a close.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        kept = bytearray()
        self.answers.append(kept)
        with client, socket.create_connection(self.target) as server:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            try:
                while piece := server.recv(65536):
                    kept += piece
                    for at in range(len(piece)):
                        client.sendall(piece[at : at + 1])
            except OSError:
                # One of both hung up; what was kept shows how far it came.
                return

    def streams(self):
        """Bodies of the event streams that were forwarded, in order, without the framing of HTTP."""
        bodies = []
        for kept in self.answers:
            head, _, body = bytes(kept).partition(b"\r\n\r\n")
            if b"text/event-stream" in head.lower():
                bodies.append(unchunked(body) if b"chunked" in head.lower() else body)
        return bodies


def copy(source, sink):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return


def unchunked(body):
    whole = bytearray()
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.split(b";")[0] or b"0", 16)
        if length == 0:
            break
        whole += rest[:length]
        body = rest[length + 2 :]
    return bytes(whole)
