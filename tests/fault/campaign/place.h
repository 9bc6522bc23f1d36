// SPDX-License-Identifier: BSD-3-Clause
/* place.h: how a process of a campaign announces itself on the board (board.h) and leaves it. */
#ifndef WIREUP_TESTS_FAULT_CAMPAIGN_PLACE_H
#define WIREUP_TESTS_FAULT_CAMPAIGN_PLACE_H

#ifdef __cplusplus
extern "C" {
#endif

struct board;
struct slot;

/* The slot of this process, by PMIX_RANK, in the entry of a job: marked as running, with its pid. NULL: there is none.
 */
struct slot* board_take(struct board* board, int number);

/* The same for a program that does not read the board otherwise; board_begin: false if there is no place. */
int board_begin(int number);
void board_end(int number);

#ifdef __cplusplus
}
#endif

#endif
