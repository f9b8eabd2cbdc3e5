#!/bin/sh
# Proves that the TeX packages named by metrics/cdm/toolchain.py are enough: a bare Debian root gets those and nothing
# else of TeX, and the CDM tests run in it.   usage (as root): scripts/verify_tex_set.sh ROOT [SUITE]
set -eu
root=${1:?usage: scripts/verify_tex_set.sh ROOT [SUITE]}
suite=${2:-bookworm}
here=$(cd "$(dirname "$0")/.." && pwd)
packages=$(sed -n 's/^APT_PACKAGES = (\(.*\))$/\1/p' "$here/metrics/cdm/toolchain.py" | tr -d '",')
[ -n "$packages" ] || { echo "no APT_PACKAGES in metrics/cdm/toolchain.py" >&2; exit 2; }

[ -d "$root/usr" ] || debootstrap --variant=minbase "$suite" "$root"
for file in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt; do
  if [ -e "$file" ]; then mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"; fi
done
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT

used_mb() { chroot "$root" dpkg-query -W -f '${Installed-Size}\n' | awk '{ sum += $1 } END { printf "%d", sum / 1024 }'; }
chroot "$root" apt-get update -q
chroot "$root" apt-get install -qy --no-install-recommends python3 python3-venv procps
before=$(used_mb)
chroot "$root" apt-get install -qy --no-install-recommends $packages
echo "TeX set: $(($(used_mb) - before)) MB installed"

rm -rf "$root/evalkit" && mkdir "$root/evalkit"
cp -r "$here/evalkit" "$here/metrics" "$here/tests" "$here/runners" "$here/reports" "$here/pyproject.toml" "$root/evalkit/"
python3 -m pip download -q -d "$root/wheels" --python-version 3.11 --only-binary :all: \
  numpy scipy fonttools pytest hypothesis
python3 -m pip wheel -q -w "$root/wheels" --no-deps pylatexenc
chroot "$root" sh -c 'python3 -m venv /venv &&
  /venv/bin/pip install -q --no-index --find-links /wheels numpy scipy fonttools pylatexenc pytest hypothesis'
chroot "$root" sh -c 'cd /evalkit && PYTHONPATH=. /venv/bin/python -m pytest -q -p no:cacheprovider tests/metrics/cdm'
