# SPDX-License-Identifier: BSD-3-Clause
"""One line on a terminal that says how far a long run is: rewritten in place, gone at the end. Nothing is written where
standard error is no terminal."""
import os
import sys


class Progress:
    """With `with`, or with an end() that is called whatever happens."""

    def __init__(self, stream=sys.stderr):
        self.stream, self.shown = stream, False
        self.on = stream.isatty()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hide()

    def say(self, text):
        if not self.on:
            return
        width = os.get_terminal_size(self.stream.fileno()).columns or 80
        self.stream.write("\r\033[K" + text[: width - 1])
        self.stream.flush()
        self.shown = True

    def hide(self):
        """Before something else is written, and at the end."""
        if self.shown:
            self.stream.write("\r\033[K")
            self.stream.flush()
        self.shown = False
