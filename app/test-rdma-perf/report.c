/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include "report.h"

#define LINE                                                                                \
	"---------------------------------------------------------------------------------" \
	"------\n"

double
perf_report_bandwidth(const struct perf_options *options, double bytes)
{
	return bytes / (options->gbits ? 125e6 : 1 << 20);
}

void
perf_report_line(FILE *out)
{
	fputs(LINE, out);
}

int
perf_report_test_name(char *text, size_t room, const struct perf_options *o, const char *separator)
{
	static const char *const verbs[] = {
		[PERF_WRITE] = "RDMA_Write", [PERF_WRITE_IMM] = "RDMA_Write_imm",
		[PERF_SEND] = "Send",	     [PERF_READ] = "RDMA_Read",
		[PERF_FETCH_ADD] = "Atomic", [PERF_CMP_SWAP] = "Atomic",
	};
	const char *type = o->op == PERF_FETCH_ADD  ? "FETCH_AND_ADD"
			   : o->op == PERF_CMP_SWAP ? "CMP_AND_SWAP"
						    : "";

	return snprintf(text, room, "%s%s%s%s%s%s%s%s%s%s", verbs[o->op], separator, type,
			type[0] != '\0' ? separator : "", o->bidirectional ? "Bidirectional" : "",
			o->bidirectional ? separator : "", o->post_list > 1 ? "Post List" : "",
			o->post_list > 1 ? separator : "", o->mode == PERF_BW ? "BW" : "Latency",
			separator);
}

static void
head_queues(FILE *out, const struct perf_options *o, const struct perf_test_info *info)
{
	if (info->requester)
		fprintf(out, " TX depth        : %u\n", o->tx_depth);
	if (o->post_list > 1)
		fprintf(out, " Post List       : %u\n", o->post_list);
	if (info->responder)
		fprintf(out, " RX depth        : %u\n", o->rx_depth);
	if (o->mode == PERF_BW)
		fprintf(out, " CQ Moderation   : %u\n", o->cq_mod);
}

void
perf_report_head(FILE *out, const struct perf_options *o, const struct perf_test_info *info)
{
	char name[100];

	perf_report_test_name(name, sizeof(name), o, " ");
	perf_report_line(out);
	fprintf(out, "                    %sTest\n", name);
	if (o->events)
		fprintf(out, " Test with events. Using %s_comp0\n", info->device);
	fprintf(out, " Dual-port       : OFF\t\tDevice         : %s\n", info->device);
	fprintf(out, " Number of qps   : %u\t\tTransport type : IB\n", o->qps);
	fprintf(out, " Connection type : %s\t\tUsing SRQ      : %s\n",
		perf_transport_name(o->transport), o->use_srq ? "ON" : "OFF");
	fputs(" PCIe relax order: OFF\n ibv_wr* API     : OFF\n", out);
	head_queues(out, o, info);
	fprintf(out, " Mtu             : %u[B]\n Link type       : Ethernet\n", info->mtu);
	fprintf(out, " GID index       : %u\n", o->gid_index);
	if (perf_op_fetches(o->op))
		fprintf(out, " Outstand reads  : %u\n", info->out_reads);
	else
		fprintf(out, " Max inline data : %u[B]\n", info->inline_size);
	fputs(" rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n", out);
	perf_report_line(out);
}

void
perf_report_address(FILE *out, const struct perf_options *o, const char *side,
		    const struct perf_address *address)
{
	unsigned int i;

	fprintf(out, " %s address: LID %#04x QPN %#06x PSN %#06x", side, 0, address->qp_num,
		address->psn);
	if (o->op == PERF_READ)
		fprintf(out, " OUT %#04x", address->out_reads);
	if (o->op == PERF_READ || o->op == PERF_WRITE || o->op == PERF_WRITE_IMM)
		fprintf(out, " RKey %#08x VAddr %#016" PRIx64, address->rkey, address->vaddr);
	fputs("\n GID: ", out);
	/* In decimal, as perftest has them. */
	for (i = 0; i < sizeof(address->gid.raw); i++)
		fprintf(out, "%s%02d", i > 0 ? ":" : "", address->gid.raw[i]);
	fputc('\n', out);
}

void
perf_report_titles(FILE *out, const struct perf_options *o)
{
	const char *unit = o->gbits ? "Gb/sec" : "MB/sec";

	if (o->mode == PERF_BW)
		fprintf(out,
			" #bytes     #iterations    BW peak[%s]    BW average[%s]   "
			"MsgRate[Mpps]\n",
			unit, unit);
	else if (o->duration > 0)
		fputs(" #bytes        #iterations       t_avg[usec]    tps average\n", out);
	else
		fputs(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
		      "t_avg[usec]    t_stdev[usec]   99% percentile[usec]   "
		      "99.9% percentile[usec] \n",
		      out);
}

static void
row_bandwidth(FILE *out, const struct perf_options *o, const struct perf_result *r)
{
	const double peak = perf_report_bandwidth(o, r->peak_bytes);
	const double average = perf_report_bandwidth(o, r->average_bytes);

	/* Where two digits behind the point would not tell. */
	if (o->gbits && average < 0.1)
		fprintf(out,
			" %-7u    %" PRIu64
			"           %-7.6f            %-7.6f            %-7.6f\n",
			r->size, r->iters, peak, average, r->rate / 1e6);
	else
		fprintf(out,
			" %-7u    %-10" PRIu64 "       %-7.2f            %-7.2f\t\t   %-7.6f\n",
			r->size, r->iters, peak, average, r->rate / 1e6);
}

void
perf_report_row(FILE *out, const struct perf_options *o, const struct perf_result *r)
{
	if (o->mode == PERF_BW)
		row_bandwidth(out, o, r);
	else if (o->duration > 0)
		fprintf(out, " %-7u       %" PRIu64 "            %-7.2f        %-7.2f\n", r->size,
			r->iters, r->average_us, r->tps);
	else
		fprintf(out,
			" %-7u %" PRIu64
			"          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t"
			"%-7.2f \t\t%-7.2f\n",
			r->size, r->iters, r->min_us, r->max_us, r->typical_us, r->average_us,
			r->stdev_us, r->p99_us, r->p999_us);
}
