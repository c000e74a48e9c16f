# SPDX-License-Identifier: BSD-3-Clause
"""devtools/docstrings.py: what a public header leaves unsaid is found, and what it says is not."""
import os
import subprocess

import pytest

DOCSTRINGS = os.path.join(os.environ["RDMAPMD_SOURCE"], "devtools", "docstrings.py")

HEADER = '''
/**
 * @file
 * A header.
 */
#ifndef HEADER_H
#define HEADER_H
#define OFFSET(type, member) \\
	_Static_assert(offsetof(struct type, member) == 0, #type)
#ifdef __cplusplus
extern "C" {
#endif

struct opaque;

/** What a driver provides; see call(). */
typedef int (*burst_t)(struct opaque *opaque, unsigned int n);

/** Things. */
struct thing {
	int size; /**< bytes */
	/** Two of them. */
	int left, right;
	char name[32]; /**< ends with NUL */
	/** One of two. */
	union {
		int number; /**< if it is one */
		/** If it is several. */
		struct {
			int first; /**< of them */
		} several;
	} of;
	/** Asked once. */
	int (*ask)(void *arg, int number);
};
OFFSET(thing, size);

/**
 * Call it.
 *
 * Threads: any. Blocks: never.
 *
 * @param thing  What to call.
 * @param values Out: room for n.
 * @param fn     Is told.
 * @return How many there are.
 */
__rte_experimental int call(const struct thing *thing, int values[4], void (*fn)(void *arg, int value))
	__attribute__((warn_unused_result));

/**
 * Call nobody.
 *
 * Threads: any. Blocks: never.
 */
static inline void
nothing(void)
{
	struct thing thing = { 0 };
	(void)thing;
}

#ifdef __cplusplus
}
#endif
#endif
'''


def look(tmp_path, *changes):
    """(exit code, what it printed) of the header with these changes: (what stands there, what stands there instead)."""
    text = HEADER
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "header.h").write_text(text)
    done = subprocess.run([DOCSTRINGS, tmp_path / "header.h"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False)
    print(done.stdout)
    return done.returncode, done.stdout


def test_a_header_that_says_all_is_clean(tmp_path):
    code, said = look(tmp_path)
    assert code == 0
    assert said == "  2 calls, 3 parameters, 7 members; 0 things are not said\n"


@pytest.mark.parametrize("old, new, what", [
    (" * @param thing  What to call.\n", "", "call(): parameter thing"),
    ("values Out: room for n.", "values", "call(): parameter values"),
    (" * @param fn     Is told.\n", "", "call(): parameter fn"),
    (" * @return How many there are.\n", "", "call(): @return"),
    (" * Call nobody.\n *\n * Threads: any.", " * Call nobody.\n *\n *", "nothing(): Threads"),
    (" Blocks: never.\n *\n * @param thing", "\n *\n * @param thing", "call(): Blocks"),
    ("int size; /**< bytes */", "int size;", "member thing.size"),
    ("int size; /**< bytes */", "int size; /**< */", "member thing.size"),
    ("\t/** Two of them. */\n", "", "member thing.right"),
    ("int first; /**< of them */", "int first; /* of them */", "member thing.of.several.first"),
    ("\t/** Asked once. */\n", "", "member thing.ask"),
    ("/** Things. */\n", "", "struct thing: no comment"),
    ("/** Things. */\n", "/** So many. */\n#define THINGS 3\n\n", "struct thing: no comment"),
    ("OFFSET(thing, size);\n", "OFFSET(thing, size);\nvoid more(void);\n", "more(): no comment"),
])
def test_what_is_left_out_is_found(tmp_path, old, new, what):
    code, said = look(tmp_path, (old, new))
    assert code == 1
    assert f": {what}\n" in said


def test_the_header_may_speak_for_all_of_its_calls(tmp_path):
    code, _ = look(tmp_path, (" * A header.\n", " * A header.\n *\n * Threads: any. Blocks: never.\n"),
                   (" * Threads: any. Blocks: never.\n *\n * @param thing", " * @param thing"))
    assert code == 0
