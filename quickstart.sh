#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# From a fresh machine to packets in one command: stock dpdk-testpmd on two net_rnic ports, each a
# software RNIC inside the process, joined by a wire.

set -euo pipefail

root=$(cd "$(dirname "$0")" && pwd)
me=quickstart
# shellcheck source=devtools/lib.sh
. "$root/devtools/lib.sh"

usage()
{
	cat <<'USAGE'
Usage: ./quickstart.sh [--seconds N] [--no-install] [--undo] [--help]

Installs what is missing (and says so first), builds into build/, reserves hugepages and runs
stock dpdk-testpmd for N seconds (5 by default, at least 1) in io forwarding between two net_rnic
ports on the embedded software RNIC. Then prints the rates of both ports.

  --seconds N    how long packets go round
  --no-install   install nothing; name what is missing
  --undo         give the hugepages back that an earlier run reserved; nothing else

Without root or hugepages it runs on ordinary memory (--no-huge), slower, as any user.
Logs: build/quickstart*.log.
Exit code: 0 both ports moved packets both ways, 1 they did not or something failed, 2 usage.

  ./quickstart.sh
  ./quickstart.sh --seconds 30
  ./quickstart.sh --undo
USAGE
}

seconds=5
install=yes
undo=no
while [ $# -gt 0 ]; do
	case $1 in
	--seconds)
		[[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || usage_error "--seconds needs a number from 1 up"
		seconds=$2
		shift
		;;
	--no-install) install=no ;;
	--undo) undo=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	*) usage_error "unknown argument $1" ;;
	esac
	shift
done

logs=$root/build
# Which pool we found and which we left, as hugepages_reserve() prints them.
state=$root/build/quickstart.hugepages
plugin=$root/build/drivers/net/rnic/librte_net_rnic.so
# 2 MiB pages: the packets of both ports, their rings, and what EAL wants.
pages=128

if [ $undo = yes ]; then
	if [ ! -f "$state" ]; then
		say "nothing to undo: no hugepages of ours are reserved"
		exit 0
	fi
	[ -w "$hugepages" ] || fail "giving hugepages back needs root: run it with sudo"
	read -r -a pool <<<"$(hugepages_record "$state")"
	if hugepages_give_back "${pool[@]}"; then
		say "hugepages are back at ${pool[0]}"
	else
		say "hugepages were changed by somebody else since; left at $(cat "$hugepages")"
	fi
	rm -f "$state"
	exit 0
fi

# EAL refuses a plugin that others could have put there.
check_folder()
{
	local dir=$root

	while :; do
		if [ -n "$(find "$dir" -maxdepth 0 -perm -o+w)" ]; then
			fail "$dir is writable by everyone, and DPDK loads no plugin from below such a" \
			     "folder: move the sources, for example to your home"
		fi
		[ "$dir" != / ] || break
		dir=$(dirname "$dir")
	done
}

# Set memory to EAL's options for what this machine gives us.
memory=()
choose_memory()
{
	local changed

	if changed=$(hugepages_reserve $pages); then
		if [ -n "$changed" ]; then
			say "reserved hugepages: $(cat "$hugepages") of 2 MiB now, ${changed%% *} before" \
			    "(./quickstart.sh --undo gives them back)"
			# An earlier run's record has the older figures.
			if [ -f "$state" ]; then
				changed="$(hugepages_record "$state" | cut -d ' ' -f 1,2) ${changed#* * }"
			fi
			echo "$changed" >"$state"
		fi
		memory=(--in-memory)
		return 0
	fi
	if [ "$(id -u)" -ne 0 ]; then
		say "no free hugepages, and reserving them needs root: going on without (--no-huge)"
	else
		say "this machine gives no hugepages: going on without (--no-huge)"
	fi
	if [ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -lt 1200000 ]; then
		fail "less than 1.2 GB of memory are free: close something, or reserve hugepages as" \
		     "root with: echo $pages >$hugepages"
	fi
	memory=(--no-huge -m 1024)
}

