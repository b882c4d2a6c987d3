#!/usr/bin/env bash
# Starts bin/troupe with the embedded model on a free port and drives it with popular
# clients for Node. A hub of the tests runs beside it, for Hugging Face's client, and a
# server whose model holds dialogues with tools (TestServeAssistant of package httpapi).
# With DIR, the folder of the conformance data, ajv validates samples of JSON Schemas.
set -euo pipefail
cd "$(dirname "$0")"
troupe=${BIN:-../../../bin/troupe}
for tool in node npm; do
  command -v "$tool" >/dev/null || { echo "$tool is missing; install Node 20 or newer" >&2; exit 1; }
done
data=${DIR:+$(cd "$OLDPWD" && cd "$DIR" && pwd)}
[ -x "$troupe" ] || { echo "bin/troupe is missing; run make build" >&2; exit 1; }
npm ci --no-audit --no-fund --loglevel=error

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
export TROUPE_URL="http://127.0.0.1:$port" TROUPE_KEY=client-test-key
max_open=16
log=$(mktemp)
# The settings of the shell that runs this must not change the server.
env -u TROUPE_URL -u TROUPE_KEY "$troupe" serve --port "$port" --api-key "$TROUPE_KEY" --max-open-requests "$max_open" >"$log" 2>&1 &
server=$!
work=$(mktemp -d)
(cd ../../.. && go build -o "$work/hub" ./testkit/hubtest/server)
"$work/hub" >"$work/address" &
hub=$!
(cd ../../.. && go test -c -o "$work/assistant" ./actors/intake/httpapi)
(cd ../../../actors/intake/httpapi && TROUPE_ASSISTANT="$work/assistant.url" exec "$work/assistant" -test.run '^TestServeAssistant$' -test.timeout 0) >"$work/assistant.log" 2>&1 &
assistant=$!
stop() {
  status=$?
  kill "$server" "$hub" "$assistant" 2>/dev/null || true
  wait "$server" "$hub" 2>/dev/null || true
  # It fails if it was asked for a step that no engine may ask for.
  wait "$assistant" || { status=1; cat "$work/assistant.log" >&2; }
  [ "$status" = 0 ] || tail -n 40 "$log" >&2
  rm -rf "$log" "$work"
  exit "$status"
}
trap stop EXIT

ready=
for _ in $(seq 300); do
  if node -e 'fetch(process.env.TROUPE_URL + "/readyz").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))'; then
    ready=yes
    break
  fi
  kill -0 "$server" 2>/dev/null || { echo "the server ended before it was ready" >&2; exit 1; }
  sleep 0.1
done
[ -n "$ready" ] || { echo "the server was not ready in time" >&2; exit 1; }
for _ in $(seq 300); do
  [ ! -s "$work/assistant.url" ] || break
  kill -0 "$assistant" 2>/dev/null || break
  sleep 0.1
done
[ -s "$work/assistant.url" ] || { echo "the server of dialogues was not ready in time" >&2; exit 1; }
export TROUPE_HUB TROUPE_BIN TROUPE_ASSISTANT_URL
TROUPE_ASSISTANT_URL=$(cat "$work/assistant.url")
TROUPE_HUB=$(cat "$work/address")
TROUPE_BIN=$(cd "$(dirname "$troupe")" && pwd)/$(basename "$troupe")
TROUPE_MAX_OPEN=$max_open npm test --silent
[ -z "$data" ] || node samples.js "$data/structured/maskbench.jsonl.xz" "$TROUPE_BIN"
