"""The emulated server as a process of its own; the first line it prints is its URL.

python -m runners.emulator '{"data": "streams.jsonl", "port": 0, "speed": 10}'
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from runners.emulator.server import serve_forever


def main() -> None:
    """Serve with the options of one JSON argument until interrupted."""
    options = json.loads(sys.argv[1])
    data = Path(options.pop("data"))
    trace = options.pop("trace_file", None)
    host, port = options.pop("host", "127.0.0.1"), options.pop("port", 0)
    trace_file = None if trace is None else Path(trace)
    serve_forever(data, host=host, port=port, trace_file=trace_file, announce=_announce, **options)


def _announce(url: str) -> None:
    print(url, flush=True)


if __name__ == "__main__":
    main()