# Two lcores on two of the processors that we may use, or on the only one.
choose_lcores()
{
	local -a cpus=()
	local part

	while IFS= read -r part; do
		mapfile -t -O ${#cpus[@]} cpus < <(seq "${part%-*}" "${part#*-}")
	done < <(sed -n 's/^Cpus_allowed_list:[ \t]*//p' /proc/self/status | tr , '\n')
	echo "0@${cpus[0]},1@${cpus[1]:-${cpus[0]}}"
}

pid=""
prefix=rdmapmd-quickstart-$$
clean_up()
{
	if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	# EAL leaves its folder behind.
	if [ "$(id -u)" -eq 0 ]; then
		rm -rf "/var/run/dpdk/$prefix"
	else
		rm -rf "${XDG_RUNTIME_DIR:-/tmp}/dpdk/$prefix"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# wait_for PATTERN LOG SECONDS: until testpmd has said so; fails when it ended or took too long.
wait_for()
{
	local pattern=$1 log=$2 tenths=$(($3 * 10))

	until grep -q -E "$pattern" "$log"; do
		kill -0 "$pid" 2>/dev/null || return 1
		[ $tenths -gt 0 ] || return 1
		tenths=$((tenths - 1))
		sleep 0.1
	done
}

testpmd_failed()
{
	grep -E -i 'error|cannot|fail|refus|rnic|EAL:' "$log" | tail -n 15 >&2 || true
	fail "dpdk-testpmd $1; the whole log is $log"
}

# Two readings of `show port stats all`: testpmd's rates are those between the two.
run_testpmd()
{
	local log=$1
	local -a command=(dpdk-testpmd --lcores "$(choose_lcores)" "${memory[@]}"
		--no-pci --no-telemetry --iova-mode=va --file-prefix "$prefix"
		-d "$plugin"
		"--vdev=net_rnic0,wire=pair:q" "--vdev=net_rnic1,wire=pair:q"
		-- -i --nb-cores=1 --forward-mode=io --total-num-mbufs=16384)

	say "running: ${command[*]}"
	: >"$log"
	# Line by line, so that the log says at once what happened.
	coproc testpmd { exec stdbuf -oL "${command[@]}" >>"$log" 2>&1; }
	# shellcheck disable=SC2154
	pid=$testpmd_PID
	local to=${testpmd[1]}

	wait_for 'testpmd> ' "$log" 60 || testpmd_failed "did not start"
	[ "$(grep -c '^Port [01]: ' "$log")" -ge 2 ] || testpmd_failed "has not both ports"
	echo "start tx_first" >&"$to"
	wait_for 'io packet forwarding' "$log" 10 || testpmd_failed "did not begin to forward"
	sleep 0.5
	echo "show port stats all" >&"$to"
	say "packets go round for $seconds s"
	sleep "$seconds"
	echo "show port stats all" >&"$to"
	echo "stop" >&"$to"
	wait_for 'Accumulated forward statistics' "$log" 20 || testpmd_failed "did not stop"
	echo "quit" >&"$to"
	wait_for '^Bye' "$log" 30 || testpmd_failed "did not end"
	wait "$pid" || testpmd_failed "ended with exit code $?"
	pid=""
}

# The last rates of each port, as a table; fails unless both ports moved packets both ways.
report()
{
	awk '
		/NIC statistics for port/ { port = $0; gsub(/[^0-9]/, "", port) }
		/RX-packets:/ && / RX-missed:/ { packets[port, "Rx"] = $2; missed[port] = $4 }
		/TX-packets:/ && / TX-errors:/ { packets[port, "Tx"] = $2; errors[port] = $4 }
		/Rx-pps:/ { rate[port, "Rx"] = $2 }
		/Tx-pps:/ { rate[port, "Tx"] = $2 }
		END {
			print ""
			for (p = 0; p < 2; p++) {
				printf "  port %d  Rx-pps: %10d  Tx-pps: %10d  Rx: %d packets  Tx: %d packets\n",
					p, rate[p, "Rx"], rate[p, "Tx"], packets[p, "Rx"], packets[p, "Tx"]
				if (rate[p, "Rx"] == 0 || rate[p, "Tx"] == 0)
					still = 1
			}
			print ""
			exit still
		}' "$1"
}

cat <<EOT
This will
  1. install what is missing of: ${packages_build[*]} ${packages_run[*]}
  2. take DPDK's driver headers from the source package of the installed DPDK
  3. build the driver into build/
  4. reserve $pages hugepages of 2 MiB if it may (./quickstart.sh --undo gives them back)
  5. run stock dpdk-testpmd for $seconds s on two net_rnic ports, and print the rates
EOT
check_folder
need_packages $install "$logs/quickstart-install.log" "${packages_build[@]}" "${packages_run[@]}"
say "building into build/"
# Without cmocka the tests cannot be built, and need not be: test.sh turns them on.
tests=()
pkg-config --exists cmocka || tests=(-Dtests=false)
setup_build "$root/build" "$logs/quickstart-setup.log" "${tests[@]}" || exit 1
run_build "$root/build" "$logs/quickstart-build.log" || exit 1
[ -f "$plugin" ] || fail "the build has no $plugin"
choose_memory
run_testpmd "$logs/quickstart.log"
if ! report "$logs/quickstart.log"; then
	fail "a port did not move packets both ways; the log is $logs/quickstart.log"
fi
say "done: both ports moved packets both ways"
