"""A server of SSH on this machine, whose shell is that of the user: prints its port.

usage: python ssh_server.py HOST_KEY AUTHORIZED_KEYS
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import asyncssh


async def carry_out(process: asyncssh.SSHServerProcess[bytes]) -> None:
    child = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        str(process.command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    redirected: Any = {"stdin": child.stdin, "stdout": child.stdout, "stderr": child.stderr}
    await process.redirect(**redirected)
    process.exit(await child.wait())


async def serve(host_key: str, authorized: str) -> None:
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[host_key],
        authorized_client_keys=authorized,
        process_factory=carry_out,
        encoding=None,
    )
    print(server.get_port(), flush=True)
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
