# Functions for root file systems of Debian releases, which other scripts here source.
#
# They need root. The packages come from the mirror that apt uses. A root file system is made once, in
# build/roots/, and used again. One of another processor needs a kernel with binfmt_misc: QEMU runs its
# programs. Its compiler is this machine's cross compiler, which is not emulated.
#
# shellcheck shell=bash
# shellcheck disable=SC2016 # the inner shells expand what is in single quotes

# Prints the Debian release that has a version of Python, or the source package of that version.
release_of() {
    case $1 in
    3.11) echo bookworm ;;
    3.13 | 3.13t) echo trixie ;;
    3.14 | 3.14t | 3.15 | 3.15t) echo forky ;;
    *) echo "No Debian release that is available here has Python $1: 3.11, 3.13, 3.13t, 3.14, 3.14t, 3.15 and 3.15t can be asked for." >&2 && return 2 ;;
    esac
}

# Makes a root file system, unless it is there: make_root ROOT RELEASE PROCESSOR PACKAGES COMMANDS
#
# PROCESSOR is one of Debian's names, and PACKAGES are separated by commas. The new root executes
# COMMANDS.
make_root() {
    local root=$1 release=$2 processor=$3 packages=$4 commands=${5:-} own mirror
    if ((EUID != 0)); then
        echo "Only root can unpack and enter a root file system." >&2
        return 1
    fi
    own=$(dpkg --print-architecture)
    [[ $processor == "$own" ]] || prepare_emulation "$processor"
    [[ ! -e $root/.complete ]] || return 0
    SYSTEM_PACKAGES=install tools/system_packages.sh mmdebstrap
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
    if [[ -z $mirror ]]; then
        echo "apt has no mirror of Debian to unpack a root file system from." >&2
        return 1
    fi
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    if [[ $processor != "$own" ]]; then
        packages=${packages/,g++/}
        commands='
            ln -s /host/lib64 /lib64
            ln -s /host/lib/x86_64-linux-gnu /host/lib/gcc-cross /usr/lib/
            ln -s /host/aarch64-linux-gnu /usr/
            ln -s /host/bin/aarch64-linux-gnu-* /usr/bin/
            # A cross compiler does not know the processor that runs the programs.
            for name in c++:g++ g++:g++ cc:gcc gcc:gcc; do
                printf "#!/bin/bash\nexec aarch64-linux-gnu-%s \"\${@/-march=native/-march=armv8-a}\"\n" "${name#*:}" \
                    >"/usr/bin/${name%:*}"
                chmod +x "/usr/bin/${name%:*}"
            done
            '$commands
    fi
    apt-config dump | grep '^Acquire::Check-' >"$root.apt" || true # checks of dates, as on this machine
    # Its mounts of /dev and /sys end with it, even if it is killed.
    unshare --mount mmdebstrap --quiet --mode=root --variant=minbase --architectures="$processor" \
        --include="$packages" --aptopt="$root.apt" "$release" "$root" "deb $mirror $release main" "deb-src $mirror $release main"
    [[ $processor == "$own" ]] || mkdir "$root/host"
    in_root "$root" "$commands" >"$root.log" 2>&1 || {
        tail -20 "$root.log" >&2
        return 1
    }
    touch "$root/.complete"
}

# Makes one with a version of Python and all else that `make test` needs from Debian: make_python_root
# ROOT VERSION PROCESSOR
#
# Debian has no interpreters without the GIL. That of 3.13t is compiled from the source of Debian's 3.13,
# without Debian's changes, with which virtual environments do not find their packages.
make_python_root() {
    local root=$1 version=$2 processor=$3 release
    release=$(release_of "$version")
    local packages=ca-certificates,doctest-dev,g++,git,libffi-dev,make
    if [[ $version == *t ]]; then
        packages+=,dpkg-dev,libbz2-dev,libexpat1-dev,liblzma-dev,libsqlite3-dev,libssl-dev,pkgconf,xz-utils,zlib1g-dev
        make_root "$root" "$release" "$processor" "$packages" "
            apt-get update -qq
            cd /usr/src
            apt-get source -qq --download-only -o APT::Sandbox::User=root python${version%t}
            tar -xf python${version%t}_*.orig.tar.xz
            cd Python-${version%t}*/
            ./configure -q --disable-gil --prefix=/usr/local --with-ensurepip=no
            make -s -j $(nproc)
            make -s altinstall"
    else
        make_root "$root" "$release" "$processor" "$packages,python$version-dev,python$version-venv"
    fi
}

# Has the kernel start programs of the processor by QEMU, also below another root.
prepare_emulation() {
    local registered=/proc/sys/fs/binfmt_misc
    [[ $1 == arm64 ]] || { echo "$1 cannot be emulated, only arm64." >&2 && return 2; }
    SYSTEM_PACKAGES=install tools/system_packages.sh arm64
    [[ -e $registered/register ]] || mount -t binfmt_misc binfmt_misc "$registered"
    [[ -e $registered/qemu-aarch64 ]] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$registered/register"
}

# Runs a script in a root, with this machine's network: in_root ROOT SCRIPT [ARGUMENT]...
#
# Processes that the script leaves end with it. A root of another processor sees /usr as /host.
in_root() {
    local root=$1 script=$2
    shift 2
    cp --remove-destination -L /etc/resolv.conf /etc/hosts "$root/etc/"
    touch "$root/etc/pip.conf"
    cp --remove-destination -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
        mount --rbind /dev "$0/dev"
        mount --rbind /sys "$0/sys"
        mount -t proc proc "$0/proc"
        mount -t tmpfs tmpfs "$0/tmp"
        [[ ! -d $0/host ]] || mount --bind /usr "$0/host"
        [[ ! -e /etc/pip.conf ]] || mount --bind /etc/pip.conf "$0/etc/pip.conf"
        exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
            ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} bash -euo pipefail -c "$@"
    ' "$root" "$script" bash "$@"
}
