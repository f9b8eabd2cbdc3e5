"""Programs that pass for vllm, docker and nvidia-smi: they behave as told by the file that a test writes."""

from __future__ import annotations

import sys
from pathlib import Path

ENGINE = """#!{python}
import http.server, json, os, signal, subprocess, sys, time
mode, words = {mode!r}, sys.argv[1:]
def option(name, default=None):
    return words[words.index(name) + 1] if name in words else default
if mode == "oom":
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", flush=True)
    sys.exit(1)
if mode == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "unknown_flag":
    print("vllm: error: unrecognized arguments: --speculative-config", flush=True)
    sys.exit(2)
if mode == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"])
    open({pids!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
if mode == "silent":
    time.sleep(600)
told = {{"model_tag": words[1], "port": int(option("--port")), "served_model_name": [option("--served-model-name")],
        "max_model_len": {max_model_len}, "enable_prefix_caching": True}}
print("INFO 01-01 [utils.py:233] non-default args:", told, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        replies = {{"/health": "", "/version": json.dumps({{"version": {version!r}}}),
                   "/v1/models": json.dumps({{"data": [{{"id": option("--served-model-name")}}]}})}}
        found = replies.get(self.path)
        self.send_response(404 if found is None else 200)
        self.end_headers()
        self.wfile.write((found or "").encode())
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self.send_error(404)
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "-")
        if mode == "first_gpu_waits" and gpu == "0" and "cache_salt" not in body:
            deadline_s = time.monotonic() + 30  # until the other server has answered all that is left
            while answered().count("1") < {waits_for} and time.monotonic() < deadline_s:
                time.sleep(0.01)
        events = [{{"choices": [{{"delta": {{"content": "text"}}}}]}},
                  {{"choices": [{{"delta": {{}}, "finish_reason": "stop"}}]}},
                  {{"choices": [], "usage": {{"prompt_tokens": 9, "completion_tokens": 2}}}}]
        data = b"".join(b"data: " + json.dumps(event).encode() + b"\\n\\n" for event in events) + b"data: [DONE]\\n\\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if "cache_salt" not in body:
            with open({answered!r}, "a") as log:
                log.write(gpu)
        self.wfile.write(data)
    def log_message(self, *rest): pass
def answered():
    return open({answered!r}).read() if os.path.exists({answered!r}) else ""
http.server.ThreadingHTTPServer(("127.0.0.1", int(option("--port"))), Handler).serve_forever()
"""


def write_engine(
    folder: Path,
    mode: str = "good",
    version: str = "0.17.1+hpdparsing",
    max_model_len: int = 16384,
    waits_for: int = 0,
) -> Path:
    """A vllm program in `folder`/bin; a stubborn one leaves its process ids in `folder`/pids.

    It writes the number of its GPU in `folder`/answered for every page. With `first_gpu_waits` the server of GPU 0
    answers once that of GPU 1 has answered `waits_for` pages.
    """
    text = ENGINE.format(
        python=sys.executable,
        mode=mode,
        version=version,
        max_model_len=max_model_len,
        pids=str(folder / "pids"),
        answered=str(folder / "answered"),
        waits_for=waits_for,
    )
    return write_program(folder / "bin" / "vllm", text)


def write_program(path: Path, text: str) -> Path:
    """An executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
