/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "json.h"

/* Names of devices, and words of ours. */
static void
text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "    \"%s\": \"", key);
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else if ((unsigned char)*value < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*value);
		else
			fputc(*value, out);
	}
	fputs("\",\n", out);
}

static void
number(FILE *out, const char *key, uint64_t value)
{
	fprintf(out, "    \"%s\": %" PRIu64 ",\n", key, value);
}

static void
write_queues(FILE *out, const struct perf_options *o, const struct perf_test_info *info)
{
	if (info->requester)
		number(out, "TX_depth", o->tx_depth);
	if (o->post_list > 1)
		number(out, "Post_List", o->post_list);
	if (info->responder)
		number(out, "RX_depth", o->rx_depth);
	if (o->mode == PERF_BW)
		number(out, "CQ_Moderation", o->cq_mod);
}

static void
write_info(FILE *out, const struct perf_options *o, const struct perf_test_info *info)
{
	char name[100], channel[100], *c;
	size_t length;

	perf_report_test_name(name, sizeof(name), o, "_");
	length = strlen(name);
	snprintf(name + length, sizeof(name) - length, "Test");
	while ((c = strchr(name, ' ')) != NULL)
		*c = '_';
	fputs("  \"test_info\": {\n", out);
	text(out, "test", name);
	if (o->events) {
		snprintf(channel, sizeof(channel), "Using_%s_comp0", info->device);
		text(out, "Test with events", channel);
	}
	text(out, "Dual_port", "OFF");
	text(out, "Device", info->device);
	number(out, "Number_of_qps", o->qps);
	text(out, "Transport_type", "IB");
	text(out, "Connection_type", perf_transport_name(o->transport));
	text(out, "Using_SRQ", o->use_srq ? "ON" : "OFF");
	text(out, "PCIe_relax_order", "OFF");
	text(out, "ibv_wr_API", "OFF");
	write_queues(out, o, info);
	number(out, "Mtu", info->mtu);
	text(out, "Link_type", "Ethernet");
	number(out, "GID_index", o->gid_index);
	if (perf_op_fetches(o->op))
		number(out, "Outstand_reads", info->out_reads);
	else
		number(out, "Max_inline_data", info->inline_size);
	text(out, "rdma_cm_QPs", "OFF");
	fputs("    \"Data_ex_method\": \"Ethernet\"\n  },\n", out);
}

static void
write_result(FILE *out, const struct perf_options *o, const struct perf_result *r)
{
	fprintf(out, "{\n    \"MsgSize\": %u,\n    \"n_iterations\": %" PRIu64 ",\n", r->size,
		r->iters);
	if (o->mode == PERF_BW)
		fprintf(out,
			"    \"BW_peak\": %.6f,\n    \"BW_average\": %.6f,\n    \"MsgRate\": %.6f\n  }",
			perf_report_bandwidth(o, r->peak_bytes),
			perf_report_bandwidth(o, r->average_bytes), r->rate / 1e6);
	else if (o->duration > 0)
		fprintf(out, "    \"t_avg\": %.2f,\n    \"tps_average\": %.2f\n  }", r->average_us,
			r->tps);
	else
		fprintf(out,
			"    \"t_min\": %.2f,\n    \"t_max\": %.2f,\n    \"t_typical\": %.2f,\n"
			"    \"t_avg\": %.2f,\n    \"t_stdev\": %.2f,\n    \"percentile_99\": %.2f,\n"
			"    \"percentile_99.9\": %.2f\n  }",
			r->min_us, r->max_us, r->typical_us, r->average_us, r->stdev_us, r->p99_us,
			r->p999_us);
}

void
perf_json_write(FILE *out, const struct perf_options *options, const struct perf_test_info *info,
		const struct perf_result *results, uint32_t n)
{
	uint32_t i;

	fputs("{\n", out);
	write_info(out, options, info);
	fputs(options->all ? "  \"results\": [\n  " : "  \"results\": ", out);
	for (i = 0; i < n; i++) {
		if (i > 0)
			fputs(",\n  ", out);
		write_result(out, options, &results[i]);
	}
	if (n == 0 && !options->all)
		fputs("{}", out);
	fputs(options->all ? "\n  ]\n}\n" : "\n}\n", out);
}
