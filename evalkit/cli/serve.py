"""`evalkit serve`: start a parser's server, or the emulated one, and keep it running until interrupted."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from evalkit import registry
from evalkit.errors import UserError

HELP = """
example: evalkit serve emulator --port 8118 --data datasets/mini/streams.jsonl --speed 10
         evalkit serve hpd-parsing --launcher wheel --dry-run

SYSTEM starts a parser's own server (evalkit list systems) and stops it on Ctrl-C; --dry-run only shows the commands.

The emulated server answers chat completions from recorded streams and times them by a model of the engine; nothing
that it yields is a measurement, and all of it says so. GET /trace tells what its engine did. A request can ask for a
fault with the header X-Evalkit-Fault or the field evalkit_fault; --fault sets rules: error:503@3, hang@every:50,
cut:5, malformed, repeat@page:NAME, wrong_usage:2, slow_first:10, out_of_order, crash@100.
"""

LAST_PORT = 65_535
DATA = Path("datasets/mini/streams.jsonl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `evalkit serve`."""
    parser.add_argument("system", metavar="SYSTEM", help="a system, or emulator")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="port; 0 takes a free one")
    system = parser.add_argument_group("a system's own server")
    system.add_argument(
        "--launcher", metavar="NAME", help="wheel, container, vllm or emulated, in place of the system's own"
    )
    system.add_argument("--dry-run", action="store_true", help="show environment and commands, start nothing")
    system.add_argument("--vllm", metavar="PATH", help="vllm program, or the environment that holds it, to start")
    system.add_argument("--weights", metavar="DIR", help="folder of weights that are there already")
    system.add_argument("--cache", metavar="DIR", help="folder for engines and weights")
    system.add_argument(
        "--log", type=Path, default=Path("runs/serve"), metavar="DIR", help="folder for the server's log"
    )
    emulator = parser.add_argument_group("emulator")
    emulator.add_argument("--data", type=Path, default=DATA, help="recorded streams, recorded answers, or a run")
    emulator.add_argument("--images", type=Path, help="page images of a run given with --data")
    emulator.add_argument("--deployment", default="hpd-parsing", help="how pages are decoded (see docs/simulator.md)")
    emulator.add_argument("--model", default="HPD-Parsing", help="served model name")
    emulator.add_argument("--speed", type=float, default=1.0, help="emulated seconds a second")
    emulator.add_argument("--seed", type=int, default=0, help="of draft acceptance")
    emulator.add_argument(
        "--release", choices=("0.17.1", "0.32.0"), default="0.17.1", help="vLLM whose names /metrics has"
    )
    emulator.add_argument("--max-model-len", type=int, default=16384, help="context length")
    emulator.add_argument("--blocks", type=int, help="key-value blocks (default: what fits the hardware)")
    emulator.add_argument("--unknown", choices=("choose", "refuse"), default="choose", help="images without an answer")
    emulator.add_argument("--fault", action="append", default=[], metavar="RULE", help="fault rule; repeat for several")
    emulator.add_argument("--trace", type=Path, metavar="FILE", help="write the engine's trace here at the end")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted; the URL is printed on stdout once it listens."""
    if not 0 <= args.port <= LAST_PORT:
        raise UserError(f"--port must be 0 to {LAST_PORT}, not {args.port}")
    if args.system not in registry.names("server"):
        return _serve_system(args)
    serve = registry.load("server", args.system)
    print(f"emulated server: {args.deployment}, {args.speed:g}x, from {args.data}", file=sys.stderr)
    serve(
        args.data,
        host=args.host,
        port=args.port,
        images=args.images,
        trace_file=args.trace,
        announce=lambda url: print(url, flush=True),
        deployment_name=args.deployment,
        model=args.model,
        speed=args.speed,
        seed=args.seed,
        release=args.release,
        max_model_len=args.max_model_len,
        unknown=args.unknown,
        faults=args.fault,
        blocks=args.blocks,
    )
    return 0


def _serve_system(args: argparse.Namespace) -> int:
    from evalkit.serving import launch_options, serve_until_interrupted

    system = registry.load("catalog", "system")(args.system)
    name = args.launcher or ("vllm" if args.vllm else system.serve.launcher)
    if name == "url":
        raise UserError(
            f"{system.name} has no server of its own to start: it is a program here, or a service elsewhere"
        )
    launcher = registry.load("launcher", name)
    options = launch_options(
        host=args.host, port=args.port or None, vllm=args.vllm, model=args.weights, cache=args.cache
    )
    if name == "emulated":
        options |= {"data": str(args.data), "speed": args.speed, "seed": args.seed}
    if args.dry_run:
        print("\n".join(launcher.describe(system, options)))
        return 0
    serve_until_interrupted(launcher, system, args.log / system.name, options)
    return 0
