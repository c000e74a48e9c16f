/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <math.h>

#include "plot.h"

/* Of the picture, in pixels. */
#define WIDTH  820
#define HEIGHT 480
#define LEFT   90
#define RIGHT  150 /* the legend's */
#define TOP    50
#define BOTTOM 70
#define TICKS  5 /* about so many on the axis of values */

struct curve {
	const char *name, *colour;
	double (*value)(const struct perf_options *options, const struct perf_result *result);
};

struct plot {
	FILE *out;
	const struct perf_options *options;
	const struct perf_result *results;
	uint32_t n;
	double first, last; /* binary logarithms of sizes */
	double top, step;   /* of the axis of values, from 0 */
};

static double
average(const struct perf_options *options, const struct perf_result *result)
{
	return perf_report_bandwidth(options, result->average_bytes);
}

static double
peak(const struct perf_options *options, const struct perf_result *result)
{
	return perf_report_bandwidth(options, result->peak_bytes);
}

static double
typical(const struct perf_options *options, const struct perf_result *result)
{
	/* Of a run by time only the average is known. */
	return options->duration > 0 ? result->average_us : result->typical_us;
}

static double
p99(const struct perf_options *options, const struct perf_result *result)
{
	(void)options;
	return result->p99_us;
}

static double
p999(const struct perf_options *options, const struct perf_result *result)
{
	(void)options;
	return result->p999_us;
}

/* Colours that can be told apart by everybody. */
static const struct curve bandwidth[] = { { "average", "#0072b2", average },
					  { "peak", "#e69f00", peak },
					  { NULL } };
static const struct curve latency[] = { { "typical", "#0072b2", typical },
					{ "99 %", "#e69f00", p99 },
					{ "99.9 %", "#cc3311", p999 },
					{ NULL } };
static const struct curve average_alone[] = { { "average", "#0072b2", average }, { NULL } };
static const struct curve latency_by_time[] = { { "average", "#0072b2", typical }, { NULL } };

static const struct curve *
curves_of(const struct perf_options *options)
{
	/* No peak is looked for in a run by time, nor among many messages. */
	if (options->mode == PERF_BW)
		return options->duration > 0 || options->iters > PERF_PEAK_ITERS ? average_alone
										 : bandwidth;
	return options->duration > 0 ? latency_by_time : latency;
}

/* ---- Axes ---- */

static double
x_of(const struct plot *plot, double size)
{
	const double room = WIDTH - LEFT - RIGHT;

	if (plot->last == plot->first)
		return LEFT + room / 2;
	return LEFT + room * (log2(size) - plot->first) / (plot->last - plot->first);
}

static double
y_of(const struct plot *plot, double value)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / plot->top;
}

/* 1, 2 or 5 times a power of ten. */
static double
nice_step(double most)
{
	const double rough = most / TICKS, power = pow(10, floor(log10(rough)));
	const double share = rough / power;

	return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void
scale(struct plot *plot, const struct curve *curves)
{
	const struct curve *curve;
	double most = 0;
	uint32_t i;

	for (curve = curves; curve->name != NULL; curve++)
		for (i = 0; i < plot->n; i++)
			most = fmax(most, curve->value(plot->options, &plot->results[i]));
	if (!(most > 0))
		most = 1;
	plot->step = nice_step(most);
	plot->top = ceil(most / plot->step) * plot->step;
	plot->first = plot->n > 0 ? log2(plot->results[0].size) : 0;
	plot->last = plot->n > 0 ? log2(plot->results[plot->n - 1].size) : 0;
}

static void
size_text(char *text, size_t room, uint32_t size)
{
	if (size >= 1 << 20 && size % (1 << 20) == 0)
		snprintf(text, room, "%uM", size >> 20);
	else if (size >= 1 << 10 && size % (1 << 10) == 0)
		snprintf(text, room, "%uK", size >> 10);
	else
		snprintf(text, room, "%u", size);
}

static void
draw_axes(const struct plot *plot)
{
	const char *unit = plot->options->mode == PERF_LAT ? "latency [\xc2\xb5s]"
			   : plot->options->gbits	   ? "bandwidth [Gb/s]"
							   : "bandwidth [MB/s]";
	const double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM;
	char size[16];
	double value;
	uint32_t i;

	for (value = 0; value <= plot->top * 1.0001; value += plot->step)
		fprintf(plot->out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#dddddd\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			LEFT, y_of(plot, value), right, y_of(plot, value), LEFT - 8,
			y_of(plot, value) + 4, value);
	for (i = 0; i < plot->n; i++) {
		/* Each second one, if there are many. */
		if (plot->n > 12 && i % 2 != 0)
			continue;
		size_text(size, sizeof(size), plot->results[i].size);
		fprintf(plot->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			x_of(plot, plot->results[i].size), bottom + 20, size);
	}
	fprintf(plot->out,
		"<path d=\"M%d,%d V%.1f H%.1f\" fill=\"none\" stroke=\"#333333\"/>\n"
		"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">size of a message [bytes]</text>\n"
		"<text x=\"24\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 24 %.1f)\">%s</text>\n",
		LEFT, TOP, bottom, right, (LEFT + right) / 2, HEIGHT - 20, (TOP + bottom) / 2,
		(TOP + bottom) / 2, unit);
}

/* ---- Curves ---- */

static void
draw_curve(const struct plot *plot, const struct curve *curve, unsigned int place)
{
	const double x = WIDTH - RIGHT + 20, y = TOP + 20 + 22 * place;
	uint32_t i;

	fprintf(plot->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
		curve->colour);
	for (i = 0; i < plot->n; i++)
		fprintf(plot->out, "%s%.1f,%.1f", i > 0 ? " " : "",
			x_of(plot, plot->results[i].size),
			y_of(plot, curve->value(plot->options, &plot->results[i])));
	fputs("\"/>\n", plot->out);
	for (i = 0; i < plot->n; i++) {
		const double value = curve->value(plot->options, &plot->results[i]);

		fprintf(plot->out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>%u bytes, %s: "
			"%.2f</title></circle>\n",
			x_of(plot, plot->results[i].size), y_of(plot, value), curve->colour,
			plot->results[i].size, curve->name, value);
	}
	fprintf(plot->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"4\" fill=\"%s\"/>\n"
		"<text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
		x, y - 6, curve->colour, x + 20, y, curve->name);
}

void
perf_plot_write(FILE *out, const struct perf_options *options, const struct perf_test_info *info,
		const struct perf_result *results, uint32_t n)
{
	struct plot plot = { .out = out, .options = options, .results = results, .n = n };
	const struct curve *curves = curves_of(options);
	char name[100];
	unsigned int i;

	scale(&plot, curves);
	perf_report_test_name(name, sizeof(name), options, " ");
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"28\" font-size=\"16\">%sTest, %s, %u queue pair%s, MTU %u</text>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, name, perf_transport_name(options->transport),
		options->qps, options->qps == 1 ? "" : "s", info->mtu);
	draw_axes(&plot);
	for (i = 0; curves[i].name != NULL; i++)
		draw_curve(&plot, &curves[i], i);
	fputs("</svg>\n", out);
}
