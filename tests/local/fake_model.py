"""Stands in for the model's process: reads what to serve, says its address, ends with its standard input.

Run as a file with one word that says how it behaves: ``good``, ``dumb`` (never says anything), ``wrong`` (fails with
words), ``mute`` (fails without any), ``brief`` (ends once it has said its address), ``ender`` (asks its parent to end).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """``/health``, and a chat completion for every POST, streamed when asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(b'{"status": "ok"}', "application/json")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = f"{self.path} was asked"
        if asked.get("stream"):
            piece = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
            last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            events = [json.dumps(piece), json.dumps(last), "[DONE]"]
            self._send("".join(f"data: {event}\n\n" for event in events).encode(), "text/event-stream")
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
        body = {"model": "fake", "choices": [choice], "usage": usage}
        self._send(json.dumps(body).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def main(manner: str) -> None:
    asked = json.loads(sys.stdin.buffer.readline())
    if manner == "wrong":
        sys.stderr.write("loading\nthe weights are torn\n\n")
    if manner in ("wrong", "mute"):
        sys.exit(3)
    server = ThreadingHTTPServer(("127.0.0.1", asked["port"]), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    if manner != "dumb":
        sys.stdout.write(json.dumps({"address": f"http://127.0.0.1:{server.server_port}"}) + "\n")
        sys.stdout.flush()
    if manner == "ender":
        os.kill(asked["parent"], signal.SIGTERM)
    if manner != "brief":
        sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
