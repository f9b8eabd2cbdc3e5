# The two commands a newcomer needs: `make bench` and `make test`. Each sets up what it needs, once.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV    ?= .venv
EVALKIT  = $(VENV)/bin/evalkit
PYTHON   = $(VENV)/bin/python

# Variables of `make bench`; every one is an option of `evalkit bench`.
BS      ?=
SYSTEMS ?=
DATASET ?=
OUT     ?=
LIMIT   ?=
ARGS    ?=
BENCH_OPTIONS = $(if $(BS),--bs "$(BS)") $(if $(SYSTEMS),--systems "$(SYSTEMS)") $(if $(DATASET),--dataset "$(DATASET)") \
	$(if $(OUT),--out "$(OUT)") $(if $(LIMIT),--limit $(LIMIT)) $(ARGS)

# Variables of `make gate` and `make report`.
BASELINE  ?= tests/baselines
CANDIDATE ?=
RUN       ?=

.PHONY: help setup setup-test bench test test-vllm check report gate perf doctor clean

help: ## show this
	@echo "example: make bench BS=512 SYSTEMS=hpd-parsing,hpd-ar DATASET=omnidocbench-1.6 OUT=runs/mine"
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: ## make the environment: Python packages, and with root the TeX and Tesseract packages
	@scripts/setup.sh bench $(VENV)

setup-test:
	@scripts/setup.sh test $(VENV)

bench: setup ## run the benchmark: serve, infer, convert, score, report (BS=16 or BS=1,16,512 SYSTEMS= DATASET= OUT= LIMIT= ARGS=)
	@$(EVALKIT) bench $(BENCH_OPTIONS)

test: setup-test ## run the tests with coverage
	@$(PYTHON) -m pytest --cov=evalkit --cov=runners --cov=metrics --cov=reports --cov-report=term:skip-covered -q $(ARGS)

test-vllm: setup-test ## run the tests against a real vLLM server on CPU
	@scripts/vllm_cpu/setup.sh
	@$(PYTHON) -m pytest -q -m vllm $(ARGS)

check: setup-test ## ruff, mypy --strict and the structure tests
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(PYTHON) -m pytest -q tests/test_architecture.py

report: setup ## make the report of a run again (RUN=runs/…)
	@$(EVALKIT) report $(RUN) $(ARGS)

gate: setup ## compare a run with a baseline (BASELINE= CANDIDATE=); without a candidate the project gates itself
	@$(if $(CANDIDATE),$(EVALKIT) gate --baseline "$(BASELINE)" --candidate "$(CANDIDATE)" $(ARGS),$(PYTHON) scripts/self_gate.py $(ARGS))

perf: setup-test ## measure every claim of speed, as ratios side by side
	@$(PYTHON) -m perf $(ARGS)

doctor: setup ## say what is missing on this machine
	@$(EVALKIT) doctor $(ARGS)

clean: ## remove the environment, caches and build files; runs/ stays
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov artefacts
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
