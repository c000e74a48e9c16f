/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The host of the embedded device, for programs that poll it themselves while they measure. The linker gives the driver
 * this host for softrnic's own (--wrap): a thread polls while the driver waits for commands, until by_hand_begin().
 */
#ifndef BY_HAND_H
#define BY_HAND_H

/* From here on nobody polls but by_hand_poll() and by_hand_settle(). */
void by_hand_begin(void);
/* The thread polls again; 0 or -errno. */
int by_hand_end(void);
/* One round of it. */
void by_hand_poll(void);
/* Until the device has nothing more to do. */
void by_hand_settle(void);

#endif
