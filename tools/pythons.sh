#!/usr/bin/env bash
# Runs the tests with another version of Python, in a root file system of a Debian release that has it.
#
# Usage: tools/pythons.sh VERSION [ARGUMENT OF MAKE]...
#
# VERSION is one of those in the table below. Debian has no interpreters without the GIL, so for 3.14t
# and 3.15t Python is compiled from Debian's source package. The tests are those of HEAD. The command
# `make test` runs them with that release's compiler and the peers that have wheels for that version.
# The last line names the versions, the commit and the result.
#
# It needs root and Debian. The packages come from the mirror that apt uses. A root file system takes
# 2 to 4 GB in build/pythons/. It is used again.
#
# shellcheck disable=SC2016 # the inner shells expand what is in single quotes
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?"usage: tools/pythons.sh VERSION [ARGUMENT OF MAKE]..."}
shift
peers=light require=host,sycl,numpy,ml_dtypes,jax
case $version in
3.11) release=bookworm require+=,dpctl,dpnp ;;
3.13) release=trixie require+=,dpctl,dpnp ;;
3.14) release=forky require+=,dpctl,dpnp ;;
3.15) release=forky ;;
3.14t | 3.15t) release=forky peers=free-threaded ;;
*) echo "No Debian release that is available here has Python $version: 3.11, 3.13, 3.14, 3.14t, 3.15 and 3.15t can be asked for." >&2 && exit 2 ;;
esac
if ((EUID != 0)); then
    echo "tools/pythons.sh unpacks and enters a root file system, which needs root." >&2
    exit 1
fi
SYSTEM_PACKAGES=install tools/system_packages.sh mmdebstrap

root=$(realpath -m "build/pythons/$version")
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
if [[ -z $mirror ]]; then
    echo "apt has no mirror of Debian to unpack a root file system from." >&2
    exit 1
fi

# Runs a script in the root, with this machine's network. Processes that it leaves end with it.
inside() {
    cp --remove-destination -L /etc/resolv.conf /etc/hosts "$root/etc/"
    touch "$root/etc/pip.conf"
    cp --remove-destination -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
        mount --rbind /dev "$0/dev"
        mount --rbind /sys "$0/sys"
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/tmp"
        [[ ! -e /etc/pip.conf ]] || mount --bind /etc/pip.conf "$0/etc/pip.conf"
        exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
            ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} bash -euo pipefail -c "$@"
    ' "$root" "$@"
}

if [[ ! -e $root/.complete ]]; then
    rm -rf "$root"
    mkdir -p "$root"
    packages=ca-certificates,doctest-dev,g++,git,libffi-dev,make
    if [[ $version == *t ]]; then
        packages+=,dpkg-dev,libbz2-dev,libexpat1-dev,liblzma-dev,libsqlite3-dev,libssl-dev,pkgconf,xz-utils,zlib1g-dev
    else
        packages+=",python$version-dev,python$version-venv"
    fi
    apt-config dump | grep '^Acquire::Check-' >"$root.apt" || true # checks of dates, as on this machine
    mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" --aptopt="$root.apt" "$release" "$root" \
        "deb $mirror $release main" "deb-src $mirror $release main"
    if [[ $version == *t ]]; then
        inside '
            apt-get update -qq
            cd /usr/src
            apt-get source -qq -o APT::Sandbox::User=root "python$1"
            cd "python$1"-*/
            ./configure -q --disable-gil --prefix=/usr/local
            make -s -j "$(nproc)"
            make -s altinstall
        ' bash "${version%t}" >"$root/python.log" 2>&1 || {
            tail -20 "$root/python.log" >&2
            exit 1
        }
    fi
    touch "$root/.complete"
fi

rm -rf "$root/entrepot"
git clone -q --no-hardlinks . "$root/entrepot"
inside '
    cd /entrepot
    python=python$1 require=$2
    shift 2
    ENTREPOT_REQUIRE=$require make test PYTHON="$python" "$@" | tee /entrepot/test.log
' bash "$version" "$require" PEERS="$peers" "$@"

# The first summary is that of all tests.
passed=$(grep -m1 -oE '[0-9]+ passed(, [0-9]+ skipped)?' "$root/entrepot/test.log") || {
    echo "$root/entrepot/test.log has no summary of pytest." >&2
    exit 1
}
inside '
    python=$("python$1" -c "import platform; print(platform.python_version())")
    echo "| $python$2 | $3 | $(g++ -dumpfullversion) | $4 | $5 |"
' bash "$version" "$([[ $version != *t ]] || echo " without the GIL")" "$release" "$(git -C "$root/entrepot" rev-parse --short HEAD)" "$passed"
