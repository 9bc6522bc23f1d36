# SPDX-License-Identifier: BSD-3-Clause
"""The patterns of docs/design/memory-order.md, as the library has them, each with the orders of its accesses by name. What a
case forbids must not happen with these orders. With any of them weaker it must, or the order is not needed here: `spare`
then says why it is what it is."""
from model import change, fence, fence_in, free, load, store, use, wait

CASES = {}


def case(**settings):
    """Of a function o -> (first values, threads), where o has the orders by name. start(o)"""
    def keep(function):
        CASES[function.__name__] = dict(settings, build=function, text=function.__doc__)
        return function
    return keep


def odd(value):
    return value % 2 == 1


def plus(number):
    return lambda value: value + number


# --- 1. Publication in a segment -------------------------------------------------------------------------------------
@case(orders={"size_store": "release", "size_load": "acquire", "reference_store": "release", "reference_load": "acquire"},
      forbids=lambda result: result[1] not in (None, (2, 1)),
      spare={"size_store": "the reference, stored later by the same thread, carries the size and the bytes: see published_size",
             "size_load": "what is behind the reference was acquired with it: see published_size"})
def reference(o):
    """A reader that sees a reference finds the size that covers it, and the bytes."""
    def writer():
        yield store("bytes", 1)
        yield store("size", 2, o["size_store"])
        yield store("reference", 1, o["reference_store"])

    def reader():
        if (yield load("reference", o["reference_load"])) == 0:
            return None
        size = yield load("size", o["size_load"])
        return size, (yield load("bytes"))
    return {"bytes": 0, "size": 0, "reference": 0}, [writer, reader]


@case(orders={"size_store": "release", "size_load": "acquire"}, forbids=lambda result: result[1] == (2, 0))
def published_size(o):
    """A thread that reads the new size sees the bytes below it."""
    def writer():
        yield store("bytes", 1)
        yield store("size", 2, o["size_store"])

    def reader():
        size = yield load("size", o["size_load"])
        return size, (yield load("bytes"))
    return {"bytes": 0, "size": 0}, [writer, reader]


@case(orders={"publications_store": "release", "publications_load": "acquire"}, forbids=lambda result: result[1] == (1, 0))
def publications(o):
    """Who sees that something new was published finds it."""
    def writer():
        yield store("reference", 1, "release")
        yield store("publications", 1, o["publications_store"])

    def reader():
        seen = yield load("publications", o["publications_load"])
        return seen, (yield load("reference", "acquire"))
    return {"reference": 0, "publications": 0}, [writer, reader]


@case(orders={"view_store": "release", "view_load": "acquire"}, forbids=lambda result: result[1] == (1, 0))
def view(o):
    """The base and the length of a view are there when the view is."""
    def mapper():
        yield store("base", 1)
        yield store("view", 1, o["view_store"])

    def reader():
        seen = yield load("view", o["view_load"])
        return seen, (yield load("base"))
    return {"base": 0, "view": 0}, [mapper, reader]


@case(orders={"backed_store": "release", "backed_load": "acquire"}, forbids=lambda result: result[1] == (1, 0))
def backed(o):
    """A thread that sees the larger file reads the header of that file."""
    def mapper():
        yield store("header", 1)
        yield store("backed", 1, o["backed_store"])

    def reader():
        seen = yield load("backed", o["backed_load"])
        return seen, (yield load("header"))
    return {"header": 0, "backed": 0}, [mapper, reader]


@case(orders={"readable_exchange": "acq_rel", "readable_load": "acquire"},
      forbids=lambda result: result[3] in ((1, 0, 0), (1, 0, 1), (2, 0, 0), (2, 1, 0), (2, 0, 1)),
      spare={"readable_exchange release": "each value is put there by an exchange, and each exchange carries on what the ones before it "
                                          "released"})
def readable(o):
    """A thread that reads what others have seen of the size, instead of the header, sees the bytes below it."""
    def writer():
        yield store("first", 1)
        yield store("size", 1, "release")
        yield store("second", 1)
        yield store("size", 2, "release")

    def extends():
        published = yield load("size", "acquire")
        yield change("readable", lambda seen: published if seen < published else None, o["readable_exchange"])

    def reader():
        seen = yield load("readable", o["readable_load"])
        first = yield load("first")
        return seen, first, (yield load("second"))
    return {"first": 0, "second": 0, "size": 0, "readable": 0}, [writer, extends, extends, reader]


