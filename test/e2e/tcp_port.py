# SPDX-License-Identifier: BSD-3-Clause
"""TCP ports for programs that are told where to listen."""

import socket

CLAIMS = []


def free_port():
    """One that nobody has now, in the range that the system gives to nobody by itself. No other test gets it as long as this
    process lives: a name of its own says that it is taken, also before its server listens."""
    for port in range(20000, 32000):
        claim = socket.socket(socket.AF_UNIX)
        with socket.socket(socket.AF_INET6) as probe:
            try:
                claim.bind(f"\0rdmapmd-test-tcp-port-{port}")
                probe.bind(("::", port))
            except OSError:
                claim.close()
                continue
        CLAIMS.append(claim)
        return port
    raise AssertionError("no TCP port is free")
