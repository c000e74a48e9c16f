#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: misuse.sh SOURCE-ROOT
# Mistakes with layouts must be compile errors, with gcc and with clang; the same code without the
# mistake must compile.
set -u
root=$1
cflags='-std=gnu11 -Wall -Wextra -Werror=enum-conversion -Werror=incompatible-pointer-types'
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
count=0
bad=0

report() { # 0 or 1, what
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		bad=1
	fi
}

compiles() { # compiler, statement
	cat >"$dir/case.c" <<-END
	#include "cmd.h"
	#include "cqe.h"
	uint64_t use(struct rnic_cqc *cqc, struct rnic_eqc *eqc, struct rnic_cqe *cqe, uint32_t number);
	uint64_t use(struct rnic_cqc *cqc, struct rnic_eqc *eqc, struct rnic_cqe *cqe, uint32_t number)
	{
		(void)cqc, (void)eqc, (void)cqe, (void)number;
		$2
		return 0;
	}
	END
	# shellcheck disable=SC2086
	"$1" $cflags -I "$root/lib/prm" -c "$dir/case.c" -o "$dir/case.o" 2>"$dir/messages"
}

good() { # compiler, what, statement
	compiles "$1" "$3"
	report $? "$1: $2 compiles"
}

refused() { # compiler, what, statement, what the message must speak of
	if compiles "$1" "$3"; then
		report 1 "$1: $2 is refused"
	else
		grep -q "error:.*$4" "$dir/messages" || sed 's/^/# /' "$dir/messages"
		grep -q "error:.*$4" "$dir/messages"
		report $? "$1: $2 is refused"
	fi
}

checks() { # compiler
	good "$1" 'a field with its own setter' \
		'rnic_cqc_set(cqc, RNIC_CQC_LOG_CQ_SIZE, 10);'
	refused "$1" 'a field of another layout, set' \
		'rnic_cqc_set(cqc, RNIC_EQC_LOG_EQ_SIZE, 10);' 'enum'
	refused "$1" 'a field of another layout, got' \
		'return rnic_cqc_get(cqc, RNIC_EQC_LOG_EQ_SIZE);' 'enum'
	refused "$1" 'the setter of another struct' \
		'rnic_cqc_set(eqc, RNIC_CQC_LOG_CQ_SIZE, 10);' 'pointer'
	refused "$1" 'the getter of another struct' \
		'return rnic_eqc_get(cqc, RNIC_EQC_LOG_EQ_SIZE);' 'pointer'
	good "$1" 'an inner layout' \
		'struct rnic_create_cq_in in; cqc = rnic_create_cq_in_cqc(&in);'
	refused "$1" 'an inner layout of another type' \
		'struct rnic_create_cq_in in; eqc = rnic_create_cq_in_cqc(&in);' 'pointer'
	good "$1" 'a big-endian value converted' \
		'number = rnic_be32_to_cpu(cqe->byte_count) + 1; return number;'
	refused "$1" 'arithmetic on a big-endian value' \
		'number = cqe->byte_count + 1; return number;' 'operand'
	refused "$1" 'a number stored into a big-endian member' \
		'cqe->byte_count = number;' '.'
	refused "$1" 'a big-endian value read as a number' \
		'number = cqe->byte_count; return number;' '.'
	refused "$1" 'a big-endian value compared with a number' \
		'return cqe->byte_count == number;' 'operand'
	refused "$1" 'a 16-bit conversion of a 32-bit member' \
		'return rnic_be16_to_cpu(cqe->byte_count);' '.'
}

found=
for compiler in gcc clang; do
	if command -v "$compiler" >/dev/null; then
		found="$found $compiler"
		checks "$compiler"
	fi
done
[ -n "$found" ]
report $? "compilers found:$found"
echo "1..$count"
exit $bad
