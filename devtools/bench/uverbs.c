/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "uverbs.h"

#define DEVICES	      "/dev/infiniband/"
#define MAX_WQE_BYTES 1024
#define MAX_WQES      8192

int __real_open(const char *path, int flags, ...);
int __real_stat(const char *path, struct stat *st);
ssize_t __real_write(int fd, const void *data, size_t bytes);
void *__real_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);
int __wrap_open(const char *path, int flags, ...);
int __wrap_stat(const char *path, struct stat *st);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
void *__wrap_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);
int __wrap_nl_connect(void *socket, int protocol);

static int device_fd = -1;
static uint32_t last_uidx;

/* What sysfs says of the device. Its device number is /dev/null's, which is opened in its place. */
static const struct {
	const char *path, *text;
} sysfs[] = {
	{ "class", NULL },
	{ "class/infiniband", NULL },
	{ "class/infiniband/mlx5_0", NULL },
	{ "class/infiniband/mlx5_0/node_type", "1: CA" },
	{ "class/infiniband/mlx5_0/device", NULL },
	{ "class/infiniband/mlx5_0/device/modalias",
	  "pci:v000015B3d00001017sv000015B3sd00000000bc02sc00i00" },
	{ "class/infiniband_verbs", NULL },
	{ "class/infiniband_verbs/abi_version", "6" },
	{ "class/infiniband_verbs/uverbs0", NULL },
	{ "class/infiniband_verbs/uverbs0/ibdev", "mlx5_0" },
	{ "class/infiniband_verbs/uverbs0/dev", "1:3" },
	{ "class/infiniband_verbs/uverbs0/abi_version", "1" },
};
#define SYSFS_ENTRIES (int)(sizeof(sysfs) / sizeof(sysfs[0]))

uint32_t
uverbs_last_uidx(void)
{
	return last_uidx;
}

/* Devices of this machine are none of ours: without netlink libibverbs looks into sysfs. */
int
__wrap_nl_connect(void *socket, int protocol)
{
	(void)socket;
	(void)protocol;
	return -1;
}

int
__wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (strncmp(path, DEVICES, strlen(DEVICES)) == 0) {
		device_fd = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
		return device_fd;
	}
	if (flags & O_CREAT) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return __real_open(path, flags, mode);
}

int
__wrap_stat(const char *path, struct stat *st)
{
	return __real_stat(strncmp(path, DEVICES, strlen(DEVICES)) == 0 ? "/dev/null" : path, st);
}

/* Doorbell registers: plain memory. */
void *
__wrap_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	if (fd >= 0 && fd == device_fd)
		return __real_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
	return __real_mmap(addr, bytes, prot, flags, fd, offset);
}

static void
say_context(void *answer)
{
	struct ib_uverbs_get_context_resp *core = answer;
	struct mlx5_ib_alloc_ucontext_resp *mlx5 = (void *)core->driver_data;

	core->async_fd = __real_open("/dev/null", O_RDWR | O_CLOEXEC);
	core->num_comp_vectors = 1;
	mlx5->qp_tab_size = 1 << 18;
	mlx5->bf_reg_size = 512;
	mlx5->tot_bfregs = 16;
	mlx5->cache_line_size = 64;
	mlx5->max_sq_desc_sz = MAX_WQE_BYTES;
	mlx5->max_rq_desc_sz = 512;
	mlx5->max_send_wqebb = MAX_WQES;
	mlx5->max_recv_wr = MAX_WQES;
	mlx5->max_srq_recv_wr = MAX_WQES;
	mlx5->num_ports = 1;
	mlx5->response_length = sizeof(*mlx5);
	mlx5->cqe_version = 1;
	mlx5->log_uar_size = 12;
	mlx5->num_uars_per_page = 1;
}

static void
say_qp(const void *question, void *answer)
{
	const struct ib_uverbs_create_qp *create = question;
	const struct mlx5_ib_create_qp *mlx5 = (const void *)create->driver_data;
	struct ib_uverbs_create_qp_resp *core = answer;

	last_uidx = mlx5->uidx;
	core->qpn = UVERBS_QPN;
	core->max_send_wr = create->max_send_wr;
	core->max_recv_wr = create->max_recv_wr;
	core->max_send_sge = create->max_send_sge;
	core->max_recv_sge = create->max_recv_sge;
	core->max_inline_data = create->max_inline_data;
	/* A register that takes WQEs written to it (BlueFlame), as the first queue pairs get. */
	((struct mlx5_ib_create_qp_resp *)core->driver_data)->bfreg_index = 1;
}

/* A command of the old interface: the libraries fall back to it when ioctl() is not known, as on /dev/null. */
static int
carry_out(const struct ib_uverbs_cmd_hdr *command)
{
	const void *question = command + 1;
	size_t bytes = command->out_words * 4;
	char answer[1024] = { 0 };
	uint64_t address;

	switch (command->command) {
	case IB_USER_VERBS_CMD_GET_CONTEXT: say_context(answer); break;
	case IB_USER_VERBS_CMD_CREATE_CQ:
		((struct ib_uverbs_create_cq_resp *)answer)->cqe =
			((const struct ib_uverbs_create_cq *)question)->cqe;
		break;
	case IB_USER_VERBS_CMD_CREATE_QP: say_qp(question, answer); break;
	case IB_USER_VERBS_CMD_ALLOC_PD:
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
	case IB_USER_VERBS_CMD_QUERY_PORT:
	case IB_USER_VERBS_CMD_MODIFY_QP: break;
	default: return EOPNOTSUPP;
	}
	if (bytes > sizeof(answer))
		return EINVAL;
	/* Every question that has an answer begins with its address. */
	if (bytes > 0) {
		memcpy(&address, question, sizeof(address));
		memcpy((void *)(uintptr_t)address, answer, bytes);
	}
	return 0;
}

ssize_t
__wrap_write(int fd, const void *data, size_t bytes)
{
	int ret;

	if (fd < 0 || fd != device_fd)
		return __real_write(fd, data, bytes);
	ret = carry_out(data);
	if (ret == 0)
		return (ssize_t)bytes;
	errno = ret;
	return -1;
}

static void
remove_sysfs(const char *folder)
{
	char path[256];

	for (int i = SYSFS_ENTRIES - 1; i >= 0; i--) {
		snprintf(path, sizeof(path), "%s/%s", folder, sysfs[i].path);
		remove(path);
	}
	remove(folder);
}

static int
make_sysfs(const char *folder)
{
	char path[256];
	FILE *file;

	for (int i = 0; i < SYSFS_ENTRIES; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, sysfs[i].path);
		if (sysfs[i].text == NULL) {
			if (mkdir(path, 0700) != 0)
				return -errno;
			continue;
		}
		file = fopen(path, "w");
		if (file == NULL)
			return -errno;
		fprintf(file, "%s\n", sysfs[i].text);
		if (fclose(file) != 0)
			return -errno;
	}
	return 0;
}

struct ibv_context *
uverbs_open(void)
{
	char folder[] = "/tmp/rdmapmd-bench.XXXXXX";
	struct ibv_context *context = NULL;
	struct ibv_device **list = NULL;

	if (mkdtemp(folder) == NULL) {
		perror(folder);
		return NULL;
	}
	setenv("SYSFS_PATH", folder, 1);
	if (make_sysfs(folder) == 0) {
		list = ibv_get_device_list(NULL);
		if (list != NULL && list[0] != NULL)
			context = ibv_open_device(list[0]);
		if (context == NULL)
			perror("libibverbs does not take its device");
		if (list != NULL)
			ibv_free_device_list(list);
	}
	remove_sysfs(folder);
	return context;
}
