#!/bin/sh
# Checks the units of packaging/systemd: that systemd accepts every line, and that the sandbox has not been weakened by
# accident. `systemd-analyze` rates exposure from 0 to 10; here the numbers are tenths.
set -eu
cd "$(dirname "$0")/systemd"

if ! command -v systemd-analyze >/dev/null 2>&1; then
    echo "packaging/check.sh: no systemd-analyze on this machine, so the units cannot be checked here" >&2
    exit 1
fi

# The units name files of an installed package, so they are checked in a folder with such files.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/usr/bin" "$root/bin" "$root/etc/systemd/system" "$root/usr/lib/systemd/system"
for program in usr/bin/chandler bin/kill; do
    printf '#!/bin/sh\n' >"$root/$program"
    chmod 755 "$root/$program"
done
cp ./*.service ./*.timer "$root/etc/systemd/system/"
for unit in /usr/lib/systemd/system/*.target /lib/systemd/system/*.target; do
    [ -e "$unit" ] && cp -L "$unit" "$root/usr/lib/systemd/system/" || true
done

understood() {
    words=$(systemd-analyze verify --man=no --recursive-errors=one --root="$root" \
        chandler.service chandler-backup.service chandler-backup.timer 2>&1) || { echo "$words"; exit 1; }
    if [ -n "$words" ]; then
        echo "$words" >&2
        exit 1
    fi
}
understood
# Once more as a node on PostgreSQL.
mkdir "$root/etc/systemd/system/chandler.service.d"
cp node.conf "$root/etc/systemd/system/chandler.service.d/"
understood

# unit and its maximum exposure
for pair in chandler.service:13 chandler-backup.service:10; do
    unit=${pair%:*} most=${pair#*:}
    systemd-analyze security --offline=true --no-pager --threshold="$most" "$PWD/$unit" >"$root/report" || {
        cat "$root/report"
        echo "packaging/check.sh: $unit is exposed more than $most tenths" >&2
        exit 1
    }
    tail -1 "$root/report"
done
systemd-analyze calendar --iterations=1 "$(sed -n 's/^OnCalendar=//p' chandler-backup.timer)" >/dev/null
echo "units: accepted"