# --- 2. The private store --------------------------------------------------------------------------------------------
EPOCH = 1000


def private_reader(o):
    def reader():
        entered = yield change("entered", plus(1), o["count_in"])
        node = yield load("slot", o["second_search"])
        yield use(node)
        yield change("left1" if entered >= EPOCH else "left0", plus(1), o["count_out"])
    return reader


# What a put does: replaces what is in the slot, and frees what was replaced when no reader can hold it. The names of
# variables are those of PrivateStore::reclaim.
def private_put(o, values, reclaims):
    def writer():
        retired, draining, drained_at, present = [], [], 0, 0
        for old, new in values:
            yield store("slot", new, o["slot_store"])
            retired.append(old)
            for _ in range(reclaims):
                if draining:
                    left = yield load("left%d" % (present ^ 1), o["left_load"])
                    if left != drained_at:
                        continue
                    yield store("left%d" % (present ^ 1), 0)
                    for node in draining:
                        yield free(node)
                    draining = []
                if not retired:
                    continue
                left = yield load("left%d" % present, o["left_load"])
                if (yield load("entered", o["entered_load"])) % EPOCH == left:
                    for node in retired:
                        yield free(node)
                    retired = []
                    continue
                draining, retired = retired, []
                present ^= 1
                epoch = present * EPOCH
                drained_at = (yield change("entered", lambda _: epoch, o["entered_exchange"])) % EPOCH
    return writer


PRIVATE = {"count_in": "seq_cst", "second_search": "seq_cst", "slot_store": "seq_cst", "entered_load": "seq_cst",
           "entered_exchange": "seq_cst", "count_out": "release", "left_load": "seq_cst"}
# The nodes A, B and C are what use() and free() speak of.
PRIVATE_START = {"slot": "A", "entered": 0, "left0": 0, "left1": 0}


@case(orders=PRIVATE, spare={"left_load acquire": "it need only come after the readers that have left; the page has that too",
                             "entered_exchange acq_rel": "the load of entered before it is the look that must come after the store"})
def private_value(o):
    """A value that a reader holds is not freed, nor is one that it may still find."""
    return PRIVATE_START, [private_reader(o), private_put(o, [("A", "B")], 2)]


@case(orders=PRIVATE, spare={"left_load acquire": "as in private_value", "entered_exchange acq_rel": "as in private_value"})
def private_epochs(o):
    """So it is through several epochs, whose counts are used anew, with two readers."""
    return PRIVATE_START, [private_reader(o), private_reader(o), private_put(o, [("A", "B"), ("B", "C")], 2)]


@case(orders={"pinned_store": "release", "pinned_load": "acquire", "count_out": "release"}, forbids=lambda result: result[1] == 0,
      spare={"pinned_store": "the count out, which comes after it, is what orders it", "pinned_load": "as is its load before it"})
def pinned(o):
    """Who frees a value that no reader is inside for sees that one has pinned it."""
    def reader():
        yield store("pinned", 1, o["pinned_store"])
        yield change("left", plus(1), o["count_out"])

    def freer():
        yield wait("left", "seq_cst", lambda value: value == 1)
        return (yield load("pinned", o["pinned_load"]))
    return {"pinned": 0, "left": 0}, [reader, freer]


@case(orders={"list_store": "release", "list_load": "acquire"}, forbids=lambda result: result[1] == (1, 0))
def names(o):
    """A namespace's node has its name when it is found (nspaces_), and a first value's node its key (table_, the slot)."""
    def adder():
        yield store("name", 1)
        yield store("list", 1, o["list_store"])

    def finder():
        found = yield load("list", o["list_load"])
        return found, (yield load("name"))
    return {"name": 0, "list": 0}, [adder, finder]


