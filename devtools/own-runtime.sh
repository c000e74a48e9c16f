#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# EAL makes a folder for each file prefix below its run-time folder, and what lies in it stays when the process has ended.
# Below one of the command's own, all of that goes with the command, however it ends.

set -euo pipefail

case ${1:-} in
-h | --help)
	cat <<'USAGE'
Usage: devtools/own-runtime.sh [--help] COMMAND [ARGUMENT...]

Runs COMMAND with a run-time folder for DPDK of its own, and removes that. The exit code is COMMAND's.

  devtools/own-runtime.sh build/test/e2e/e2e_rss
USAGE
	exit 0
	;;
"")
	echo "own-runtime: no command (see --help)" >&2
	exit 2
	;;
esac

# Where EAL has its own: in memory, and short enough for the paths of its sockets.
base=${XDG_RUNTIME_DIR:-/tmp}
if [ "$(id -u)" -eq 0 ]; then
	base=/run
fi
RUNTIME_DIRECTORY=$(mktemp -d "$base/rdmapmd.XXXXXX")
export RUNTIME_DIRECTORY
trap 'rm -rf "$RUNTIME_DIRECTORY"' EXIT
# The command gets the signal, too; its end comes first.
trap 'exit 130' INT
trap 'exit 143' TERM
"$@"
