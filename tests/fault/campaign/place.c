/* SPDX-License-Identifier: BSD-3-Clause */
/* place: the slot on the board that belongs to this process, for programs of both languages. */
#include "place.h"

#include "board.h"

struct slot* board_take(struct board* board, int number) {
    const char* rank = getenv("PMIX_RANK");
    const int index = rank ? atoi(rank) : 0;
    if (board == NULL || number < 0 || number >= BOARD_JOBS || index < 0 || index >= BOARD_RANKS) return NULL;
    struct slot* slot = &board->jobs[number].slots[index];
    atomic_store(&slot->since_ms, board_now_ms());
    atomic_store(&slot->pid, (int)getpid());
    atomic_store(&slot->state, SLOT_RUNNING);
    return slot;
}

int board_begin(int number) {
    return board_take(board_map(), number) != NULL;
}

void board_end(int number) {
    struct board* board = board_map();
    const char* rank = getenv("PMIX_RANK");
    if (board != NULL) atomic_store(&board->jobs[number].slots[rank ? atoi(rank) : 0].state, SLOT_DONE);
}
