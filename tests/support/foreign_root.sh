# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# To be sourced by tests that run in a root of tests/engines/root: whether one that is not there skips the test or fails it.

# Sets "root" to the path, or ends the script: with 77, a skip, where this machine can make none (with CI=true that is a
# failure too) or the mirror does not answer; with 1 after any other failure, because a root that can be made and is not would
# let the tests in it pass unseen.
# shellcheck disable=SC2034 # who sources this reads "root"
foreign_root() { # NAME
    local status=0
    root=$("$(dirname "${BASH_SOURCE[0]}")/../engines/root" "$1") || status=$?
    case $status in
    0) ;;
    75)
        echo "the root $1 cannot be made now: the mirror does not answer, or another run works on it"
        exit 77
        ;;
    77)
        echo "the root $1 cannot be made here"
        exit 77
        ;;
    *)
        echo "FAIL the root $1 could not be made: exit $status of tests/engines/root"
        exit 1
        ;;
    esac
}
