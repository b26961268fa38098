"""A client of GDB's remote protocol, as small as it can be."""

import re
import socket


class Client:
    """A connection to a port of this machine."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._kept = b""

    def raw(self, content):
        self.socket.sendall(content)

    def send(self, text):
        content = text if isinstance(text, bytes) else text.encode()
        self.raw(b"$%b#%02x" % (content, sum(content) & 255))

    def receive(self):
        """The next packet's text; None at the end of the connection."""
        while True:
            found = re.match(rb"[^$]*\$([^#]*)#([0-9a-f]{2})", self._kept, re.DOTALL)
            if found:
                self._kept = self._kept[found.end():]
                assert int(found[2], 16) == sum(found[1]) & 255
                self.raw(b"+")
                return found[1].decode()
            more = self.socket.recv(4096)
            if not more:
                return None
            self._kept += more

    def ask(self, text):
        self.send(text)
        return self.receive()

    def register(self, number):
        return int(self.ask(f"p{number:x}"), 16)

    def acknowledge(self):
        """The next byte, which no packet begins with."""
        if not self._kept:
            self._kept = self.socket.recv(4096)
        byte, self._kept = self._kept[:1], self._kept[1:]
        return byte

    def close(self):
        self.socket.close()
