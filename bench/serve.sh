#!/usr/bin/env bash
# How the server holds under load: single titles on a model of 27,754 subjects, 500 requests a second and then as many as it can.
# Wants wrk, a release build (OVE) and the titles (OVE_DATA/yso-titles). SECONDS_EACH is 60 if not given.
set -euo pipefail
cd "$(dirname "$0")/.."
ove=${OVE:-target/release/ove}
data=${OVE_DATA:?the folder with yso-titles}/yso-titles
seconds=${SECONDS_EACH:-60}
out=bench/out
mkdir -p "$out"
command -v wrk >/dev/null || { echo "wrk is not here (Debian has it as a package)" >&2; exit 2; }

# All titles, and each subject by its own name, so that those without a title are there too: it is about the number of classes, not about quality.
zcat "$data"/train.tsv.gz "$data"/test.tsv.gz >"$out/titles.tsv"
cut -f1 "$out/titles.tsv" | awk 'NR % 300 == 0' >"$out/titles.txt"
zcat "$data"/labels.tsv.gz | awk -F'\t' '{ print $2 "\t" $1 }' >>"$out/titles.tsv"
"$ove" train "$out/titles.tsv" -o "$out/serve.model" 2>&1 | head -1

"$ove" serve "$out/serve.model" --listen 127.0.0.1:0 2>"$out/serve.log" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
start=$(date +%s%N)
until grep -q listening "$out/serve.log"; do
    kill -0 "$server" || { cat "$out/serve.log"; exit 1; }
    sleep 0.005
done
echo "starts in $((($(date +%s%N) - start) / 1000000)) ms ($(du -h "$out/serve.model" | cut -f1) of model)"
url=$(sed 's/.*\(http[^ ]*\).*/\1/' "$out/serve.log")
export TITLES="$out/titles.txt"

# 55 connections that rest for 100 ms on average make a little more than 500 requests a second.
PAUSE=100 wrk --threads 1 --connections 55 --duration "${seconds}s" --timeout 5s --script bench/serve.lua "$url" | tail -1 | sed 's/^/at 500: /'
PAUSE=0 wrk --threads 1 --connections 32 --duration "${seconds}s" --timeout 5s --script bench/serve.lua "$url" | tail -1 | sed 's/^/at most: /'
kill -TERM "$server"
wait "$server"
