# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# To be sourced: one line on a terminal that says how far a long run is, rewritten in place, gone at the end. Nothing is
# written where standard error is no terminal.

progress_ticker=

progress_hide() {
    if [[ -n $progress_ticker ]]; then
        kill "$progress_ticker" 2>/dev/null || true
        wait "$progress_ticker" 2>/dev/null || true
        progress_ticker=
    fi
    if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

# With a log: its last line is shown too, every second, until progress_hide.
progress_say() { # TEXT [LOG]
    [[ -t 2 ]] || return 0
    progress_hide
    local width
    width=$(stty size <&2 2>/dev/null | cut -d' ' -f2) || true
    ((width > 1)) || width=80
    printf '\r\033[K%.*s' "$((width - 1))" "$1" >&2
    [[ -n ${2:-} ]] || return 0
    # The lock of the script that sources this is not the ticker's to hold.
    (
        trap 'exit 0' TERM
        while sleep 1 & wait $!; do
            line=$(tail -n 1 "$2" 2>/dev/null | tr -cd '[:print:]')
            printf '\r\033[K%.*s' "$((width - 1))" "$1${line:+: $line}" >&2
        done
    ) 9>&- </dev/null >/dev/null &
    progress_ticker=$!
}
