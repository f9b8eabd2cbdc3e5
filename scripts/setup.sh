#!/usr/bin/env bash
# Make the environment that `make bench` or `make test` needs: a virtual environment with the Python packages, and,
# with root and apt, the Debian packages for TeX (formula score), Tesseract (a parser) and, for tests, Chromium.
# Quick when nothing has changed; says what it does, and what will be left out where it may not install.
#
#   scripts/setup.sh bench|test [VENV]
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-bench}
venv=${2:-.venv}
case "$purpose" in
  bench) extras=ocr ;;
  test) extras=ocr,dev ;;
  *) echo "usage: scripts/setup.sh bench|test [VENV]" >&2; exit 2 ;;
esac

TEX="texlive-latex-recommended latex-cjk-common latex-cjk-chinese-arphic-gkai00mp"
TESSERACT="tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-sim tesseract-ocr-osd"
OPENCV="libgl1 libglib2.0-0"
CHROMIUM="chromium"

say() { echo "setup: $*" >&2; }

# Python 3.11 to 3.13 that really starts (a version manager's shim may not).
find_python() {
  local candidate
  for candidate in "${EVALKIT_PYTHON:-}" python3 python3.12 python3.11 python3.13; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$candidate"; return
    fi
  done
  say "Python 3.11, 3.12 or 3.13 is needed and was not found; set EVALKIT_PYTHON to one"
  exit 2
}

may_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
  done
}

# install_debian WHAT_FOR PACKAGE…: installs what is missing, or says what its absence means.
install_debian() {
  local what_for=$1 missing log; shift
  command -v dpkg-query >/dev/null || { say "no Debian packages here: $what_for must already be there ($*)"; return; }
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if ! may_install; then
    say "left out: $what_for. With root: apt-get install -y --no-install-recommends $missing"
    return
  fi
  say "installing for $what_for: $missing"
  log=$(mktemp)
  # shellcheck disable=SC2086
  if { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1
  then rm -f "$log"
  else tail -n 5 "$log" >&2; rm -f "$log"; say "apt-get failed; $what_for is left out"
  fi
}

make_venv() {
  [ -x "$venv/bin/python" ] && "$venv/bin/python" -c '' 2>/dev/null && return
  local python; python=$(find_python)
  say "making $venv with $("$python" --version)"
  rm -rf "$venv"
  if ! "$python" -m venv "$venv" 2>/dev/null; then
    rm -rf "$venv"
    install_debian "virtual environments" python3-venv
    "$python" -m venv "$venv" || { say "python3 -m venv does not work here; install python3-venv"; exit 2; }
  fi
}

install_python() {
  local stamp="$venv/.setup-$purpose" wanted
  wanted=$(cat pyproject.toml scripts/setup.sh | sha256sum)
  [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "installing the Python packages (evalkit[$extras]) into $venv; the first time takes some minutes"
  # compat: the checkout is a path of the environment, so that a script beside a folder named evalkit finds the package
  "$venv/bin/python" -m pip install --disable-pip-version-check -q --config-settings editable_mode=compat \
    -e ".[$extras]" 2> >(grep -v '^WARNING: Location' >&2)
  echo "$wanted" >"$stamp"
}

make_venv
install_debian "the formula score (CDM)" $TEX
install_debian "the parser tesseract" $TESSERACT
install_debian "the parser rapid-stack" $OPENCV
[ "$purpose" = bench ] || install_debian "browser tests of the report" $CHROMIUM
install_python
