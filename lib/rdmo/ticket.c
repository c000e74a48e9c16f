/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rdmo.h"
#include "ticket.h"

#define VERSION "rdmo/1 "

/* Are there such a region and such a tail, for anybody to be let in to? */
static bool
ticket_is_good(const struct rdmo_ticket *ticket)
{
	static const uint8_t zeros[RDMO_SECRET_BYTES];

	return memcmp(ticket->secret, zeros, sizeof(zeros)) != 0 && ticket->key != 0 &&
	       ticket->bytes != 0 && ticket->bytes <= UINT64_MAX - ticket->at &&
	       (ticket->tail != 0) == (ticket->tail_key != 0) && ticket->tail % 8 == 0;
}

/* How long the address at the beginning of a text is, to a space or the end; 0: it is none. */
static size_t
address_length(const char *text)
{
	size_t n = 0;

	/* Nothing that a line, or a terminal, could take for something else. */
	while (n < RDMO_ADDRESS_BYTES && text[n] > ' ' && text[n] < 0x7f)
		n++;
	return n < RDMO_ADDRESS_BYTES ? n : 0;
}

int
rdmo_ticket_write(const struct rdmo_ticket *ticket, char *text, size_t size)
{
	const size_t length = address_length(ticket->address);
	char secret[2 * RDMO_SECRET_BYTES + 1];
	int n;

	if (length == 0 || ticket->address[length] != '\0' || !ticket_is_good(ticket))
		return -EINVAL;
	for (size_t i = 0; i < RDMO_SECRET_BYTES; i++)
		snprintf(secret + 2 * i, 3, "%02x", ticket->secret[i]);
	n = snprintf(text, size,
		     VERSION "%s id=%016lx secret=%s key=%016lx at=%016lx bytes=%016lx "
			     "tail=%016lx tail-key=%016lx",
		     ticket->address, (unsigned long)ticket->id, secret, (unsigned long)ticket->key,
		     (unsigned long)ticket->at, (unsigned long)ticket->bytes,
		     (unsigned long)ticket->tail, (unsigned long)ticket->tail_key);
	return n > 0 && (size_t)n < size ? 0 : -ENOSPC;
}

/* ---- Parse: each function advances `text` over what it has found, or returns false ---- */

static bool
word_read(const char **text, const char *word)
{
	const size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

static bool
digits_read(const char **text, uint32_t count, uint64_t *number)
{
	static const char digits[] = "0123456789abcdef";

	*number = 0;
	for (uint32_t i = 0; i < count; i++) {
		const char *digit = **text != '\0' ? strchr(digits, **text) : NULL;

		if (digit == NULL)
			return false;
		*number = *number << 4 | (uint64_t)(digit - digits);
		(*text)++;
	}
	return true;
}

static bool
number_read(const char **text, const char *name, uint64_t *number)
{
	return word_read(text, name) && digits_read(text, 16, number);
}

static bool
secret_read(const char **text, uint8_t *secret)
{
	uint64_t byte;

	if (!word_read(text, " secret="))
		return false;
	for (uint32_t i = 0; i < RDMO_SECRET_BYTES; i++) {
		if (!digits_read(text, 2, &byte))
			return false;
		secret[i] = (uint8_t)byte;
	}
	return true;
}

static bool
address_read(const char **text, char *address)
{
	const size_t length = address_length(*text);

	memcpy(address, *text, length);
	address[length] = '\0';
	*text += length;
	return length > 0;
}

int
rdmo_ticket_parse(const char *text, struct rdmo_ticket *ticket)
{
	struct rdmo_ticket read = { 0 };

	if (text == NULL || ticket == NULL)
		return -EINVAL;
	if (!word_read(&text, VERSION) || !address_read(&text, read.address) ||
	    !number_read(&text, " id=", &read.id) || !secret_read(&text, read.secret) ||
	    !number_read(&text, " key=", &read.key) || !number_read(&text, " at=", &read.at) ||
	    !number_read(&text, " bytes=", &read.bytes) ||
	    !number_read(&text, " tail=", &read.tail) ||
	    !number_read(&text, " tail-key=", &read.tail_key))
		return -EINVAL;
	/* As it is read from a file. */
	if (*text == '\n')
		text++;
	if (*text != '\0' || !ticket_is_good(&read))
		return -EINVAL;
	*ticket = read;
	return 0;
}
