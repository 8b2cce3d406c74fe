#!/bin/sh
# nginx, with all that it writes and a file of 1 GB in $OUT.
set -eu
mkdir -p "$OUT/files"
truncate -s 1G "$OUT/files/1G"
cp programs/nginx-curl/nginx.conf "$OUT"
exec nginx -p "$OUT" -c nginx.conf
