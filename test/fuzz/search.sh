# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # who sources it reads the arrays
#
# Sourced. search NAME BYTES: what a target's search is told, in the array `search`: inputs of so many bytes at most, if the
# target has no limit of its own. What is kept has that limit, too: in the array `merge`.

search()
{
	search=("-max_len=$2" -len_control=20)
	merge=()
	# fuzz-driver is for many short inputs to a device that they share. What one of them leaves is the device's, and no
	# leak: with everything else it must be back when the device is closed. The engine's books on how rare each feature is
	# took a third of the time.
	if [ "$1" = driver ]; then
		search=(-max_len=64 -len_control=20 -entropic=0 -detect_leaks=0)
		merge=(-max_len=64)
	fi
}
