#!/bin/sh
# Tells whether greet.sh greets as it should: exits 0 when all is well.
cd "$(dirname "$0")/.." || exit 2
failed=0

# The text that is expected, then the arguments of greet.sh.
expect() {
    expected=$1
    shift
    found=$(sh greet.sh "$@")
    if [ "$found" = "$expected" ]; then
        echo "ok      $expected"
    else
        echo "FAILED  expected '$expected', found '$found'"
        failed=1
    fi
}

expect "Hello, Ada!" Ada
expect "Hello, world!"
expect "Hello, world!" ""
exit "$failed"
