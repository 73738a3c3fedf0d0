// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte of user memory must be zero when the kernel hands it over.
 *
 * A page that was clear already hides a clear that was forgotten, so each
 * test recycles memory: a "slot" (one folio) is filled with a pattern, given
 * back, asked for again and compared with zero.  Page frame numbers tell
 * whether the folio that arrived is one that was dirtied.  The other slots
 * of the arena keep the pattern; they are guards that show a clear which
 * runs past its folio or starts at a wrong address.
 *
 * All settings are saved at the start.  They are put back after each test,
 * by its parent so that a test may die, and when the program ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mman.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "vm_util.h"
#include "clear_util.h"

#define KPF_COMPOUND_HEAD	BIT_ULL(15)
#define KPF_COMPOUND_TAIL	BIT_ULL(16)

#define MAX_SEEN	1024
#define MAX_POSITIONS	21
#define MAX_TRIES	8
#define MAX_HELD	SZ_1G
#define PATIENCE	30	/* seconds, for slow machines */
#define RACE_ROUNDS	30

/* File mappings start here, so that offsets and addresses never agree. */
#define FILE_SLOTS	3

#define HUGETLB_FLAGS(size) \
	((unsigned int)__builtin_ctzl(size) << MAP_HUGE_SHIFT)

/* Settings */

static const size_t pool_sizes[] = { SZ_2M, SZ_1G };

#define NR_POOLS ARRAY_SIZE(pool_sizes)

static struct {
	bool thp;
	unsigned long pages[NR_POOLS];
	unsigned long overcommit[NR_POOLS];
	int cgroup_root;	/* a mount of our own */
	bool cgroup_hugetlb;
} saved;

#define CGROUP		"clear_huge_selftest"
#define CGROUP_LIMIT	CGROUP "/hugetlb.2MB.max"

/* Keep pages from everybody until this process ends. */
static bool pool_hold(size_t size, unsigned long nr)
{
	return mmap(NULL, nr * size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_HUGETLB |
		    HUGETLB_FLAGS(size), -1, 0) != MAP_FAILED;
}

/*
 * Have exactly @nr pages available, and no surplus pages.  The pool only
 * grows: gigantic pages that are given away may never come back.
 */
static const char *pool_set(size_t size, unsigned long nr)
{
	unsigned long avail = pool_available(size);

	pool_write(size, "nr_overcommit_hugepages", 0);
	if (avail > nr) {
		if ((avail - nr) * size > MAX_HELD || !pool_hold(size, avail - nr))
			return "more free huge pages than can be dirtied or held";
	} else {
		pool_write(size, "nr_hugepages",
			   pool_read(size, "nr_hugepages") + nr - avail);
	}
	return pool_available(size) == nr ? NULL : "cannot get enough huge pages";
}

/* thp_settings.c exits if this is missing; its other files are not. */
static bool have_thp(void)
{
	return !access("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
		       W_OK) && read_pmd_pagesize();
}

static void save_settings(void)
{
	unsigned int i;

	for (i = 0; i < NR_POOLS; i++) {
		if (!have_pool(pool_sizes[i]))
			continue;
		saved.pages[i] = pool_read(pool_sizes[i], "nr_hugepages");
		saved.overcommit[i] = pool_read(pool_sizes[i],
						"nr_overcommit_hugepages");
	}
	saved.cgroup_root = cgroup_mount();
	mkdirat(saved.cgroup_root, CGROUP, 0755);
	saved.cgroup_hugetlb = cgroup_write(saved.cgroup_root, CGROUP_LIMIT, "max");
	unlinkat(saved.cgroup_root, CGROUP, AT_REMOVEDIR);
	saved.thp = have_thp();
	if (saved.thp)
		thp_save_settings();
}

/* Returns false if the system has fewer huge pages than before. */
static bool restore_settings(void)
{
	unsigned long pages;
	unsigned int i;
	bool ok = true;

	for (i = 0; i < NR_POOLS; i++) {
		if (!have_pool(pool_sizes[i]))
			continue;
		pool_write(pool_sizes[i], "nr_hugepages", saved.pages[i]);
		pool_write(pool_sizes[i], "nr_overcommit_hugepages",
			   saved.overcommit[i]);
		pages = pool_read(pool_sizes[i], "nr_hugepages");
		if (pages < saved.pages[i]) {
			ksft_print_msg("HUGE PAGES LOST: %lu of %zu kB left of %lu\n",
				       pages, pool_sizes[i] >> 10, saved.pages[i]);
			ok = false;
		}
	}
	/* The directory is there if the controller may have been enabled. */
	if (!unlinkat(saved.cgroup_root, CGROUP, AT_REMOVEDIR) && !saved.cgroup_hugetlb)
		cgroup_write(saved.cgroup_root, "cgroup.subtree_control", "-hugetlb");
	if (saved.thp)
		thp_restore_settings();
	return ok;
}

/*
 * Does the page allocator clear pages?  Then nothing that comes from it is
 * dirty, and a clear that is missing cannot be seen.  -1 means unknown.
 */
