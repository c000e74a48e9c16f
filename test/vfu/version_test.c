/* SPDX-License-Identifier: BSD-3-Clause */

/* Negotiation: texts of peers, and what comes of them. */

#include "fixture.h"

#include <errno.h>
#include <string.h>

#include "vfio_user/message.h"
#include "vfio_user/version.h"

static int
parse(const char *text, struct vfu_capabilities *caps)
{
	return vfu_capabilities_parse(text, strlen(text) + 1, caps);
}

static void
test_qemu_is_understood(void **state)
{
	struct vfu_capabilities caps, ours, agreed;

	(void)state;
	assert_int_equal(parse("{\"capabilities\":{\"pgsizes\":4096,\"max_msg_fds\":16,"
			       "\"max_dma_maps\":65535,\"max_data_xfer_size\":1048576,"
			       "\"migration\":{\"max_bitmap_size\":262144,\"pgsize\":4096},"
			       "\"write_multiple\":true}}",
			       &caps),
			 0);
	assert_int_equal(caps.max_msg_fds, 16);
	assert_int_equal(caps.max_data_xfer_bytes, 1048576);
	assert_int_equal(caps.max_dma_maps, 65535);
	assert_int_equal(caps.pgsizes, 4096);
	assert_true(caps.write_multiple);
	/* It takes no answer with more than it proposed. */
	vfu_capabilities_ours(&ours);
	assert_int_equal(vfu_capabilities_agree(&ours, &caps, &agreed), 0);
	assert_int_equal(agreed.max_msg_fds, 16);
	assert_int_equal(agreed.pgsizes, 4096);
}

static void
test_defaults_stand_for_what_is_absent(void **state)
{
	static const char *const texts[] = { "{}", "{\"capabilities\":{}}", "{\"other\":[1,2]}" };
	struct vfu_capabilities caps;
	unsigned int i;

	(void)state;
	for (i = 0; i <= 3; i++) {
		if (i == 3)
			assert_int_equal(vfu_capabilities_parse(NULL, 0, &caps), 0);
		else
			assert_int_equal(parse(texts[i], &caps), 0);
		assert_int_equal(caps.max_msg_fds, 1);
		assert_int_equal(caps.max_data_xfer_bytes, 1 << 20);
		assert_int_equal(caps.max_dma_maps, 65535);
		assert_int_equal(caps.pgsizes, 4096);
		assert_false(caps.write_multiple);
	}
}

static void
test_nonsense_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"17",
		"{} x",
		"{\"capabilities\":7}",
		"{\"capabilities\":[]}",
		"{\"capabilities\":{\"max_msg_fds\":-1}}",
		"{\"capabilities\":{\"max_msg_fds\":1.5}}",
		"{\"capabilities\":{\"max_msg_fds\":\"8\"}}",
		"{\"capabilities\":{\"max_data_xfer_size\":0}}",
		"{\"capabilities\":{\"max_data_xfer_size\":7}}",
		"{\"capabilities\":{\"max_dma_maps\":0}}",
		"{\"capabilities\":{\"pgsizes\":0}}",
		"{\"capabilities\":{\"pgsizes\":true}}",
		"{\"capabilities\":{\"write_multiple\":1}}",
		"{\"capabilities\":{\"max_msg_fds\":99999999999999999999999}}",
		"{\"capabilities\":{\"max_msg_fds\":1,\"max_msg_fds\":2}}",
		"{\"capabilities\":{\"max_msg_fds\":1}}\xff",
	};
	struct vfu_capabilities caps;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(parse(texts[i], &caps), -EINVAL);
}

static void
test_the_text_ends_with_its_only_nul(void **state)
{
	struct vfu_capabilities caps;

	(void)state;
	assert_int_equal(vfu_capabilities_parse("{}", 2, &caps), -EINVAL);
	assert_int_equal(vfu_capabilities_parse("{}\0", 4, &caps), -EINVAL);
	assert_int_equal(vfu_capabilities_parse("{\0}", 4, &caps), -EINVAL);
	assert_int_equal(vfu_capabilities_parse("{}", 3, &caps), 0);
}

static void
test_depth_and_length_are_bounded(void **state)
{
	char text[VFU_VERSION_MAX_BYTES + 2];
	struct vfu_capabilities caps;

	(void)state;
	memset(text, '[', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(parse(text, &caps), -EINVAL);
	text[VFU_VERSION_MAX_BYTES - 1] = '\0';
	assert_int_equal(parse(text, &caps), -EINVAL);
	memset(text, ' ', sizeof(text));
	text[0] = '{';
	text[1] = '}';
	text[VFU_VERSION_MAX_BYTES - 1] = '\0';
	assert_int_equal(parse(text, &caps), 0);
	text[VFU_VERSION_MAX_BYTES - 1] = ' ';
	text[VFU_VERSION_MAX_BYTES] = '\0';
	assert_int_equal(parse(text, &caps), -EINVAL);
}

/* Brackets that are text nest nothing. */
static void
test_brackets_in_strings(void **state)
{
	struct vfu_capabilities caps;

	(void)state;
	assert_int_equal(parse("{\"vendor\":\"[[[[[[[[[[[[[[[[[[[[{{{{\\\"[[[[\"}", &caps), 0);
	assert_int_equal(parse("{\"a]]]]]]]]\":[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}", &caps),
			 -EINVAL);
}

static void
test_the_smaller_limit_holds(void **state)
{
	struct vfu_capabilities ours, theirs, agreed;

	(void)state;
	vfu_capabilities_ours(&ours);
	assert_int_equal(parse("{\"capabilities\":{\"max_data_xfer_size\":4096,"
			       "\"max_dma_maps\":4294967296,\"pgsizes\":2101248}}",
			       &theirs),
			 0);
	assert_int_equal(vfu_capabilities_agree(&ours, &theirs, &agreed), 0);
	assert_int_equal(agreed.max_data_xfer_bytes, 4096);
	assert_int_equal(agreed.max_dma_maps, 65535);
	assert_int_equal(agreed.max_msg_fds, 1);
	assert_int_equal(agreed.pgsizes, 4096 | 1 << 21);
	assert_false(agreed.write_multiple);
	theirs.pgsizes = 1 << 16;
	assert_int_equal(vfu_capabilities_agree(&ours, &theirs, &agreed), -EINVAL);
}

static void
test_what_we_write_we_read(void **state)
{
	struct vfu_capabilities ours, back;
	char text[512];
	int n;

	(void)state;
	vfu_capabilities_ours(&ours);
	n = vfu_capabilities_format(&ours, text, sizeof(text));
	assert_int_equal(n, strlen(text) + 1);
	assert_int_equal(vfu_capabilities_parse(text, n, &back), 0);
	assert_int_equal(back.max_msg_fds, ours.max_msg_fds);
	assert_int_equal(back.pgsizes, ours.pgsizes);
	assert_int_equal(back.write_multiple, ours.write_multiple);
	assert_int_equal(vfu_capabilities_format(&ours, text, 20), -ENOSPC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qemu_is_understood),
		cmocka_unit_test(test_defaults_stand_for_what_is_absent),
		cmocka_unit_test(test_nonsense_is_refused),
		cmocka_unit_test(test_the_text_ends_with_its_only_nul),
		cmocka_unit_test(test_depth_and_length_are_bounded),
		cmocka_unit_test(test_the_smaller_limit_holds),
		cmocka_unit_test(test_what_we_write_we_read),
		cmocka_unit_test(test_brackets_in_strings),
	};

	return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
