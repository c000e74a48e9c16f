/* SPDX-License-Identifier: BSD-3-Clause */

/* What the dumps share. Not for users of lib/prm. */
#ifndef RNIC_PRM_DUMP_PRIVATE_H
#define RNIC_PRM_DUMP_PRIVATE_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dump.h"
#include "field.h"

#define RNIC_DUMP_LINE_BYTES 256

__attribute__((format(printf, 3, 4))) static inline void
rnic_dump_printf(rnic_dump_line *line, void *arg, const char *format, ...)
{
	char text[RNIC_DUMP_LINE_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	line(arg, text);
}

/* The dword at offset; what lies past the length reads as zero. */
static inline uint32_t
rnic_dump_dword(const uint8_t *bytes, size_t length, size_t offset)
{
	uint8_t dw[4] = { 0 };

	if (offset < length)
		memcpy(dw, bytes + offset, length - offset < 4 ? length - offset : 4);
	return (uint32_t)dw[0] << 24 | (uint32_t)dw[1] << 16 | (uint32_t)dw[2] << 8 | dw[3];
}

#endif
