# SPDX-License-Identifier: BSD-3-Clause
"""All executions of a few short threads under the memory order of C++20, as far as operations in the order of the program
show it: what x86-64, on which the stress tests run, never does, is among them.

Memory keeps, for each location, every value that was ever stored there. A thread has a view: for each location, the oldest
value that it may still read. A load takes any value from there on, so that a stale one is always tried. A release store
puts the thread's view beside the value; an acquire load of it takes that view over. A read-modify-write takes the last value,
and carries on the view that was beside it (the release sequence). Of sequentially consistent accesses the order of
execution is the one total order: such a load reads nothing older than such a store to its location that was before it.
Fences of that kind exchange whole views.

Two things are looked for: a result that the case forbids, and a read of something that is freed or unmapped without
having happened before that ("happens before" is kept as vector clocks, in the same views).

Left out: a load that returns what a later store of its own thread has led to (load buffering), which the clocks see as
a read that did not happen before; and modification orders other than the order of execution, which takes two threads that
store to one location without reading it. Two is also what the cases avoid.

A thread is a generator that yields operations and is sent their results:
    load(place, order)                     the value
    wait(place, order, test)               the value, once there is one to read that passes the test
    store(place, value, order)
    change(place, function, order)         the old value; nothing is stored where the function returns None
    fence(order)                           seq_cst only
    fence_in(thread)                       the same, in another thread: what membarrier does to each
    use(place)                             reads what free() ends
    free(place)
What a thread returns is its part of the result."""
import collections

Load = collections.namedtuple("Load", "place order test")
Store = collections.namedtuple("Store", "place value order")
Change = collections.namedtuple("Change", "place function order")
Fence = collections.namedtuple("Fence", "thread")
Use = collections.namedtuple("Use", "place")
Free = collections.namedtuple("Free", "place")

ACQUIRES = ("acquire", "acq_rel", "seq_cst")
RELEASES = ("release", "acq_rel", "seq_cst")


def load(place, order="relaxed"):
    return Load(place, order, None)


def wait(place, order, test):
    return Load(place, order, test)


def store(place, value, order="relaxed"):
    return Store(place, value, order)


def change(place, function, order):
    return Change(place, function, order)


def fence():
    return Fence(None)


def fence_in(thread):
    return Fence(thread)


def use(place):
    return Use(place)


def free(place):
    return Free(place)


class Misuse(Exception):
    """Something was read after it was freed, or without having happened before that."""


def join(one, other):
    return one if one is other else tuple(map(max, one, other))


class Run:
    """One state: where each thread stands, what it may see, and what is in memory. Copied at each step."""
    __slots__ = ("sent", "views", "memory", "in_order", "fenced", "uses", "freed")

    def __init__(self, threads, memory, places):
        self.sent = ((),) * threads  # what each thread has been sent, which tells where it is
        self.views = ((0,) * (places + threads),) * threads
        self.memory = memory  # for each place its values, each with the view beside it
        self.in_order = (0,) * places  # by the accesses of the total order, the oldest value that the next may read
        self.fenced = (0,) * (places + threads)
        self.uses = frozenset()  # place, thread, that thread's clock
        self.freed = frozenset()

    def copy(self):
        other = Run.__new__(Run)
        for name in Run.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def key(self):
        return tuple(getattr(self, name) for name in Run.__slots__)


def put(sequence, index, value):
    return sequence[:index] + (value,) + sequence[index + 1:]


