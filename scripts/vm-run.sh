#!/bin/sh
# Runs a program in the virtual machine of `make vm`, with the modules that tests use: for cargo,
# whose tests then run there. L4S is the command l4s, VM_OPTIONS are of `l4s vm`.
# shellcheck disable=SC2086
exec "$L4S" vm --time-limit 3000s ${VM_OPTIONS:-} -- \
    sh -c 'modprobe -a -q tun veth dummy sch_dualpi2; exec "$@"' sh "$@"
