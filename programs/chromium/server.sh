#!/bin/sh
# nginx, with a page of 100 pictures of 20 kB in $OUT. The page shows how long it took to load, in ms.
set -eu
mkdir -p "$OUT/files"
cd "$OUT/files"
{
    cat <<'PAGE'
<!doctype html>
<title>100 objects</title>
<script>
addEventListener('load', () => {
    const took = performance.getEntriesByType('resource').filter(entry => entry.transferSize > 20000);
    document.querySelector('output').textContent = `${took.length} objects in ${performance.now().toFixed(0)} ms`;
});
</script>
<output></output>
PAGE
    for picture in $(seq 100); do
        { echo '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><!--'; head -c 14925 /dev/urandom | base64; echo '--></svg>'; } > "$picture.svg"
        echo "<img src=$picture.svg>"
    done
} > index.html
cd - >/dev/null
cp programs/nginx-curl/nginx.conf "$OUT"
exec nginx -p "$OUT" -c nginx.conf