# --- 3. Read-copy-update of mapped segments --------------------------------------------------------------------------
@case(orders={"enter": "relaxed", "leave": "release", "head_store": "seq_cst", "head_load": "acquire", "membarrier": "seq_cst",
              "count_load": "acquire", "over_load": "acquire"},
      forbids=lambda result: result[0] == ("B", 0),
      spare={"head_store release": "membarrier is a full fence in the thread that removes too; the page has that too"})
def removal(o):
    """What is removed is unmapped when all readers that could have found it have left."""
    def reader():
        yield store("count", 1, o["enter"])
        entry = yield load("head", o["head_load"])
        name = yield load("name of B")
        yield use(entry)
        yield store("count", 2, o["leave"])
        return entry, name

    def remover():
        yield store("name of B", 1)
        yield store("head", "B", o["head_store"])
        if o["membarrier"] == "seq_cst":
            yield fence()
            yield fence_in(0)
            yield fence()
        count = yield load("count", o["count_load"])
        if odd(count):
            yield wait("count", o["over_load"], lambda now: now != count)
        yield free("A")
    return {"count": 0, "head": "A", "name of B": 0}, [reader, remover]


# --- 4. A thread's first read ------------------------------------------------------------------------------------------
def first_reader(o):
    yield change("lines", lambda value: 1, "acq_rel")
    yield change("visits", plus(1), o["visits_of_reader"])
    yield store("count", 1, "relaxed")
    entry = yield load("head", "acquire")
    yield use(entry)
    yield store("count", 2, "release")


@case(orders={"visits_of_reader": "acq_rel", "visits_of_remover": "acq_rel", "head_store": "seq_cst"},
      spare={"head_store release": "visits orders it; the page has that too"})
def first_read(o):
    """A thread that reads for the first time is either known to the remover, or does not find what was removed."""
    def reader():
        yield from first_reader(o)

    def remover():
        yield store("head", "B", o["head_store"])
        yield change("visits", plus(1), o["visits_of_remover"])
        if (yield load("lines", "acquire")):
            yield fence()
            yield fence_in(0)
            yield fence()
        if (yield load("lines", "acquire")):
            count = yield load("count", "acquire")
            if odd(count):
                yield wait("count", "acquire", lambda now: now != count)
        yield free("A")
    return {"lines": 0, "visits": 0, "count": 0, "head": "A"}, [reader, remover]


@case(orders={"give_back": "release", "take": "acq_rel"}, forbids=lambda result: result[1] not in (None, 2),
      spare={"take acquire": "the new owner's entries are ordered by visits and membarrier"})
def line_taken(o):
    """A line's new owner counts on from where the former one has left off."""
    def former():
        yield store("count", 1, "relaxed")
        yield store("count", 2, "release")
        yield store("taken", False, o["give_back"])

    def owner():
        if (yield change("taken", lambda taken: None if taken else True, o["take"])):
            return None
        return (yield load("count", "relaxed"))
    return {"count": 0, "taken": True}, [former, owner]


@case(orders={"taken_load": "acquire", "give_back": "release"})
def line_given_back(o):
    """A remover that sees that a line's owner has ended need not wait for it, nor force a fence on it."""
    def reader():
        yield store("count", 1, "relaxed")
        entry = yield load("head", "acquire")
        yield use(entry)
        yield store("count", 2, "release")
        yield store("taken", False, o["give_back"])

    def remover():
        yield store("head", "B", "seq_cst")
        if (yield load("taken", o["taken_load"])):
            return
        count = yield load("count", "acquire")
        if odd(count):
            yield wait("count", "acquire", lambda now: now != count)
        yield free("A")
    return {"count": 0, "taken": True, "head": "A"}, [reader, remover]


# --- Flags -------------------------------------------------------------------------------------------------------------
@case(orders={"flag_store": "release", "flag_load": "acquire"}, forbids=lambda result: result[1] == (1, 0))
def flag(o):
    """Who sees that there is something to look at finds it."""
    def setter():
        yield store("thing", 1)
        yield store("flag", 1, o["flag_store"])

    def looker():
        seen = yield load("flag", o["flag_load"])
        return seen, (yield load("thing"))
    return {"thing": 0, "flag": 0}, [setter, looker]


