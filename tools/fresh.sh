#!/usr/bin/env bash
# Makes a bare Debian 12 root in .fresh/root, puts a clone of HEAD in from outside, and runs there what the README tells a new
# user to run. Package settings (apt and pip) are taken over from this machine. Called by `./run fresh`, as root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD/.fresh/root
verbs=("$@")
((${#verbs[@]})) || verbs=(demo test)

command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap </dev/null

mounted=()
release() { local m; for m in "${mounted[@]}"; do umount "$m" || true; done; }
trap release EXIT

# A root left behind by an earlier run goes; never through a mount that is still there.
if grep -q " $root/" /proc/mounts; then echo "fresh: something is still mounted below .fresh/root" >&2; exit 1; fi
rm -rf --one-file-system .fresh
mkdir -p .fresh

# The archive that this machine's own apt reads Debian 12 from.
archive=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "bookworm" {print $2; exit}')
debootstrap --variant=minbase bookworm "$root" "${archive:-http://deb.debian.org/debian}" >.fresh/debootstrap.log 2>&1 ||
  { tail -n 20 .fresh/debootstrap.log >&2; exit 1; }

# apt's settings, keys included; then the names it must be able to look up.
rm -f "$root/etc/apt/sources.list"
for part in sources.list sources.list.d apt.conf.d auth.conf.d preferences preferences.d keyrings trusted.gpg trusted.gpg.d; do
  if [[ -e /etc/apt/$part ]]; then rm -rf "${root:?}/etc/apt/$part"; cp -a "/etc/apt/$part" "$root/etc/apt/"; fi
done
for key in $(grep -rhoE '[Ss]igned-[Bb]y[:=] *[^] ]+' /etc/apt/sources.list* 2>/dev/null | sed 's|^[^/]*||' | sort -u); do
  if [[ -f $key ]]; then install -D -m 644 "$key" "$root$key"; fi
done
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"

# pip's settings, and this machine's certificates under a name that installing ca-certificates does not rewrite.
bundle=/etc/ssl/tenon-fresh-certificates.crt
own=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}
environment=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=true)
if [[ -f $own ]]; then
  mkdir -p "$root/etc/ssl"
  cp -L "$own" "$root$bundle"
  environment+=(PIP_CERT=$bundle SSL_CERT_FILE=$bundle)
  echo "Acquire::https::CAInfo \"$bundle\";" >"$root/etc/apt/apt.conf.d/99certificates"
fi
for file in /etc/pip.conf "$HOME/.config/pip/pip.conf"; do [[ -f $file ]] && cp "$file" "$root/etc/pip.conf"; done
while IFS='=' read -r name value; do
  [[ $name == JOBS || $name == PIP_INDEX_URL || $name == PIP_EXTRA_INDEX_URL || $name == *_proxy || $name == *_PROXY ]] && environment+=("$name=$value")
done < <(env)

git clone -q . "$root/tenon"
for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; mount --make-rslave "$root/$folder"; mounted+=("$root/$folder"); done
release() { local m; for m in "${mounted[@]}"; do umount -R -l "$m" || true; done; }

TIMEFORMAT='== took %R s, of which the processors worked %U + %S s'
for verb in "${verbs[@]}"; do
  echo "== fresh: ./run $verb"
  time chroot "$root" env -i "${environment[@]}" bash -c "cd /tenon && ./run $verb </dev/null"
  echo "== fresh: ./run $verb passed"
done
