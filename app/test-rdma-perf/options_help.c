/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "options.h"
#include "say.h"

static const char help[] =
	"Usage: " PERF_PROGRAM
	" [EAL OPTIONS] -- [OPTIONS]          start a server and wait for connection\n"
	"       " PERF_PROGRAM " [EAL OPTIONS] -- [OPTIONS] HOST     connect to server at HOST\n"
	"       " PERF_PROGRAM " [EAL OPTIONS] -- --loopback ...     both ends in this process\n"
	"\n"
	"Bandwidth and latency of RDMA, as perftest's ib_write_bw, ib_send_lat and so on. Both ends get\n"
	"the same options.\n"
	"\n"
	"What is measured (this program's own):\n"
	"      --op=OP            write (default), write_imm, send, read, fetch_add or cmp_swap\n"
	"      --mode=MODE        bw (default) or lat\n"
	"      --exchange=HOW     native (default), or pingpong: the other end is ibv_rc_pingpong,\n"
	"                         ibv_uc_pingpong (-c UC), ibv_ud_pingpong (-c UD) or ibv_srq_pingpong\n"
	"                         (--use-srq) with -g INDEX; -s 4096 (UD: 2048) -n 1000 -r 500 as theirs;\n"
	"                         or perftest: the other end is ib_write_bw, ib_send_lat and so on\n"
	"      --loopback[=DEV]   no second process; the server's end is on DEV, or on the same device\n"
	"      --lcores=N         an lcore for each N-th of the queue pairs, with a CQ of its own (1)\n"
	"      --verify=on|off    compare what has arrived with what was sent (on)\n"
	"      --damage=OFFSET    send a message with that byte damaged, to see that it is found\n"
	"      --plot=FILE.svg    draw the results\n"
	"\n"
	"What perftest has:\n"
	"  -a, --all              Run sizes from 2 till 2^23\n"
	"  -b, --bidirectional    Measure bidirectional bandwidth (default unidirectional)\n"
	"  -c, --connection=TYPE  Connection type RC/UC/UD (default RC)\n"
	"  -d, --ib-dev=DEV       Use device DEV, a name or a port's number (default first device found)\n"
	"  -D, --duration=S       Run test for a customized period of seconds\n"
	"  -e, --events           Sleep on CQ events (default poll)\n"
	"  -F, --CPU-freq         Accepted: the clock here does not depend on the CPU's frequency\n"
	"  -h, --help             Show this help screen\n"
	"  -I, --inline_size=N    Max size of message to be sent in inline\n"
	"  -l, --post_list=N      Post list of send WQEs of N size (instead of single post)\n"
	"  -m, --mtu=N            MTU size: 256 - 4096 (default port mtu)\n"
	"  -n, --iters=N          Number of exchanges (at least 5, default 1000; write in bw 5000)\n"
	"  -o, --outs=N           Num of outstanding read/atom (default max of device)\n"
	"  -p, --port=PORT        Listen on/connect to port PORT (default 18515)\n"
	"  -q, --qp=N             Num of qp's (default 1)\n"
	"  -Q, --cq-mod=N         Generate Cqe only after N completions (default 100)\n"
	"  -r, --rx-depth=N       Rx queue size (default 512)\n"
	"  -s, --size=N           Size of message to exchange (default bw 65536, lat 2; K and M multiply)\n"
	"  -t, --tx-depth=N       Size of tx queue (default 128)\n"
	"  -u, --qp-timeout=N     QP timeout, timeout value is 4 usec * 2^N (default 14)\n"
	"  -V, --version          Display version number\n"
	"  -x, --gid-index=N      Test uses GID with GID index (default 0)\n"
	"      --out_json         Save the report in a json file\n"
	"      --out_json_file=FILE  Name of the report json file (default perftest_out.json)\n"
	"      --report_gbits     Report Max/Average BW of test in Gbit/sec (instead of MB/sec)\n"
	"      --use-srq          Use a Shared Receive Queue; --rx-depth controls its size\n"
	"\n"
	"Exit code: 0 done, 1 failed, 2 usage, 130 interrupted.\n"
	"\n"
	"  " PERF_PROGRAM " --vdev=net_rnic0 -- --loopback\n"
	"  " PERF_PROGRAM " --vdev=net_rnic0,socket=/run/softrnic/rnic0.sock -- --op send -a\n"
	"  " PERF_PROGRAM " -a 0000:3b:00.0 -- --op=read --mode=lat -s 8 SERVER\n"
	"  " PERF_PROGRAM
	" -a 0000:3b:00.0 -- --exchange=pingpong SERVER   # there: ibv_rc_pingpong -g 1\n"
	"  " PERF_PROGRAM
	" -a 0000:3b:00.0 -- --exchange=perftest SERVER   # there: ib_write_bw -x 1\n";

void
perf_options_help(void)
{
	fputs(help, stdout);
}

int
perf_usage_error(const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return perf_fail(-EINVAL, "%s (see --help)", text);
}
