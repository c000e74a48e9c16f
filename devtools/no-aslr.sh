#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# ThreadSanitizer's runtime knows only the memory layouts of older kernels; newer ones randomise
# more bits and it ends with "unexpected memory mapping". Without randomisation the layout fits.

set -euo pipefail

case ${1:-} in
-h | --help)
	cat <<'USAGE'
Usage: devtools/no-aslr.sh [--help] COMMAND [ARGUMENT...]

Runs COMMAND without address space randomisation, where the system permits that.

  devtools/no-aslr.sh build-tsan/test/unit/cq_test
USAGE
	exit 0
	;;
"")
	echo "no-aslr: no command (see --help)" >&2
	exit 2
	;;
esac

# A container's rules can forbid it: then the command has its chance as it is.
if setarch -R true 2>/dev/null; then
	exec setarch -R "$@"
fi
exec "$@"