class Explorer:
    def __init__(self, start, threads):
        """start: the first value of each place; threads: functions without arguments that make the generators."""
        self.names = list(start)
        self.at = {name: i for i, name in enumerate(self.names)}
        self.threads = threads
        nothing = (0,) * (len(start) + len(threads))
        self.first = Run(len(threads), tuple(((value, nothing),) for value in start.values()), len(start))
        self.results = set()
        self.misuses = set()
        self.states = 0

    # The operation that a thread does next, or what it has returned.
    def next_of(self, run, thread):
        generator = self.threads[thread]()
        try:
            operation = next(generator)
            for value in run.sent[thread]:
                operation = generator.send(value)
        except StopIteration as end:
            return None, end.value
        return operation, None

    def explore(self):
        seen = set()
        stack = [self.first]
        while stack:
            run = stack.pop()
            key = run.key()
            if key in seen:
                continue
            seen.add(key)
            ended = []
            for thread in range(len(self.threads)):
                operation, value = self.next_of(run, thread)
                if operation is None:
                    ended.append(value)
                    continue
                try:
                    stack.extend(self.steps(run, thread, operation))
                except Misuse as misuse:
                    self.misuses.add(str(misuse))
            if len(ended) == len(self.threads):
                self.results.add(tuple(ended))
        self.states = len(seen)
        return self

    def steps(self, run, thread, operation):
        kind = type(operation)
        if kind is Load:
            return self.loads(run, thread, operation)
        if kind is Store:
            return [self.stored(run, thread, operation.place, operation.value, operation.order, None, None)]
        if kind is Change:
            return self.changes(run, thread, operation)
        if kind is Fence:
            return [self.fenced(run, thread, thread if operation.thread is None else operation.thread)]
        return [self.used(run, thread, operation) if kind is Use else self.ended(run, thread, operation)]

    def sent(self, run, thread, value):
        after = run.copy()
        after.sent = put(run.sent, thread, run.sent[thread] + (value,))
        return after

    def oldest(self, run, thread, place, order):
        oldest = run.views[thread][place]
        return max(oldest, run.in_order[place]) if order == "seq_cst" else oldest

    def read(self, run, thread, place, index, order):
        value, beside = run.memory[place][index]
        after = self.sent(run, thread, value)
        view = run.views[thread]
        view = put(view, place, max(view[place], index))
        if order in ACQUIRES:
            view = join(view, beside)
        after.views = put(run.views, thread, view)
        if order == "seq_cst":
            after.in_order = put(run.in_order, place, max(run.in_order[place], index))
        return after

    def loads(self, run, thread, operation):
        place = self.at[operation.place]
        values = run.memory[place]
        for index in range(self.oldest(run, thread, place, operation.order), len(values)):
            if operation.test is None or operation.test(values[index][0]):
                yield self.read(run, thread, place, index, operation.order)

    # carried: the view beside the value that a read-modify-write has taken.
    def stored(self, run, thread, name, value, order, carried, result):
        place = self.at[name]
        index = len(run.memory[place])
        after = self.sent(run, thread, result)
        view = put(run.views[thread], place, index)
        after.views = put(run.views, thread, view)
        beside = view if order in RELEASES else put((0,) * len(view), place, index)
        if carried is not None:
            beside = join(beside, carried)
        after.memory = put(run.memory, place, run.memory[place] + ((value, beside),))
        if order == "seq_cst":
            after.in_order = put(run.in_order, place, index)
        return after

    def changes(self, run, thread, operation):
        place = self.at[operation.place]
        last = len(run.memory[place]) - 1
        old, carried = run.memory[place][last]
        new = operation.function(old)
        if new is not None:
            after = self.read(run, thread, place, last, operation.order)
            after.sent = run.sent
            yield self.stored(after, thread, operation.place, new, operation.order, carried, old)
            return
        # An exchange that fails is a load, which may read an older value that makes it fail too.
        for index in range(self.oldest(run, thread, place, operation.order), last + 1):
            if operation.function(run.memory[place][index][0]) is None:
                yield self.read(run, thread, place, index, operation.order)

    def fenced(self, run, thread, where):
        after = self.sent(run, thread, None)
        places = len(self.names)
        # Such a fence sees, and shows, what the accesses of the total order have done; clocks are not its matter.
        view = run.views[where]
        seen = tuple(map(max, view[:places], run.in_order, run.fenced[:places]))
        after.views = put(run.views, where, seen + view[places:])
        after.fenced = seen + run.fenced[places:]
        after.in_order = tuple(map(max, run.in_order, seen))
        return after

    def used(self, run, thread, operation):
        if operation.place in run.freed:
            raise Misuse("%s is used after it was freed" % operation.place)
        after = self.sent(run, thread, None)
        clock = len(self.names) + thread
        now = run.views[thread][clock] + 1
        after.views = put(run.views, thread, put(run.views[thread], clock, now))
        after.uses = run.uses | {(operation.place, thread, now)}
        return after

    def ended(self, run, thread, operation):
        for place, user, clock in run.uses:
            if place == operation.place and run.views[thread][len(self.names) + user] < clock:
                raise Misuse("%s is freed beside its use" % place)
        after = self.sent(run, thread, None)
        after.freed = run.freed | {operation.place}
        return after