static int pages_auto_init(void)
{
	char buf[8192];
	int fd, ret = -1;
	ssize_t len;

	fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	while (ret < 0) {
		len = read(fd, buf, sizeof(buf) - 1);
		if (len < 0 && errno == EPIPE)	/* overwritten meanwhile */
			continue;
		if (len <= 0)
			break;
		buf[len] = '\0';
		if (strstr(buf, "mem auto-init: stack:"))
			ret = strstr(buf, "heap alloc:on") ||
			      strstr(buf, "heap free:on");
	}
	close(fd);

	/* The line has left the log: an explicit yes is all there is to see. */
	if (ret < 0 && read_file("/proc/cmdline", buf, sizeof(buf)) &&
	    (strstr(buf, "init_on_alloc=1") || strstr(buf, "init_on_free=1")))
		return 1;
	return ret;
}

/* Looking at memory */

/*
 * One access that the compiler neither drops nor repeats. Not an exchange: where
 * that is emulated, its read may fault before its write and map the zero page.
 */
static char get_byte(const char *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static void set_byte(char *p, char val)
{
	__atomic_store_n(p, val, __ATOMIC_RELAXED);
}

#define EACH_BYTE	0x0101010101010101ULL

/* memset() stores bytes for a large size: too slow on an emulated machine. */
static void fill(char *p, size_t len)
{
	unsigned long long *w = (void *)p;
	size_t i;

	for (i = 0; i < len / sizeof(*w); i++)
		__atomic_store_n(w + i, PATTERN * EACH_BYTE, __ATOMIC_RELAXED);
}

static bool expect_only(struct __test_metadata *_metadata, const char *what,
			size_t arg, const char *p, size_t len, unsigned char byte)
{
	unsigned long long val, word = byte * EACH_BYTE;
	const unsigned long long *w = (const void *)p;
	size_t off, i = 0;

	/* Faster there than memcmp(), too. */
	while (i < len / sizeof(*w) &&
	       !((w[i] ^ word) | (w[i + 1] ^ word) | (w[i + 2] ^ word) |
		 (w[i + 3] ^ word) | (w[i + 4] ^ word) | (w[i + 5] ^ word) |
		 (w[i + 6] ^ word) | (w[i + 7] ^ word)))
		i += 8;
	off = i * sizeof(*w);
	if (off == len)
		return true;

	while ((unsigned char)p[off] == byte)
		off++;
	memcpy(&val, p + (off & ~7UL), sizeof(val));
	EXPECT_EQ(len, off)
		TH_LOG("%s (%#zx): byte %#zx of %#zx (page %zu) in %#llx is not %#x",
		       what, arg, off, len, off / psize(), val, byte);
	return false;
}

/* Where to fault: around both ends and in the middle, aligned and not. */
static unsigned int positions(size_t size, size_t *pos)
{
	size_t n = size / psize();
	size_t pages[] = { 0, 1, 2, n / 2, n - 3, n - 2, n - 1 };
	size_t bytes[] = { 0, 1, psize() - 1 };
	unsigned int i, j, nr = 0;

	/* Gigantic pages are slow: one byte each of three base pages. */
	if (size >= SZ_1G) {
		pos[0] = 1;
		pos[1] = n / 2 * psize();
		pos[2] = size - 1;
		return 3;
	}

	for (i = 0; i < 7; i++)
		for (j = 0; j < 3; j++)
			pos[nr++] = pages[i] % n * psize() + bytes[j];
	return nr;
}

/* The arena: slots of one folio each */

enum backing {
	ANON,		/* private anonymous memory */
	SHMEM,		/* shared anonymous memory */
	MEMFD,		/* memfd_create() */
	HUGETLB,	/* private MAP_HUGETLB */
	HUGETLB_FILE,	/* memfd_create(MFD_HUGETLB) */
};

struct arena {
	enum backing kind;
	size_t size;		/* of a slot */
	unsigned int nr;
	char *base;
	int fd;
	cpu_set_t cpus;
	unsigned long seen[MAX_SEEN];	/* page frames that we dirtied */
	unsigned int nr_seen;
	unsigned int clean_first;	/* handed out last, clear now */
	unsigned int clean_nr;
	unsigned int handed;	/* folios received ... */
	unsigned int dirtied;	/* ... and those that we had dirtied */
	bool luck;		/* the allocator may prefer other pages */
};

/* Not in the arena, which a test shares with its children. */
static int pagemap, kpageflags;

static bool is_hugetlb(const struct arena *a)
{
	return a->kind == HUGETLB || a->kind == HUGETLB_FILE;
}

static bool is_private(const struct arena *a)
{
	return a->kind == ANON || a->kind == HUGETLB;
}

static char *slot(const struct arena *a, unsigned int i)
{
	return a->base + i * a->size;
}

static off_t slot_offset(const struct arena *a, unsigned int i)
{
	return (FILE_SLOTS + i) * a->size;
}

/* Map slots anew, at the place that they have. */
static bool map_slots(const struct arena *a, unsigned int first,
		      unsigned int nr, int flags)
{
	flags |= MAP_FIXED;
	flags |= is_private(a) ? MAP_PRIVATE : MAP_SHARED;
	if (a->fd < 0)
		flags |= MAP_ANONYMOUS;
	if (a->kind == HUGETLB)
		flags |= MAP_HUGETLB | HUGETLB_FLAGS(a->size);

	return mmap(slot(a, first), nr * a->size, PROT_READ | PROT_WRITE,
		    flags, a->fd, a->fd < 0 ? 0 : slot_offset(a, first)) != MAP_FAILED;
}

static bool free_slots(const struct arena *a, unsigned int first, unsigned int nr)
{
	return !madvise(slot(a, first), nr * a->size,
			is_private(a) ? MADV_DONTNEED : MADV_REMOVE);
}

static unsigned long slot_pfn(const struct arena *a, unsigned int i)
{
	return pagemap_get_pfn(pagemap, slot(a, i));
}

/* Is the slot backed by one folio of its size, and by nothing else? */
static bool one_folio(const struct arena *a, unsigned int i)
{
	unsigned long pfn = slot_pfn(a, i);
	size_t n = a->size / psize();
	unsigned long long flags;
	size_t j;

	if (pfn == -1ul || pfn % n)
		return false;
	if (is_hugetlb(a))
		return true;

	for (j = 0; j <= n; j++) {
		if (pread(kpageflags, &flags, sizeof(flags),
			  (pfn + j) * sizeof(flags)) != sizeof(flags))
			break;	/* the end of memory */
		flags &= KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL;
		if (j == n)
			return flags != KPF_COMPOUND_TAIL;
		if (flags != (j ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD) ||
		    pagemap_get_pfn(pagemap, slot(a, i) + j * psize()) != pfn + j)
			break;
	}
	return j == n;
}

/* Have we had this page frame, which means that the pattern is in it? */
static bool was_dirtied(const struct arena *a, unsigned long pfn)
{
	unsigned int j;

	for (j = 0; j < a->nr_seen; j++)
		if (a->seen[j] == pfn)
			return true;
	return false;
}

static void note_dirty(struct arena *a, unsigned long pfn)
{
	if (!was_dirtied(a, pfn) && a->nr_seen < MAX_SEEN)
		a->seen[a->nr_seen++] = pfn;
}

static void dirty_slots(struct arena *a, unsigned int first, unsigned int nr)
{
	unsigned int i;

	fill(slot(a, first), nr * a->size);
	for (i = first; i < first + nr; i++)
		note_dirty(a, slot_pfn(a, i));
}

/* Count a page that was handed out; was it one that we had dirtied? */
static bool count_page(struct arena *a, unsigned long pfn)
{
	bool dirty = was_dirtied(a, pfn);

	a->handed++;
	a->dirtied += dirty;
	return dirty;
}

/* Allow one size of THP only, so that nothing else can be handed out. */
static const char *arena_thp(const struct arena *a)
{
	int order = __builtin_ctzl(a->size / psize());
	struct thp_settings s;
	unsigned long orders;
	int i;

	if (!saved.thp)
		return "no transparent huge pages";

	thp_read_settings(&s);
	s.thp_enabled = THP_NEVER;
	s.thp_defrag = THP_DEFRAG_ALWAYS;
	s.shmem_enabled = SHMEM_NEVER;
	s.use_zero_page = true;
	for (i = 0; i < NR_ORDERS; i++) {
		s.hugepages[i].enabled = THP_NEVER;
		s.shmem_hugepages[i].enabled = SHMEM_NEVER;
	}

	if (a->kind == ANON) {
		orders = thp_supported_orders();
		s.hugepages[order].enabled = THP_ALWAYS;
	} else if (a->kind == SHMEM) {
		orders = thp_shmem_supported_orders();
		s.shmem_hugepages[order].enabled = SHMEM_ALWAYS;
	} else {
		/* Files do not obey the settings for each size in 6.12. */
		orders = BIT_ULL(__builtin_ctzl(read_pmd_pagesize() / psize()));
		s.shmem_enabled = SHMEM_ALWAYS;
		s.shmem_hugepages[order].enabled = SHMEM_INHERIT;
	}
	if (!(orders & BIT_ULL(order)))
		return "no THP of this size";
	thp_write_settings(&s);
	return NULL;
}

/* Returns NULL, or the reason why there can be no such arena. */
static const char *arena_create(struct arena *a, enum backing kind,
				size_t size, unsigned int nr)
{
	const char *why;
	cpu_set_t cpu;
	unsigned int i;
	char *p;
	int ret;

	*a = (struct arena) { .kind = kind, .size = size, .nr = nr, .fd = -1 };
	a->luck = !is_hugetlb(a) && size < read_pmd_pagesize();

	if (geteuid())
		return "must be root";
	pagemap = open("/proc/self/pagemap", O_RDONLY);
	kpageflags = open("/proc/kpageflags", O_RDONLY);
	if (pagemap < 0 || kpageflags < 0)
		return "no /proc/self/pagemap or /proc/kpageflags";
	/* A test that ran out of time has restored nothing. */
	if (!restore_settings())
		return "huge pages were lost before";

	/* Free pages are kept per CPU: stay where we free them. */
	sched_getaffinity(0, sizeof(a->cpus), &a->cpus);
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	if (is_hugetlb(a)) {
		if (!have_pool(size))
			return "no huge pages of this size";
		/* A pool of this very size returns just what we dirtied. */
		why = pool_set(size, nr);
	} else {
		ret = pages_auto_init();
		if (ret > 0)
			return "init_on_alloc or init_on_free clears all pages";
		if (ret < 0)
			ksft_print_msg("init_on_alloc unknown: if on, nothing is dirty\n");
		why = arena_thp(a);
	}
	if (why)
		return why;

	if (kind == MEMFD || kind == HUGETLB_FILE) {
		a->fd = memfd_create("clear_huge", MFD_ALLOW_SEALING |
				     (kind == MEMFD ? 0 :
				      MFD_HUGETLB | HUGETLB_FLAGS(size)));
		if (a->fd < 0 || ftruncate(a->fd, slot_offset(a, nr)))
			return "no such memfd";
	}

	/* Room to align, and a hole on either side. */
	p = mmap(NULL, (nr + 2) * size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return "no address space";
	a->base = p + size - (uintptr_t)p % size;
	if (!map_slots(a, 0, nr, MAP_NORESERVE))
		return "cannot map memory of this kind";

	/* Takes long with gigantic pages: left to the tests that do not skip. */
	if (size < SZ_1G)
		dirty_slots(a, 0, nr);
	else
		a->clean_nr = nr;
	for (i = 0; i < a->nr_seen; i++)
		if (!one_folio(a, i))
			return "the kernel gives smaller pages";
	return NULL;
}

static void arena_setup(struct __test_metadata *_metadata, struct arena *a,
			enum backing kind, size_t size, unsigned int nr)
{
	const char *why = size ? arena_create(a, kind, size, nr) :
				 "no transparent huge pages";

	/* No teardown after a skip; the memory goes when the process ends. */
	if (why && !geteuid())
		EXPECT_TRUE(restore_settings());
	if (why && !_metadata->exit_code)
		SKIP(return, "%s", why);
}

/*
 * In the parent, when the test has ended and given back its memory.  A test
 * that never saw dirty memory has proved nothing.
 */
static void arena_finish(struct __test_metadata *_metadata, struct arena *a)
{
	EXPECT_TRUE(restore_settings());
	if (!a->handed)
		return;
	TH_LOG("%u of %u folios had been dirtied", a->dirtied, a->handed);
	if (a->dirtied || _metadata->exit_code)
		return;
	if (a->luck)
		SKIP(return, "the allocator gave no page that was dirty");
	EXPECT_NE(0U, a->dirtied);
}

/* Getting memory for slots that have none */

enum way {
	BY_TOUCH, BY_MAP_POPULATE, BY_MADVISE, BY_MLOCK, BY_FALLOCATE, BY_PIN,
	BY_RACE, BY_FORK,
};

static void touch(struct __test_metadata *_metadata, char *p)
{
	set_byte(p, 1);
	ASSERT_EQ(1, get_byte(p));
	set_byte(p, 0);
}

static sigjmp_buf sigbus_env;

static void sigbus(int sig)
{
	siglongjmp(sigbus_env, sig);
}

static int get_by_touch(struct __test_metadata *_metadata, struct arena *a,
			unsigned int first, unsigned int nr, size_t pos)
{
	unsigned int i;
	int sig;

	signal(SIGBUS, sigbus);
	sig = sigsetjmp(sigbus_env, 1);
	if (!sig)
		for (i = first; i < first + nr; i++)
			touch(_metadata, slot(a, i) + pos);
	signal(SIGBUS, SIG_DFL);
	return sig;
}

/* What a reservation is needed for must be mapped. */
static int get_by_pin(struct arena *a, unsigned int first, unsigned int nr)
{
	if (!map_slots(a, first, nr, 0))
		return errno;
	return pin_memfd(a->fd, slot_offset(a, first), nr * a->size);
}

static pthread_barrier_t race_start;

static void *race(void *p)
{
	pthread_barrier_wait(&race_start);
	set_byte(p, 2);
	return NULL;
}

/* Two CPUs fault on one slot; the loser throws its page away. */
static void get_by_race(struct __test_metadata *_metadata, struct arena *a,
			unsigned int i, size_t pos)
{
	char *other = slot(a, i) + (pos + a->size / 2) % a->size;
	char *mine = slot(a, i) + pos;
	pthread_t thread;

	ASSERT_EQ(0, pthread_barrier_init(&race_start, NULL, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, race, other));
	pthread_barrier_wait(&race_start);
	set_byte(mine, 1);
	ASSERT_EQ(0, pthread_join(thread, NULL));

	/* Cleared after it became visible?  Then a write is lost. */
	ASSERT_EQ(1, get_byte(mine));
	ASSERT_EQ(2, get_byte(other));
	set_byte(mine, 0);
	set_byte(other, 0);
}

/* A child copies slot 0 and gets a page of its own, then the parent does. */
static int get_by_fork(struct __test_metadata *_metadata, struct arena *a,
		       unsigned int first, unsigned int nr, size_t pos)
{
	char *mine = slot(a, first);
	int status;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		pagemap = open("/proc/self/pagemap", O_RDONLY);
		set_byte(a->base, 0);
		expect_only(_metadata, "bad copy in child", pos, a->base + 64,
			    a->size - 64, PATTERN);
		touch(_metadata, mine + pos);
		expect_only(_metadata, "not cleared in child", pos, mine, a->size, 0);
		EXPECT_TRUE(one_folio(a, first));
		count_page(a, slot_pfn(a, first));

		/* Leave dirt to the parent, or what it expects to see. */
		if (is_private(a))
			fill(mine, a->size);
		else
			set_byte(a->base, PATTERN);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	return get_by_touch(_metadata, a, first, nr, pos);
}

/* Returns 0 or an error.  May write to the memory if it leaves zeroes. */
static int get_slots(struct __test_metadata *_metadata, struct arena *a,
		     unsigned int first, unsigned int nr, enum way way, size_t arg)
{
	size_t len = nr * a->size;
	char *p = slot(a, first);

	switch (way) {
	case BY_TOUCH:
		return get_by_touch(_metadata, a, first, nr, arg);
	case BY_MAP_POPULATE:
		return map_slots(a, first, nr, MAP_NORESERVE | MAP_POPULATE) ?
		       0 : errno;
	case BY_MADVISE:
		return madvise(p, len, MADV_POPULATE_WRITE) ? errno : 0;
	case BY_MLOCK:
		return mlock(p, len) || munlock(p, len) ? errno : 0;
	case BY_FALLOCATE:
		/* hugetlbfs rounds outwards, @arg need not be aligned. */
		return fallocate(a->fd, 0, slot_offset(a, first) + arg,
				 len - 2 * arg) ? errno : 0;
	case BY_PIN:
		return get_by_pin(a, first, nr);
	case BY_RACE:
		get_by_race(_metadata, a, first, arg);
		return 0;
	case BY_FORK:
		return get_by_fork(_metadata, a, first, nr, arg);
	}
	return -1;
}

/* Some slots must be clear, and nothing may have touched the others. */
static void check_slots(struct __test_metadata *_metadata, struct arena *a,
			unsigned int first, unsigned int nr, size_t arg)
{
	unsigned int i;

	for (i = 0; i < a->nr; i++) {
		bool guard = i < first || i >= first + nr;

		ASSERT_TRUE(expect_only(_metadata, guard ? "guard changed" :
					"not cleared", arg, slot(a, i),
					a->size, guard ? PATTERN : 0));
	}
}

static unsigned int file_slots(const struct arena *a)
{
	struct stat st;

	return fstat(a->fd, &st) ? 0 : st.st_blocks * 512 / a->size;
}

/*
 * Give dirty slots back, get them again, compare.  Returns whether all
 * folios were as wished: of the full size, and dirtied before.
 */
static bool recycle_once(struct __test_metadata *_metadata, struct arena *a,
			 unsigned int first, unsigned int nr, enum way way, size_t arg)
{
	bool good = true;
	unsigned int i;

	/* Guards, or dirty when they are freed now. */
	dirty_slots(a, a->clean_first, a->clean_nr);
	ASSERT_TRUE(free_slots(a, first, nr));

	ASSERT_EQ(0, get_slots(_metadata, a, first, nr, way, arg));

	/* It must be there now: to read a hole would fill it. */
	if (a->fd >= 0)
		ASSERT_EQ(a->nr, file_slots(a));
	for (i = first; i < first + nr; i++) {
		if (way == BY_FALLOCATE || way == BY_PIN)
			get_byte(slot(a, i));	/* only maps it */
		ASSERT_TRUE(pagemap_is_populated(pagemap, slot(a, i)))
			TH_LOG("slot %u has no page", i);
	}
	check_slots(_metadata, a, first, nr, arg);

	for (i = first; i < first + nr; i++)
		if (!one_folio(a, i) || !count_page(a, slot_pfn(a, i)))
			good = false;
	a->clean_first = first;
	a->clean_nr = nr;
	return good;
}

/* The page allocator promises nothing, so give it several chances. */
static void recycle(struct __test_metadata *_metadata, struct arena *a,
		    unsigned int first, unsigned int nr, enum way way, size_t arg)
{
	unsigned int i;

	for (i = 0; i < MAX_TRIES; i++)
		if (recycle_once(_metadata, a, first, nr, way, arg))
			return;

	for (i = first; i < first + nr; i++) {
		ASSERT_TRUE(one_folio(a, i))
			TH_LOG("slot %u has smaller pages", i);
	}
	ASSERT_FALSE(is_hugetlb(a))
		TH_LOG("the pool gave a page that is not ours");
}

static void fault_everywhere(struct __test_metadata *_metadata, struct arena *a)
{
	size_t pos[MAX_POSITIONS];
	unsigned int i, nr = positions(a->size, pos);

	for (i = 0; i < nr; i++)
		recycle(_metadata, a, i % a->nr, 1, BY_TOUCH, pos[i]);
}

/* Several slots in one request, where there are several. */
static void get_many(struct __test_metadata *_metadata, struct arena *a,
		     enum way way, size_t arg)
{
	unsigned int nr = a->nr > 2 ? a->nr - 2 : 1;

	recycle(_metadata, a, a->nr > 2, nr, way, arg);
}

/* All ways to get a page, with the page sizes that everyone uses */

FIXTURE(page)
{
	struct arena a;
};

FIXTURE_VARIANT(page)
{
	enum backing kind;
	size_t size;		/* 0: whatever a PMD maps */
};

FIXTURE_VARIANT_ADD(page, thp) { .kind = ANON };
FIXTURE_VARIANT_ADD(page, hugetlb_2M) { .kind = HUGETLB, .size = SZ_2M };
FIXTURE_VARIANT_ADD(page, hugetlb_memfd_2M) { .kind = HUGETLB_FILE, .size = SZ_2M };
FIXTURE_VARIANT_ADD(page, hugetlb_1G) { .kind = HUGETLB, .size = SZ_1G };
FIXTURE_VARIANT_ADD(page, hugetlb_memfd_1G) { .kind = HUGETLB_FILE, .size = SZ_1G };

/* Gigantic pages are cleared by other code.  They take long: one slot. */
#define GIGANTIC	"takes too long with pages of this size"

FIXTURE_SETUP(page)
{
	arena_setup(_metadata, &self->a, variant->kind,
		    variant->size ?: read_pmd_pagesize(),
		    variant->size == SZ_1G ? 1 : 6);
}

FIXTURE_TEARDOWN_PARENT(page)
{
	arena_finish(_metadata, &self->a);
}

TEST_F_TIMEOUT(page, fault, 180)
{
	fault_everywhere(_metadata, &self->a);
}

TEST_F(page, map_populate)
{
	if (self->a.nr == 1)
		SKIP(return, GIGANTIC);
	get_many(_metadata, &self->a, BY_MAP_POPULATE, 0);
}

TEST_F(page, madv_populate_write)
{
	if (self->a.nr == 1)
		SKIP(return, GIGANTIC);
	get_many(_metadata, &self->a, BY_MADVISE, 0);
}

TEST_F(page, mlock)
{
	if (self->a.nr == 1)
		SKIP(return, GIGANTIC);
	get_many(_metadata, &self->a, BY_MLOCK, 0);
}

TEST_F_TIMEOUT(page, fallocate, 120)
{
	if (self->a.fd < 0)
		SKIP(return, "not a file");
	get_many(_metadata, &self->a, BY_FALLOCATE, 0);
	if (self->a.nr > 1)
		get_many(_metadata, &self->a, BY_FALLOCATE, psize() + 1);
}

TEST_F(page, pin)
{
	if (self->a.fd < 0)
		SKIP(return, "not a file");
	if (self->a.nr == 1)
		SKIP(return, "too large for udmabuf");
	if (access("/dev/udmabuf", R_OK | W_OK))
		SKIP(return, "no /dev/udmabuf");
	get_many(_metadata, &self->a, BY_PIN, 0);
}

TEST_F(page, race)
{
	struct arena *a = &self->a;
	unsigned int i;

	if (self->a.nr == 1)
		SKIP(return, GIGANTIC);
	if (CPU_COUNT(&a->cpus) < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(a->cpus), &a->cpus));
	/*
	 * The loser's page comes back clear, so that not all can be dirty
	 * here, except with hugetlb, where faults on one page take turns.
	 */
	for (i = 0; i < RACE_ROUNDS; i++)
		recycle_once(_metadata, a, i % a->nr, 1, BY_RACE,
			     i * 5 * psize() % a->size);
}

TEST_F(page, fork)
{
	if (self->a.nr == 1)
		SKIP(return, GIGANTIC);
	/* Two pages: for the copy of slot 0 and for the child's own. */
	recycle(_metadata, &self->a, 1, 2, BY_FORK, self->a.size / 2);
}

/*
 * A write where the huge zero page is mapped: 6.12 answers with one base
 * page and later kernels with a huge page, so have both sizes dirty.
 */
TEST_F(page, zero_page)
{
	unsigned int i, nr, huge = 0;
	struct arena *a = &self->a;
	size_t pos[MAX_POSITIONS];
	unsigned long zero, pfn;
	char *base;

	if (a->kind != ANON)
		SKIP(return, "hugetlb has no zero page");
	base = mmap(NULL, psize(), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, base);

	nr = positions(a->size, pos);
	for (i = 0; i < nr; i++) {
		/* Fresh mappings: no page table may be left from before. */
		ASSERT_TRUE(map_slots(a, 1, 2, 0));
		dirty_slots(a, 1, 2);
		ASSERT_TRUE(map_slots(a, 1, 2, 0));

		get_byte(slot(a, 1));
		get_byte(slot(a, 2));
		zero = slot_pfn(a, 1);
		if (zero != slot_pfn(a, 2) ||
		    zero + 1 != pagemap_get_pfn(pagemap, slot(a, 1) + psize()))
			SKIP(return, "no huge zero page");

		fill(base, psize());
		note_dirty(a, pagemap_get_pfn(pagemap, base));
		ASSERT_EQ(0, madvise(base, psize(), MADV_DONTNEED));
		touch(_metadata, slot(a, 1) + pos[i]);

		pfn = pagemap_get_pfn(pagemap, slot(a, 1) + pos[i]);
		if (one_folio(a, 1)) {
			pfn = slot_pfn(a, 1);
			huge++;
		}
		ASSERT_NE(zero, pfn);
		count_page(a, pfn);
		check_slots(_metadata, a, 1, 2, pos[i]);
	}
	a->luck = huge < nr;
	TH_LOG("%u of %u writes got a huge page", huge, nr);
}

/*
 * Folios of other sizes, where the pages around the fault may be more than
 * the folio has, and shmem, which mm/shmem.c clears with code of its own
 */

FIXTURE(other)
{
	struct arena a;
};

FIXTURE_VARIANT(other)
{
	enum backing kind;
	int order;		/* 0: what a PMD maps */
};

FIXTURE_VARIANT_ADD(other, anon_order1) { .kind = ANON, .order = 1 };
FIXTURE_VARIANT_ADD(other, anon_order2) { .kind = ANON, .order = 2 };
FIXTURE_VARIANT_ADD(other, anon_order3) { .kind = ANON, .order = 3 };
FIXTURE_VARIANT_ADD(other, anon_order4) { .kind = ANON, .order = 4 };
FIXTURE_VARIANT_ADD(other, anon_order5) { .kind = ANON, .order = 5 };
FIXTURE_VARIANT_ADD(other, anon_order6) { .kind = ANON, .order = 6 };
FIXTURE_VARIANT_ADD(other, anon_order7) { .kind = ANON, .order = 7 };
FIXTURE_VARIANT_ADD(other, anon_order8) { .kind = ANON, .order = 8 };
FIXTURE_VARIANT_ADD(other, shmem_order4) { .kind = SHMEM, .order = 4 };
FIXTURE_VARIANT_ADD(other, shmem_pmd) { .kind = SHMEM };
FIXTURE_VARIANT_ADD(other, memfd_pmd) { .kind = MEMFD };

FIXTURE_SETUP(other)
{
	arena_setup(_metadata, &self->a, variant->kind, variant->order ?
		    (size_t)psize() << variant->order : read_pmd_pagesize(), 6);
}

FIXTURE_TEARDOWN_PARENT(other)
{
	arena_finish(_metadata, &self->a);
}

TEST_F(other, fault)
{
	fault_everywhere(_metadata, &self->a);
}

/* Many folios in one call. */
TEST_F(other, populate)
{
	get_many(_metadata, &self->a, self->a.fd < 0 ? BY_MADVISE : BY_FALLOCATE, 0);
}

/*
 * Requests that cannot be met or are cut short: hugetlb pages of 2 MB,
 * because their number is known exactly
 */

FIXTURE(shortage)
{
	struct arena a;
	bool done;	/* the child that should be killed was too fast */
};

FIXTURE_VARIANT(shortage)
{
	enum way way;
	int error;
};

FIXTURE_VARIANT_ADD(shortage, touch) { .way = BY_TOUCH, .error = SIGBUS };
/* mmap() succeeds although it could not populate all of the mapping. */
FIXTURE_VARIANT_ADD(shortage, map_populate) { .way = BY_MAP_POPULATE };
FIXTURE_VARIANT_ADD(shortage, madv_populate_write) { .way = BY_MADVISE, .error = EFAULT };
FIXTURE_VARIANT_ADD(shortage, fallocate) { .way = BY_FALLOCATE, .error = ENOSPC };

#define ASKED	32U
#define GRANTED	16U

FIXTURE_SETUP(shortage)
{
	arena_setup(_metadata, &self->a,
		    variant->way == BY_FALLOCATE ? HUGETLB_FILE : HUGETLB,
		    SZ_2M, ASKED);
	if (!_metadata->exit_code)
		ASSERT_TRUE(free_slots(&self->a, 0, ASKED));
}

FIXTURE_TEARDOWN_PARENT(shortage)
{
	arena_finish(_metadata, &self->a);
}

/* The first GRANTED slots must be there and clear, the others must not. */
static void check_granted(struct __test_metadata *_metadata, struct arena *a)
{
	unsigned int i;
	bool there;

	if (a->fd >= 0)
		EXPECT_EQ(GRANTED, file_slots(a));
	for (i = 0; i < a->nr; i++) {
		/* Not mapped after fallocate(): a hole gives SIGBUS below. */
		there = a->fd >= 0 ? i < GRANTED :
			pagemap_is_populated(pagemap, slot(a, i));
		ASSERT_EQ(i < GRANTED, there)
			TH_LOG("slot %u of %u", i, a->nr);
		if (!there)
			continue;
		ASSERT_TRUE(expect_only(_metadata, "not cleared", i,
					slot(a, i), a->size, 0));
		count_page(a, slot_pfn(a, i));
	}
}

TEST_F(shortage, pool)
{
	struct arena *a = &self->a;

	/* Free, but only by reservation can they be had. */
	ASSERT_TRUE(pool_hold(a->size, ASKED - GRANTED));
	EXPECT_EQ(variant->error, get_slots(_metadata, a, 0, a->nr, variant->way, 0));
	EXPECT_EQ(0UL, pool_available(a->size));
	check_granted(_metadata, a);

	ASSERT_TRUE(free_slots(a, 0, a->nr));
	EXPECT_EQ(GRANTED, pool_available(a->size));

	/* With a reservation it fails at once and takes nothing. */
	EXPECT_FALSE(pool_hold(a->size, a->nr));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(GRANTED, pool_available(a->size));
}

TEST_F(shortage, cgroup)
{
	struct arena *a = &self->a;
	char limit[32];
	int status;
	pid_t pid;

	if (saved.cgroup_root < 0)
		SKIP(return, "no cgroup v2");
	/* This order, so that what is enabled gets disabled. */
	ASSERT_EQ(0, mkdirat(saved.cgroup_root, CGROUP, 0755));
	if (!saved.cgroup_hugetlb &&
	    !cgroup_write(saved.cgroup_root, "cgroup.subtree_control", "+hugetlb"))
		SKIP(return, "no hugetlb controller in cgroup v2");
	snprintf(limit, sizeof(limit), "%zu", GRANTED * a->size);
	ASSERT_TRUE(cgroup_write(saved.cgroup_root, CGROUP_LIMIT, limit));

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pagemap = open("/proc/self/pagemap", O_RDONLY);
		EXPECT_TRUE(cgroup_write(saved.cgroup_root, CGROUP "/cgroup.procs", "0"));
		EXPECT_EQ(variant->error, get_slots(_metadata, a, 0, a->nr, variant->way, 0));
		EXPECT_EQ(ASKED - GRANTED, pool_available(a->size));
		check_granted(_metadata, a);
		free_slots(a, 0, a->nr);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(ASKED, pool_available(a->size));
}

TEST_F_TIMEOUT(shortage, killed, 5 * PATIENCE)
{
	struct arena *a = &self->a;
	bool caught = false;
	unsigned long left;
	unsigned int i;
	time_t end;
	int status;
	pid_t pid;

	/* The child must not wait for our CPU. */
	sched_setaffinity(0, sizeof(a->cpus), &a->cpus);

	for (i = 0; i < MAX_TRIES && !caught; i++) {
		self->done = false;
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			get_slots(_metadata, a, 0, a->nr, variant->way, 0);
			self->done = true;
			pause();
			_exit(0);
		}

		end = time(NULL) + PATIENCE;
		do {
			left = pool_available(a->size);
		} while (left > ASKED / 2 && time(NULL) < end);
		ASSERT_GE(ASKED / 2, left);

		end = time(NULL) + PATIENCE;
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_LT(time(NULL), end);
		caught = left && !self->done;

		/* What is in a file stays. */
		ASSERT_TRUE(free_slots(a, 0, a->nr));
		/* The last reference may go a little later than the child. */
		while (pool_available(a->size) != ASKED && time(NULL) < end)
			usleep(1000);
		ASSERT_EQ(ASKED, pool_available(a->size));
	}

	/* What the child had cleared, and what it had not. */
	ASSERT_EQ(0, get_slots(_metadata, a, 0, a->nr, variant->way, 0));
	check_slots(_metadata, a, 0, a->nr, 0);
	if (!caught)
		SKIP(return, "no kill came before all was populated");
	TH_LOG("killed with about %lu of %u pages left", left, ASKED);
	a->handed = ASKED;
	a->dirtied = left;
}

static void at_exit(void)
{
	int ret = 0;

	if (getpid() != harness_pid)
		return;
	if (nothing_tested())
		ret = KSFT_SKIP;
	if (!geteuid() && !restore_settings())
		ret = KSFT_FAIL;
	fflush(NULL);
	if (ret)
		_exit(ret);
}

/* The harness itself does little but wait for tests. */
static void stop(int sig)
{
	pid_t pid = __active_test ? __active_test->pid : 0;
	unsigned int i;

	if (getpid() == harness_pid) {
		for (i = 0; i < 1000 && pid && !kill(-pid, SIGKILL); i++) {
			waitpid(pid, NULL, WNOHANG);
			usleep(1000);
		}
		restore_settings();
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

int main(int argc, char **argv)
{
	harness_pid = getpid();
	save_settings();
	atexit(at_exit);
	signal(SIGHUP, stop);
	signal(SIGINT, stop);
	signal(SIGTERM, stop);
	return test_harness_run(argc, argv);
}