# --- 6. The memory for fences ---------------------------------------------------------------------------------------------
@case(orders={"join": "acq_rel", "end": "release", "wait": "acquire"},
      forbids=lambda result: any(data != (1, 1) for data in result))
def fence_round(o):
    """What each process did before it joined a round is seen by each that leaves it. The last to join ends the round."""
    def process(own, other):
        def joins():
            yield store(own, 1)
            joined = yield change("word", plus(1), o["join"])
            if joined == 1:
                yield store("word", 10, o["end"])
            else:
                yield wait("word", o["wait"], lambda value: value == 10)
            mine = yield load(own)
            return mine, (yield load(other))
        return joins
    return {"word": 0, "data0": 0, "data1": 0}, [process("data0", "data1"), process("data1", "data0")]


@case(orders={"join": "acq_rel", "by_request": "acq_rel"}, forbids=lambda result: result[1] == (1, 0),
      spare={"join release": "it is the access of fence_round.join too", "by_request acquire": "it ends no round: a process that sees it asks the server"})
def fence_turned(o):
    """A server that makes a round one of requests finds all that have joined it."""
    def process():
        yield store("joined", 1, "relaxed")
        yield change("word", lambda word: word + 1 if word < 10 else None, o["join"])

    def server():
        before = yield change("word", plus(10), o["by_request"])
        return before, (yield load("joined", "relaxed"))
    return {"joined": 0, "word": 0}, [process, server]


@case(orders={"joined_store": "release", "joined_load": "acquire"}, forbids=lambda result: result[1] == (1, 0))
def fence_about_to_join(o):
    """A server that counts a process which is about to join, and has not, waits for the commits that it has sent."""
    def process():
        yield store("commits", 1, "relaxed")
        yield store("joined", 1, o["joined_store"])

    def server():
        joined = yield load("joined", o["joined_load"])
        return joined, (yield load("commits", "relaxed"))
    return {"commits": 0, "joined": 0}, [process, server]


@case(orders={"leave": "seq_cst", "last_look": "seq_cst", "end_watch": "seq_cst", "look": "seq_cst", "take_back": "relaxed",
              "claim": "release"},
      forbids=lambda result: result not in (("left", 1), ("sends", "nothing")),
      spare={"claim": "who fills the mailbox again is ordered by it: see mailbox_again"})
def mailbox_watch(o):
    """A commit that is left in a mailbox while the server stops looking is taken once, whole, or sent by its process."""
    def process():
        yield store("bytes", 1)
        yield change("size", lambda size: 1, o["leave"])
        if (yield load("watch", o["last_look"])) == 1:
            return "left"
        there = yield change("size", lambda size: 0 if size == 1 else None, o["take_back"])
        return "sends" if there == 1 else "left"

    def server():
        yield change("watch", lambda watch: 0, o["end_watch"])
        if (yield load("size", o["look"])) == 0:
            return "nothing"
        taken = yield load("bytes")
        there = yield change("size", lambda size: 0 if size == 1 else None, o["claim"])
        return taken if there == 1 else "nothing"
    return {"bytes": 0, "size": 0, "watch": 1}, [process, server]


@case(orders={"claim": "release", "empty_load": "acquire"}, forbids=lambda result: False)
def mailbox_again(o):
    """A process writes its next commit when the server has read the one before."""
    def process():
        yield wait("size", o["empty_load"], lambda size: size == 0)
        yield free("bytes")

    def server():
        yield use("bytes")
        yield change("size", lambda size: 0, o["claim"])
    return {"bytes": 0, "size": 1}, [process, server]


@case(orders={"begin_watch": "seq_cst", "first_look": "acquire"}, forbids=lambda result: False,
      spare={"begin_watch": "release would do; it is the access that ends a watch too: see mailbox_watch"})
def mailbox_reopened(o):
    """A process that has taken a commit back does not write the next one while the server still reads."""
    def process():
        yield wait("watch", o["first_look"], lambda watch: watch == 1)
        yield free("bytes")

    def server():
        yield use("bytes")
        yield change("watch", lambda watch: 1, o["begin_watch"])
    return {"bytes": 0, "watch": 0}, [process, server]
