/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The CRC of long pieces by carry-less multiplication of whole vectors, and a copy in the same pass: what ISA-L has not. Each byte is read
 * once. For CPUs that have AVX-512 and VPCLMULQDQ; on others it is not there.
 *
 * Source: V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009.
 */
#ifndef ROCEV2_FOLD_H
#define ROCEV2_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

/* Pieces are of multiples of so many bytes, above 0. */
#define ROCEV2_FOLD_BYTES 256u

/* Is it there? Set before main(). */
extern bool rocev2_fold_is_there;

/*
 * @param crc    of what is in front of it, as crc32_gzip_refl() has it
 * @param to     where it is copied to, which does not overlap `from`; NULL: nowhere
 * @param length a multiple of ROCEV2_FOLD_BYTES, above 0
 * @return of all of it
 */
uint32_t rocev2_fold(uint32_t crc, uint8_t *to, const uint8_t *from, size_t length);

/* Of 4 bytes, which is quicker than a call for them. */
uint32_t rocev2_fold_word(uint32_t crc, const uint8_t *word);

#endif
