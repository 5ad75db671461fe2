"""A server of S3's interface on 127.0.0.1: prints its port and serves until its input ends."""

from __future__ import annotations

import sys

from moto.server import ThreadedMotoServer

if __name__ == "__main__":
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    print(server.get_host_and_port()[1], flush=True)
    sys.stdin.read()
