#!/bin/sh
# Tests the configurations of this folder: each proxy in turn in front of a server with a demo market, with requests by curl,
# by the Python SDK and over raw TCP. Everything runs in a separate network namespace, so it needs root, and uses no port of the
# machine. Debian packages: nginx libnginx-mod-stream haproxy caddy curl openssl iproute2.
#
#   packaging/proxy/try.sh [nginx|caddy|haproxy…]
#
# CHANDLER names the executable (target/release/chandler), PYTHON one that has the SDK (target/e2e/venv/bin/python), ROOT a
# folder into which the packages were unpacked, if they are not installed.
set -eu
cd "$(dirname "$0")/../.."
if [ "${TRY_INSIDE-}" != yes ]; then
    TRY_INSIDE=yes exec unshare --net --fork --kill-child "$0" "$@"
fi

chandler=${CHANDLER:-$PWD/target/release/chandler}
python=${PYTHON:-$PWD/target/e2e/venv/bin/python}
root=${ROOT:-}
LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH
work=$(mktemp -d)
pids=
cleanup() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap cleanup EXIT
# The address of the client, different from the proxy's.
client=192.0.2.7
ip link set lo up
ip address add $client/32 dev lo
name=candles.example.com

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" -addext "subjectAltName=DNS:$name" \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
cat "$work/cert.pem" "$work/key.pem" >"$work/both.pem"

CHANDLER_STORE=sqlite:$work/store
export CHANDLER_STORE
"$chandler" demo >/dev/null
"$chandler" account create ann --rate unlimited --quota 1000 --format json >"$work/account.json"
"$chandler" account create boss --role operator --format json >"$work/operator.json"
field() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }
"$chandler" serve --trusted-proxy 127.0.0.1 --public-url "https://$name" >"$work/serve.log" 2>&1 &
pids="$pids $!"

# begun URL: waits until a server answers there
begun() {
    tries=0
    until curl -sko /dev/null "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { echo "nothing answers at $1" >&2; cat "$work"/*.log >&2; exit 1; }
        sleep 0.1
    done
}
begun http://127.0.0.1:8080/

# Each has a plain listener next to the one with TLS: the SDK trusts only public certificates.
start() {
    case $1 in
    nginx)
        sed -e "s,/etc/letsencrypt.*fullchain.pem,$work/cert.pem," -e "s,/etc/letsencrypt.*privkey.pem,$work/key.pem," \
            -e 's/listen 443 ssl;/listen 443 ssl; listen 80;/' packaging/proxy/nginx.conf >"$work/nginx-http.conf"
        cat >"$work/nginx.conf" <<END
load_module $root/usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; pid $work/nginx.pid; error_log $work/nginx.log;
events {}
http { access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi; include $work/nginx-http.conf; }
END
        cat packaging/proxy/nginx-stream.conf >>"$work/nginx.conf"
        "$root/usr/sbin/nginx" -c "$work/nginx.conf" &
        ;;
    caddy)
        # No public certificates are available here, so Caddy signs its own.
        { echo '{
	admin off
	skip_install_trust
	auto_https disable_redirects
	local_certs
}'
            cat packaging/proxy/Caddyfile
            sed "s,^$name,http://$client," packaging/proxy/Caddyfile
        } >"$work/Caddyfile"
        HOME=$work XDG_DATA_HOME=$work "$root/usr/bin/caddy" run --config "$work/Caddyfile" --adapter caddyfile >"$work/caddy.log" 2>&1 &
        ;;
    haproxy)
        sed -e "s,/etc/haproxy/certs/.*\.pem,$work/both.pem," -e "s/maxconn 20000/maxconn 200/" -e 's/^\(    bind :443 .*\)/\1\n    bind :80/' \
            packaging/proxy/haproxy.cfg >"$work/haproxy.cfg"
        "$root/usr/sbin/haproxy" -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
        ;;
    esac
    proxy=$!
    pids="$pids $proxy"
}

check() {
    proxy_name=$1
    start "$proxy_name"
    secure="--resolve $name:443:$client -k"
    begun "http://$client/"
    token=$(field "$work/account.json" access_token)

    # shellcheck disable=SC2086
    curl -fsS $secure "https://$name/v1/quote/history-candlesticks?symbol=CNDL.US&count=5" -H "authorization: Bearer $token" \
        >"$work/answer.json"
    grep -q '"candlesticks"' "$work/answer.json"
    echo "$proxy_name: HTTPS: $(head -c 60 "$work/answer.json")…"

    # A forged address must be ignored: the log has the real address of the refused client.
    # shellcheck disable=SC2086
    curl -sS -o /dev/null $secure "https://$name/v1/socket/token" -H "authorization: Bearer ap_of-$proxy_name" \
        -H 'X-Forwarded-For: 203.0.113.9' -H 'Forwarded: for=203.0.113.8'
    "$chandler" audit --event login.refused --limit 1 | tail -1 | tee "$work/audit" | sed "s/^/$proxy_name: audit: /"
    grep -q "address $client" "$work/audit"

    # Endpoints that are open to local programs without signing in are not open through the proxy.
    # shellcheck disable=SC2086
    [ "$(curl -s -o /dev/null -w '%{http_code}' $secure "https://$name/metrics")" != 200 ]

    # The upgrade with TLS, up to the server's handshake response.
    # shellcheck disable=SC2086
    curl -sS -i --http1.1 --max-time 2 $secure "https://$name/v2?version=1&codec=1&platform=9" -H 'connection: Upgrade' -H 'upgrade: websocket' \
        -H 'sec-websocket-version: 13' -H 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==' >"$work/upgrade" 2>/dev/null || true
    grep -aq '^HTTP/1.1 101' "$work/upgrade"
    echo "$proxy_name: WSS: $(head -1 "$work/upgrade" | tr -d '\r')"

    # The unmodified SDK, and its connection as the operator sees it.
    "$python" packaging/proxy/ask.py "http://$client" "$work/account.json" "$work/operator.json" "$client" | sed "s/^/$proxy_name: /"

    if [ "$proxy_name" != caddy ]; then
        "$python" packaging/proxy/ask.py --tcp "$client:2021" | sed "s/^/$proxy_name: /"
    fi
    kill "$proxy"
    wait "$proxy" 2>/dev/null || true
}

for one in ${*:-nginx caddy haproxy}; do check "$one"; done
echo "all checks passed"
