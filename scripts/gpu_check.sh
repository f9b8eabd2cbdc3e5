#!/bin/bash
# example: scripts/gpu_check.sh                     HPD-Parsing and its baseline on this machine's GPU, 64 pages
#          scripts/gpu_check.sh tiny VLLM_ENV       any NVIDIA GPU with a stock vLLM: the same with a tiny checkpoint
#          PAGES=256 BS=128 LAUNCHER=container scripts/gpu_check.sh
#
# Everything that can only be checked on a GPU, in one go: what the machine has, the server's start and flags, 64 pages,
# the figures and their validity, and that nothing is left running. Ends with PASS or FAIL and the folder to send back.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-hpd}
pages=${PAGES:-64} bs=${BS:-16}
out=${OUT:-runs/gpu-check-$(date +%Y%m%d-%H%M%S)}
evalkit=${EVALKIT:-.venv/bin/evalkit}
[ -x "$evalkit" ] || evalkit=$(command -v evalkit) || { echo "run make setup first" >&2; exit 2; }
mkdir -p "$out"
log=$out/gpu_check.log
exec > >(tee "$log") 2>&1

step() { echo; echo "== $*"; }
fail() { echo "FAIL: $*. Send $out to the maintainers."; exit 1; }

step "the machine"
nvidia-smi || fail "nvidia-smi does not work"
"$evalkit" doctor || echo "doctor found something missing; going on"
memory_before=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | sort -n | tail -1)

if [ "$mode" = tiny ]; then
    engine=${2:?name the environment of a stock vLLM: scripts/gpu_check.sh tiny VLLM_ENV}
    step "the tiny checkpoint"
    python=$(dirname "$(command -v "$evalkit")")/python
    "$python" - "$out/stream.txt" << 'PYTHON'
import json, sys
rows = map(json.loads, open("datasets/mini/streams.jsonl", encoding="utf-8"))
text = next(row["fork"]["text"] for row in rows if row.get("page_id") == "en_exam_mathematics.png")
open(sys.argv[1], "w", encoding="utf-8").write(text)
PYTHON
    "$engine/bin/python" scripts/vllm_cpu/make_checkpoint.py "$out/model" "$out/stream.txt"
    # the engine here may be of any release: no version is asked for, and no flag that only some know
    grep -v -e '^version' -e '^per-request-spec' -e '^VLLM_CPU' -e '^VLLM_HOST_IP' tests/vllm/tiny-hpd.toml > "$out/tiny-hpd.toml"
    systems=$out/tiny-hpd.toml
    options=(--launcher vllm --vllm "$engine" --weights "$out/model/internvl")
else
    systems=hpd-ar,hpd-parsing
    options=(${LAUNCHER:+--launcher "$LAUNCHER"})
fi

dataset=${DATASET:-mini}
if [ -z "${DATASET:-}" ] && "$evalkit" datasets verify omnidocbench-1.6 > /dev/null 2>&1; then dataset=omnidocbench-1.6; fi

step "what will be started"
for system in ${systems//,/ }; do
    "$evalkit" serve "$system" --dry-run ${LAUNCHER:+--launcher "$LAUNCHER"} ${engine:+--launcher vllm --vllm "$engine" --weights "$out/model/internvl"}
done

step "$pages pages of $dataset at BS=$bs"
"$evalkit" bench --systems "$systems" --dataset "$dataset" --limit "$pages" --bs "$bs" --emulate never --out "$out" \
    "${options[@]}" || fail "the benchmark did not complete"

step "figures and rules"
"$(dirname "$(command -v "$evalkit")")/python" - "$out" << 'PYTHON' || fail "a rule of measurement is broken"
import json, pathlib, sys
broken = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*/bench/summary.json")):
    summary = json.loads(path.read_text(encoding="utf-8"))
    print(f"{summary['system']}: {summary['provenance']}, states {summary['states']}")
    for name in ("pps", "tps", "latency_p50_s", "steps_per_page", "accepted_length", "step_reduction", "energy_per_page_j"):
        figure = summary["figures"][name]
        value = "-" if figure["value"] is None else f"{figure['value']:.4g}"
        print(f"  {name:20} {value:>10} {figure['unit']:12} {figure['provenance']} {figure['reason'] or ''}")
    for check in summary["checks"]:
        verdict = {True: "ok", False: "BROKEN", None: "not checked"}[check["passed"]]
        print(f"  {check['name']:26} {verdict:12} value {check['value']}, limit {check['limit']}")
    broken += not summary["valid"]
sys.exit(broken > 0)
PYTHON

step "nothing is left running"
sleep 3
memory_after=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | sort -n | tail -1)
echo "GPU memory in use: $memory_before MiB before, $memory_after MiB after"
[ "$memory_after" -le "$((memory_before + 512))" ] || fail "the GPU's memory was not given back"
echo "PASS: $out holds the runs and the report ($out/report/index.html)"
