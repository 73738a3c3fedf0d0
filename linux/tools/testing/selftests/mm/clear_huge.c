// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte of user memory must be zero when the kernel hands it over.
 *
 * A page that was clear already hides a clear that was forgotten, so each
 * test recycles memory: a "slot" (one large folio) is filled with a pattern,
 * given back, asked for again and compared with zero.  Page frame numbers
 * tell whether the folio that arrived is one that was dirtied.  The other
 * slots of the arena keep the pattern; they are guards that show a clear
 * which runs past its folio or starts at a wrong address.
 *
 * All settings are saved before the first test.  Each test puts them back
 * when it ends, and so does the parent of the harness when a test or the
 * harness dies; only SIGKILL to that parent leaves them changed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/mman.h>
#include <linux/mount.h>
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "thp_settings.h"
#include "vm_util.h"

#define SZ_2M		(2UL << 20)
#define SZ_1G		(512 * SZ_2M)

#define PATTERN_BYTE	0xa5
#define PATTERN		0xa5a5a5a5a5a5a5a5ULL

#define KPF_COMPOUND_HEAD	BIT_ULL(15)
#define KPF_COMPOUND_TAIL	BIT_ULL(16)

#define MAX_SEEN	1024
#define MAX_POSITIONS	21
#define MAX_TRIES	8
#define RACE_ROUNDS	30

/* File mappings start here, so that offsets and addresses never agree. */
#define FILE_SLOTS	3

#define HUGETLB_FLAGS(size) \
	((unsigned int)__builtin_ctzl(size) << MAP_HUGE_SHIFT)

/*
 * Settings
 */

static const size_t pool_sizes[] = { SZ_2M, SZ_1G };

#define NR_POOLS ARRAY_SIZE(pool_sizes)

static struct {
	bool thp;
	unsigned long min_free_kbytes;
	unsigned long pages[NR_POOLS];
	unsigned long overcommit[NR_POOLS];
} saved;

/* Shared by the process that guards the harness and all tests. */
static struct {
	pid_t test_pgrp;
	bool cgroup_enabled;
} *shared;

static char cgroup_name[32];

#define MIN_FREE_KBYTES "/proc/sys/vm/min_free_kbytes"

static const char *pool_path(size_t size, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/%s",
		 size >> 10, name);
	return path;
}

static bool have_pool(size_t size)
{
	return !access(pool_path(size, "nr_hugepages"), W_OK);
}

static unsigned long pool_read(size_t size, const char *name)
{
	return read_num(pool_path(size, name));
}

static void pool_write(size_t size, const char *name, unsigned long num)
{
	if (pool_read(size, name) != num)
		write_num(pool_path(size, name), num);
}

/* Make exactly @nr pages available to us, and no surplus pages. */
static bool pool_set(size_t size, unsigned long nr)
{
	unsigned long total = pool_read(size, "nr_hugepages");
	unsigned long avail = pool_read(size, "free_hugepages") -
			      pool_read(size, "resv_hugepages");

	pool_write(size, "nr_overcommit_hugepages", 0);
	pool_write(size, "nr_hugepages", total - avail + nr);

	return pool_read(size, "free_hugepages") -
	       pool_read(size, "resv_hugepages") == nr;
}

/* thp_settings.c exits if one of its files is missing. */
static bool have_thp(void)
{
	static const char * const names[] = {
		"enabled", "defrag", "shmem_enabled", "use_zero_page",
		"khugepaged/defrag",
	};
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path),
			 "/sys/kernel/mm/transparent_hugepage/%s", names[i]);
		if (access(path, W_OK))
			return false;
	}
	return read_pmd_pagesize();
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
	saved.min_free_kbytes = read_num(MIN_FREE_KBYTES);
	saved.thp = have_thp();
	if (saved.thp)
		thp_save_settings();
}

static void restore_settings(void)
{
	unsigned int i;

	for (i = 0; i < NR_POOLS; i++) {
		if (!have_pool(pool_sizes[i]))
			continue;
		pool_write(pool_sizes[i], "nr_hugepages", saved.pages[i]);
		pool_write(pool_sizes[i], "nr_overcommit_hugepages",
			   saved.overcommit[i]);
	}
	if (!saved.thp)
		return;
	thp_restore_settings();
	/* The kernel computes this one anew when THP is switched. */
	if (read_num(MIN_FREE_KBYTES) != saved.min_free_kbytes)
		write_num(MIN_FREE_KBYTES, saved.min_free_kbytes);
}

/*
 * Looking at memory
 */

/* One access that the compiler neither drops nor repeats. */
static char get_byte(const char *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void set_byte(char *p, char val)
{
	__atomic_store_n(p, val, __ATOMIC_SEQ_CST);
}

/* Offset of the first byte that differs from @word, or @len. */
static size_t first_other(const void *p, size_t len, uint64_t word)
{
	const unsigned char *byte = p;
	const uint64_t *w = p;
	size_t i, j;

	for (i = 0; i < len / sizeof(*w); i += 8) {
		if (!((w[i] ^ word) | (w[i + 1] ^ word) |
		      (w[i + 2] ^ word) | (w[i + 3] ^ word) |
		      (w[i + 4] ^ word) | (w[i + 5] ^ word) |
		      (w[i + 6] ^ word) | (w[i + 7] ^ word)))
			continue;
		for (j = i * sizeof(*w); j < len; j++)
			if (byte[j] != (word & 0xff))
				return j;
	}
	return len;
}

static bool expect_only(struct __test_metadata *_metadata, const char *what,
			size_t arg, const char *p, size_t len, uint64_t word)
{
	size_t off = first_other(p, len, word);
	uint64_t val;

	if (off == len)
		return true;

	memcpy(&val, p + (off & ~7UL), sizeof(val));
	EXPECT_EQ(len, off)
		TH_LOG("%s (%#zx): byte %#zx of %#zx (page %zu) starts with %#llx instead of %#llx",
		       what, arg, off, len, off / psize(),
		       (unsigned long long)val, (unsigned long long)word);
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

/*
 * The arena: slots of one folio each
 */

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
	int pagemap;
	int kpageflags;
	cpu_set_t cpus;
	unsigned long seen[MAX_SEEN];	/* page frames that we dirtied */
	unsigned int nr_seen;
	unsigned int clean_first;	/* handed out last, clear now */
	unsigned int clean_nr;
	unsigned int handed;	/* folios received ... */
	unsigned int dirtied;	/* ... and those that we had dirtied */
};

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
	flags |= MAP_FIXED | MAP_NORESERVE;
	flags |= is_private(a) ? MAP_PRIVATE : MAP_SHARED;
	if (a->fd < 0)
		flags |= MAP_ANONYMOUS;
	if (a->kind == HUGETLB)
		flags |= MAP_HUGETLB | HUGETLB_FLAGS(a->size);

	return mmap(slot(a, first), nr * a->size, PROT_READ | PROT_WRITE,
		    flags, a->fd, a->fd < 0 ? 0 : slot_offset(a, first)) !=
	       MAP_FAILED;
}

static bool free_slots(const struct arena *a, unsigned int first,
		       unsigned int nr)
{
	return !madvise(slot(a, first), nr * a->size,
			is_private(a) ? MADV_DONTNEED : MADV_REMOVE);
}

/* Is the slot backed by one folio of its size, and by nothing else? */
static bool one_folio(const struct arena *a, unsigned int i)
{
	unsigned long pfn = pagemap_get_pfn(a->pagemap, slot(a, i));
	size_t n = a->size / psize();
	uint64_t flags, want;
	size_t j;

	if (pfn == -1ul || pfn % n)
		return false;
	if (is_hugetlb(a))
		return true;

	for (j = 0; j <= n; j++) {
		if (pread(a->kpageflags, &flags, sizeof(flags),
			  (pfn + j) * sizeof(flags)) != sizeof(flags))
			return j == n;	/* the end of memory */
		flags &= KPF_COMPOUND_HEAD | KPF_COMPOUND_TAIL;
		if (j == n)
			return flags != KPF_COMPOUND_TAIL;
		want = j ? KPF_COMPOUND_TAIL : KPF_COMPOUND_HEAD;
		if (flags != want ||
		    pagemap_get_pfn(a->pagemap,
				    slot(a, i) + j * psize()) != pfn + j)
			return false;
	}
	return false;
}

/* Have we had this page frame, which means that the pattern is in it? */
static bool was_dirtied(const struct arena *a, unsigned int i)
{
	unsigned long pfn = pagemap_get_pfn(a->pagemap, slot(a, i));
	unsigned int j;

	for (j = 0; j < a->nr_seen; j++)
		if (a->seen[j] == pfn)
			return true;
	return false;
}

static void dirty_slots(struct arena *a, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = first; i < first + nr; i++) {
		memset(slot(a, i), PATTERN_BYTE, a->size);
		if (!was_dirtied(a, i) && a->nr_seen < MAX_SEEN)
			a->seen[a->nr_seen++] =
				pagemap_get_pfn(a->pagemap, slot(a, i));
	}
}

static void arena_destroy(struct arena *a)
{
	/* Give the memory back first, a pool in use cannot shrink. */
	if (a->base)
		munmap(a->base, a->nr * a->size);
	if (a->fd >= 0)
		close(a->fd);
	restore_settings();
}

/* Allow one size of THP only, so that nothing else can be handed out. */
static const char *arena_thp(const struct arena *a)
{
	int order = __builtin_ctzl(a->size / psize());
	bool pmd = a->size == read_pmd_pagesize();
	struct thp_settings s;
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
		if (!(thp_supported_orders() & BIT_ULL(order)))
			return "no THP of this size";
		s.hugepages[order].enabled = THP_ALWAYS;
	} else if (a->kind == SHMEM) {
		if (!(thp_shmem_supported_orders() & BIT_ULL(order)))
			return "no shmem THP of this size";
		s.shmem_hugepages[order].enabled = SHMEM_ALWAYS;
	} else {
		/* Files do not obey the settings for each size in 6.12. */
		if (!pmd)
			return "no file THP of this size";
		s.shmem_enabled = SHMEM_ALWAYS;
		s.shmem_hugepages[order].enabled = SHMEM_INHERIT;
	}
	thp_write_settings(&s);
	return NULL;
}

/* Returns NULL, or the reason why there can be no such arena. */
static const char *arena_create(struct arena *a, enum backing kind,
				size_t size, unsigned int nr)
{
	const char *why = NULL;
	cpu_set_t cpu;
	unsigned int i;
	size_t span;
	char *p;

	*a = (struct arena) { .kind = kind, .size = size, .nr = nr, .fd = -1 };
	shared->test_pgrp = getpgrp();

	if (geteuid())
		return "must be root";
	a->pagemap = open("/proc/self/pagemap", O_RDONLY);
	a->kpageflags = open("/proc/kpageflags", O_RDONLY);
	if (a->pagemap < 0 || a->kpageflags < 0)
		return "no /proc/self/pagemap or /proc/kpageflags";

	/* Free pages are kept per CPU: stay where we free them. */
	sched_getaffinity(0, sizeof(a->cpus), &a->cpus);
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);

	if (is_hugetlb(a)) {
		if (!have_pool(size))
			return "no huge pages of this size";
		/* A pool of this very size returns just what we dirtied. */
		if (!pool_set(size, nr))
			why = "cannot get enough huge pages";
	} else {
		why = arena_thp(a);
	}
	if (why)
		goto out;

	if (kind == MEMFD || kind == HUGETLB_FILE) {
		a->fd = memfd_create("clear_huge", kind == MEMFD ? 0 :
				     MFD_HUGETLB | HUGETLB_FLAGS(size));
		if (a->fd < 0 || ftruncate(a->fd, slot_offset(a, nr))) {
			why = "no such memfd";
			goto out;
		}
	}

	/* Room to align, and a hole on either side. */
	span = (nr + 2) * size;
	p = mmap(NULL, span, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		why = "no address space";
		goto out;
	}
	a->base = p + size - (uintptr_t)p % size;
	if (!map_slots(a, 0, nr, 0)) {
		a->base = NULL;
		why = "cannot map memory of this kind";
		goto out;
	}

	dirty_slots(a, 0, nr);
	for (i = 0; i < nr; i++)
		if (!one_folio(a, i))
			why = "the kernel gives smaller pages";
	if (!why && kind == ANON && size == read_pmd_pagesize() &&
	    !check_huge_anon(a->base, nr, size))
		why = "the kernel maps smaller pages";
	if (!why && (kind == SHMEM || kind == MEMFD) &&
	    size == read_pmd_pagesize() &&
	    !check_huge_shmem(a->base, nr, size))
		why = "the kernel maps smaller pages";
out:
	if (why)
		arena_destroy(a);
	return why;
}

/* A test that never saw dirty memory has proved nothing. */
static void arena_finish(struct __test_metadata *_metadata, struct arena *a)
{
	if (a->handed) {
		EXPECT_NE(0U, a->dirtied);
		TH_LOG("%u of %u folios had been dirtied", a->dirtied,
		       a->handed);
	}
	arena_destroy(a);
}

/*
 * Something that gets memory for slots which have none.  It may write
 * to that memory when it leaves zeroes in the end.
 */
typedef void (*get_fn)(struct __test_metadata *_metadata, struct arena *a,
		       unsigned int first, unsigned int nr, size_t arg);

/*
 * Give dirty slots back, get them again, compare.  Returns whether all
 * folios were as wished: of the full size, and dirtied before.
 */
static bool recycle_once(struct __test_metadata *_metadata, struct arena *a,
			 unsigned int first, unsigned int nr,
			 get_fn get, size_t arg)
{
	bool good = true, huge;
	unsigned int i;

	/* Guards, or dirty when they are freed now. */
	dirty_slots(a, a->clean_first, a->clean_nr);
	ASSERT_TRUE(free_slots(a, first, nr));

	get(_metadata, a, first, nr, arg);

	/* First of all: it must be there, reading it could fault it in. */
	for (i = first; i < first + nr; i++) {
		ASSERT_TRUE(pagemap_is_populated(a->pagemap, slot(a, i)))
			TH_LOG("slot %u has no page", i);
	}

	for (i = 0; i < a->nr; i++) {
		bool guard = i < first || i >= first + nr;

		ASSERT_TRUE(expect_only(_metadata, guard ? "guard changed" :
					"not cleared", arg, slot(a, i),
					a->size, guard ? PATTERN : 0));
	}

	for (i = first; i < first + nr; i++) {
		huge = one_folio(a, i);
		a->handed += huge;
		if (huge && was_dirtied(a, i))
			a->dirtied++;
		else
			good = false;
	}
	a->clean_first = first;
	a->clean_nr = nr;
	return good;
}

/* The page allocator promises nothing, so give it several chances. */
static void recycle(struct __test_metadata *_metadata, struct arena *a,
		    unsigned int first, unsigned int nr,
		    get_fn get, size_t arg)
{
	unsigned int i;

	for (i = 0; i < MAX_TRIES; i++)
		if (recycle_once(_metadata, a, first, nr, get, arg))
			return;

	for (i = first; i < first + nr; i++) {
		ASSERT_TRUE(one_folio(a, i))
			TH_LOG("slot %u has smaller pages", i);
	}
	ASSERT_FALSE(is_hugetlb(a))
		TH_LOG("the pool gave a page that is not ours");
}

static void touch(struct __test_metadata *_metadata, char *p)
{
	set_byte(p, 1);
	ASSERT_EQ(1, get_byte(p));
	set_byte(p, 0);
}

static void get_by_touch(struct __test_metadata *_metadata, struct arena *a,
			 unsigned int first, unsigned int nr, size_t pos)
{
	unsigned int i;

	for (i = first; i < first + nr; i++)
		touch(_metadata, slot(a, i) + pos);
}

static void get_by_mmap(struct __test_metadata *_metadata, struct arena *a,
			unsigned int first, unsigned int nr, size_t flags)
{
	ASSERT_TRUE(map_slots(a, first, nr, flags));
}

static void get_by_madvise(struct __test_metadata *_metadata, struct arena *a,
			   unsigned int first, unsigned int nr, size_t advice)
{
	ASSERT_EQ(0, madvise(slot(a, first), nr * a->size, advice));
}

static void get_by_mlock(struct __test_metadata *_metadata, struct arena *a,
			 unsigned int first, unsigned int nr, size_t flags)
{
	ASSERT_EQ(0, mlock2(slot(a, first), nr * a->size, flags));
	ASSERT_EQ(0, munlock(slot(a, first), nr * a->size));
}

/* hugetlbfs rounds outwards, so the range can start and end anywhere. */
static void get_by_fallocate(struct __test_metadata *_metadata,
			     struct arena *a, unsigned int first,
			     unsigned int nr, size_t edge)
{
	unsigned int i;

	ASSERT_EQ(0, fallocate(a->fd, 0, slot_offset(a, first) + edge,
			       nr * a->size - 2 * edge));
	/* In the file now; a read fault maps it and allocates nothing. */
	for (i = first; i < first + nr; i++)
		get_byte(slot(a, i));
}

/* Two CPUs fault on one slot; the loser throws its page away. */
struct racer {
	pthread_barrier_t *start;
	char *p;
};

static void *race(void *arg)
{
	struct racer *r = arg;

	pthread_barrier_wait(r->start);
	set_byte(r->p, 2);
	return NULL;
}

static void get_by_race(struct __test_metadata *_metadata, struct arena *a,
			unsigned int first, unsigned int nr, size_t pos)
{
	pthread_barrier_t start;
	struct racer other = { .start = &start };
	pthread_t thread;
	unsigned int i;
	char *mine;

	for (i = first; i < first + nr; i++) {
		mine = slot(a, i) + pos;
		other.p = slot(a, i) + (pos + a->size / 2) % a->size;

		ASSERT_EQ(0, pthread_barrier_init(&start, NULL, 2));
		ASSERT_EQ(0, pthread_create(&thread, NULL, race, &other));
		pthread_barrier_wait(&start);
		set_byte(mine, 1);
		ASSERT_EQ(0, pthread_join(thread, NULL));

		/* Cleared after it became visible?  Then a write is lost. */
		ASSERT_EQ(1, get_byte(mine));
		ASSERT_EQ(2, get_byte(other.p));
		set_byte(mine, 0);
		set_byte(other.p, 0);
	}
}

static void fault_everywhere(struct __test_metadata *_metadata,
			     struct arena *a)
{
	size_t pos[MAX_POSITIONS];
	unsigned int i, nr = positions(a->size, pos);

	for (i = 0; i < nr; i++)
		recycle(_metadata, a, i % a->nr, 1, get_by_touch, pos[i]);
}

/* Several slots in one request, where there are several. */
static void get_many(struct __test_metadata *_metadata, struct arena *a,
		     get_fn get, size_t arg)
{
	unsigned int nr = a->nr > 2 ? a->nr - 2 : 1;

	recycle(_metadata, a, a->nr > 2, nr, get, arg);
}

/*
 * All ways to get a page, with the page sizes that everyone uses
 */

FIXTURE(page)
{
	struct arena a;
};

FIXTURE_VARIANT(page)
{
	enum backing kind;
	size_t size;		/* 0: whatever a PMD maps */
	unsigned int nr;
};

FIXTURE_VARIANT_ADD(page, thp) { .kind = ANON, .nr = 6 };
FIXTURE_VARIANT_ADD(page, shmem) { .kind = SHMEM, .nr = 6 };
FIXTURE_VARIANT_ADD(page, memfd) { .kind = MEMFD, .nr = 6 };
FIXTURE_VARIANT_ADD(page, hugetlb_2M) {
	.kind = HUGETLB, .size = SZ_2M, .nr = 6,
};

FIXTURE_VARIANT_ADD(page, hugetlb_memfd_2M) {
	.kind = HUGETLB_FILE, .size = SZ_2M, .nr = 6,
};

FIXTURE_SETUP(page)
{
	size_t size = variant->size ?: read_pmd_pagesize();
	const char *why;

	if (!size)
		SKIP(return, "no transparent huge pages");
	why = arena_create(&self->a, variant->kind, size, variant->nr);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(page)
{
	arena_finish(_metadata, &self->a);
}

TEST_F(page, fault)
{
	fault_everywhere(_metadata, &self->a);
}

TEST_F(page, map_populate)
{
	get_many(_metadata, &self->a, get_by_mmap, MAP_POPULATE);
}

TEST_F(page, madv_populate_write)
{
	get_many(_metadata, &self->a, get_by_madvise, MADV_POPULATE_WRITE);
}

TEST_F(page, mlock)
{
	get_many(_metadata, &self->a, get_by_mlock, 0);
}

TEST_F(page, race)
{
	struct arena *a = &self->a;
	unsigned int i;

	if (CPU_COUNT(&a->cpus) < 2)
		SKIP(return, "needs two CPUs");
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(a->cpus), &a->cpus));
	/*
	 * The loser's page comes back clear, so that not all can be dirty
	 * here, except with hugetlb, where faults on one page take turns.
	 */
	for (i = 0; i < RACE_ROUNDS; i++)
		recycle_once(_metadata, a, i % a->nr, 1, get_by_race,
			     i * 5 * psize() % a->size);
}

TEST_F(page, fork)
{
	struct arena *a = &self->a;
	bool private = is_private(a);
	int status;
	pid_t pid;

	/* One page for the copy of slot 0, one for the child's own. */
	ASSERT_TRUE(free_slots(a, 1, 2));

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		close(a->pagemap);
		a->pagemap = open("/proc/self/pagemap", O_RDONLY);
		*slot(a, 0) = 0;
		*(slot(a, 1) + a->size / 2) = 0;
		expect_only(_metadata, "bad copy in child", 0, slot(a, 0) + 64,
			    a->size - 64, PATTERN);
		expect_only(_metadata, "not cleared in child", 0, slot(a, 1),
			    a->size, 0);
		EXPECT_TRUE(one_folio(a, 1));
		TH_LOG("the child's page had %sbeen dirtied",
		       was_dirtied(a, 1) ? "" : "not ");
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	ASSERT_EQ(private ? PATTERN_BYTE : 0, (unsigned char)*slot(a, 0));
	*slot(a, 0) = PATTERN_BYTE;
	expect_only(_metadata, "parent's page changed", 0, slot(a, 0), a->size,
		    PATTERN);
	/* Private: a new page, maybe the child's.  Shared: the child's. */
	*(slot(a, 1) + 1) = 0;
	expect_only(_metadata, "not cleared", 0, slot(a, 1), a->size, 0);
	expect_only(_metadata, "guard changed", 0, slot(a, 3),
		    (a->nr - 3) * a->size, PATTERN);
}

/*
 * Gigantic pages are cleared by a path of their own, which is slow to test
 */

FIXTURE(gigantic)
{
	struct arena a;
};

FIXTURE_VARIANT(gigantic)
{
	enum backing kind;
};

FIXTURE_VARIANT_ADD(gigantic, hugetlb_1G) { .kind = HUGETLB };
FIXTURE_VARIANT_ADD(gigantic, hugetlb_memfd_1G) { .kind = HUGETLB_FILE };

FIXTURE_SETUP(gigantic)
{
	const char *why = arena_create(&self->a, variant->kind, SZ_1G, 1);

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(gigantic)
{
	arena_finish(_metadata, &self->a);
}

TEST_F_TIMEOUT(gigantic, fault, 180)
{
	fault_everywhere(_metadata, &self->a);
}

TEST_F_TIMEOUT(gigantic, madv_populate_write, 120)
{
	get_many(_metadata, &self->a, get_by_madvise, MADV_POPULATE_WRITE);
}

/*
 * Files: memory that is asked for by offset, not by address
 */

FIXTURE(file)
{
	struct arena a;
};

FIXTURE_VARIANT(file)
{
	enum backing kind;
	size_t size;		/* 0: whatever a PMD maps */
	unsigned int nr;
};

FIXTURE_VARIANT_ADD(file, memfd) { .kind = MEMFD, .nr = 6 };
FIXTURE_VARIANT_ADD(file, hugetlb_memfd_2M) {
	.kind = HUGETLB_FILE, .size = SZ_2M, .nr = 6,
};

FIXTURE_VARIANT_ADD(file, hugetlb_memfd_1G) {
	.kind = HUGETLB_FILE, .size = SZ_1G, .nr = 1,
};

FIXTURE_SETUP(file)
{
	size_t size = variant->size ?: read_pmd_pagesize();
	const char *why;

	if (!size)
		SKIP(return, "no transparent huge pages");
	why = arena_create(&self->a, variant->kind, size, variant->nr);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(file)
{
	arena_finish(_metadata, &self->a);
}

TEST_F_TIMEOUT(file, fallocate, 120)
{
	struct arena *a = &self->a;

	get_many(_metadata, a, get_by_fallocate, 0);
	if (is_hugetlb(a) && a->size < SZ_1G)
		get_many(_metadata, a, get_by_fallocate, psize() + 1);
}

/*
 * Folios of other sizes, where the pages around the fault may be more
 * than the folio has
 */

FIXTURE(mthp)
{
	struct arena a;
};

FIXTURE_VARIANT(mthp)
{
	enum backing kind;
	int order;
};

FIXTURE_VARIANT_ADD(mthp, anon_order1) { .kind = ANON, .order = 1 };
FIXTURE_VARIANT_ADD(mthp, anon_order2) { .kind = ANON, .order = 2 };
FIXTURE_VARIANT_ADD(mthp, anon_order3) { .kind = ANON, .order = 3 };
FIXTURE_VARIANT_ADD(mthp, anon_order4) { .kind = ANON, .order = 4 };
FIXTURE_VARIANT_ADD(mthp, anon_order5) { .kind = ANON, .order = 5 };
FIXTURE_VARIANT_ADD(mthp, anon_order6) { .kind = ANON, .order = 6 };
FIXTURE_VARIANT_ADD(mthp, anon_order7) { .kind = ANON, .order = 7 };
FIXTURE_VARIANT_ADD(mthp, anon_order8) { .kind = ANON, .order = 8 };
FIXTURE_VARIANT_ADD(mthp, shmem_order1) { .kind = SHMEM, .order = 1 };
FIXTURE_VARIANT_ADD(mthp, shmem_order2) { .kind = SHMEM, .order = 2 };
FIXTURE_VARIANT_ADD(mthp, shmem_order3) { .kind = SHMEM, .order = 3 };
FIXTURE_VARIANT_ADD(mthp, shmem_order4) { .kind = SHMEM, .order = 4 };
FIXTURE_VARIANT_ADD(mthp, shmem_order5) { .kind = SHMEM, .order = 5 };
FIXTURE_VARIANT_ADD(mthp, shmem_order6) { .kind = SHMEM, .order = 6 };
FIXTURE_VARIANT_ADD(mthp, shmem_order7) { .kind = SHMEM, .order = 7 };
FIXTURE_VARIANT_ADD(mthp, shmem_order8) { .kind = SHMEM, .order = 8 };

FIXTURE_SETUP(mthp)
{
	size_t size = (size_t)psize() << variant->order;
	const char *why;

	why = arena_create(&self->a, variant->kind, size, 8);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(mthp)
{
	arena_finish(_metadata, &self->a);
}

TEST_F(mthp, fault)
{
	fault_everywhere(_metadata, &self->a);
}

TEST_F(mthp, madv_populate_write)
{
	get_many(_metadata, &self->a, get_by_madvise, MADV_POPULATE_WRITE);
}

/*
 * A write where the huge zero page is mapped, which 6.12 answers with one
 * base page and later kernels with a huge page
 */

FIXTURE(zero_page)
{
	struct arena a;
};

FIXTURE_SETUP(zero_page)
{
	size_t size = read_pmd_pagesize();
	const char *why;

	if (!size)
		SKIP(return, "no transparent huge pages");
	why = arena_create(&self->a, ANON, size, 4);
	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN(zero_page)
{
	arena_destroy(&self->a);
}

TEST_F(zero_page, write)
{
	unsigned int i, nr, huge = 0;
	struct arena *a = &self->a;
	size_t pos[MAX_POSITIONS];
	unsigned long pfn;

	nr = positions(a->size, pos);
	for (i = 0; i < nr; i++) {
		/* Fresh mappings: no page table may be left from before. */
		ASSERT_TRUE(map_slots(a, 1, 2, 0));
		dirty_slots(a, 1, 2);
		ASSERT_TRUE(map_slots(a, 1, 2, 0));

		get_byte(slot(a, 1));
		get_byte(slot(a, 2));
		pfn = pagemap_get_pfn(a->pagemap, slot(a, 1));
		if (pfn != pagemap_get_pfn(a->pagemap, slot(a, 2)) ||
		    pfn + 1 != pagemap_get_pfn(a->pagemap,
					       slot(a, 1) + psize()))
			SKIP(return, "no huge zero page");

		touch(_metadata, slot(a, 1) + pos[i]);
		huge += one_folio(a, 1) && pagemap_get_pfn(a->pagemap,
							   slot(a, 1)) != pfn;
		ASSERT_TRUE(expect_only(_metadata, "not cleared", pos[i],
					slot(a, 1), a->size, 0));
		ASSERT_TRUE(expect_only(_metadata, "huge zero page written",
					pos[i], slot(a, 2), a->size, 0));
		ASSERT_TRUE(expect_only(_metadata, "guard changed", pos[i],
					slot(a, 0), a->size, PATTERN));
		ASSERT_TRUE(expect_only(_metadata, "guard changed", pos[i],
					slot(a, 3), a->size, PATTERN));
	}
	TH_LOG("%u of %u writes got a huge page", huge, nr);
}

/*
 * Requests that cannot be met or are cut short: hugetlb pages of 2 MB,
 * because their number is known exactly
 */

FIXTURE(shortage)
{
	struct arena a;
	int cgroup_root;
};

enum way { BY_TOUCH, BY_MAP_POPULATE, BY_MADVISE, BY_FALLOCATE };

FIXTURE_VARIANT(shortage)
{
	enum way way;
	int error;
};

FIXTURE_VARIANT_ADD(shortage, touch) { .way = BY_TOUCH, .error = SIGBUS };
/* mmap() succeeds although it could not populate all of the mapping. */
FIXTURE_VARIANT_ADD(shortage, map_populate) { .way = BY_MAP_POPULATE };
FIXTURE_VARIANT_ADD(shortage, madv_populate_write) {
	.way = BY_MADVISE, .error = EFAULT,
};

FIXTURE_VARIANT_ADD(shortage, fallocate) {
	.way = BY_FALLOCATE, .error = ENOSPC,
};

/* A file in a cgroup directory. */
static bool cgroup_write(int root, const char *dir, const char *name,
			 const char *val)
{
	char path[128];
	bool ok;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = openat(root, path, O_WRONLY);
	if (fd < 0)
		return false;
	ok = write(fd, val, strlen(val)) == (ssize_t)strlen(val);
	close(fd);
	return ok;
}

static bool cgroup_has(int root, const char *name, const char *word)
{
	char buf[256];
	ssize_t len;
	int fd;

	fd = openat(root, name, O_RDONLY);
	if (fd < 0)
		return false;
	len = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[len < 0 ? 0 : len] = '\0';
	return strstr(buf, word);
}

/* A cgroup v2 mount of our own, that no directory is needed for. */
static int cgroup_root(void)
{
	int root, fs = syscall(__NR_fsopen, "cgroup2", 0);

	if (fs < 0)
		return -1;
	root = -1;
	if (!syscall(__NR_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		root = syscall(__NR_fsmount, fs, 0, 0);
	close(fs);
	return root;
}

static void cgroup_remove(int root)
{
	unlinkat(root, cgroup_name, AT_REMOVEDIR);
	if (shared->cgroup_enabled)
		cgroup_write(root, ".", "cgroup.subtree_control", "-hugetlb");
	shared->cgroup_enabled = false;
}

#define ASKED	16U
#define GRANTED	8U

FIXTURE_SETUP(shortage)
{
	const char *why;

	self->cgroup_root = -1;
	/* Dirties all pages that there are. */
	why = arena_create(&self->a,
			   variant->way == BY_FALLOCATE ? HUGETLB_FILE : HUGETLB,
			   SZ_2M, ASKED);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_TRUE(free_slots(&self->a, 0, ASKED));
}

FIXTURE_TEARDOWN(shortage)
{
	if (self->cgroup_root >= 0)
		cgroup_remove(self->cgroup_root);
	arena_destroy(&self->a);
}

static sigjmp_buf sigbus_env;

static void sigbus(int sig)
{
	siglongjmp(sigbus_env, sig);
}

static void touch_all(struct arena *a)
{
	unsigned int i;

	for (i = 0; i < a->nr; i++)
		set_byte(slot(a, i), 0);
}

static int ask(struct arena *a, enum way way)
{
	int ret;

	switch (way) {
	case BY_TOUCH:
		signal(SIGBUS, sigbus);
		ret = sigsetjmp(sigbus_env, 1);
		if (!ret)
			touch_all(a);
		signal(SIGBUS, SIG_DFL);
		return ret;
	case BY_MAP_POPULATE:
		return map_slots(a, 0, a->nr, MAP_POPULATE) ? 0 : errno;
	case BY_MADVISE:
		ret = madvise(a->base, a->nr * a->size, MADV_POPULATE_WRITE);
		return ret ? errno : 0;
	case BY_FALLOCATE:
		ret = fallocate(a->fd, 0, slot_offset(a, 0), a->nr * a->size);
		return ret ? errno : 0;
	}
	return -1;
}

/* The first GRANTED slots must be there and clear, the others must not. */
static void check_granted(struct __test_metadata *_metadata, struct arena *a)
{
	struct stat st;
	unsigned int i;
	bool there;

	if (a->fd >= 0) {
		ASSERT_EQ(0, fstat(a->fd, &st));
		EXPECT_EQ(GRANTED, st.st_blocks * 512 / a->size);
	}
	for (i = 0; i < a->nr; i++) {
		/* Not mapped after fallocate(): a hole gives SIGBUS below. */
		there = a->fd >= 0 ? i < GRANTED :
			pagemap_is_populated(a->pagemap, slot(a, i));
		ASSERT_EQ(i < GRANTED, there)
			TH_LOG("slot %u of %u", i, a->nr);
		if (there)
			ASSERT_TRUE(expect_only(_metadata, "not cleared", i,
						slot(a, i), a->size, 0));
	}
}

TEST_F(shortage, pool)
{
	struct arena *a = &self->a;
	void *p;

	ASSERT_TRUE(pool_set(a->size, GRANTED));
	EXPECT_EQ(variant->error, ask(a, variant->way));
	EXPECT_EQ(0UL, pool_read(a->size, "free_hugepages"));
	check_granted(_metadata, a);

	ASSERT_TRUE(free_slots(a, 0, a->nr));
	EXPECT_EQ(GRANTED, pool_read(a->size, "free_hugepages"));

	/* With a reservation it fails at once and takes nothing. */
	p = mmap(NULL, a->nr * a->size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_HUGETLB |
		 HUGETLB_FLAGS(a->size), -1, 0);
	EXPECT_EQ(MAP_FAILED, p);
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(GRANTED, pool_read(a->size, "free_hugepages"));
}

TEST_F(shortage, cgroup)
{
	struct arena *a = &self->a;
	int root, status;
	char limit[32];
	pid_t pid;

	root = cgroup_root();
	if (root < 0 || !cgroup_has(root, "cgroup.controllers", "hugetlb"))
		SKIP(return, "no cgroup v2 with a hugetlb controller");
	self->cgroup_root = root;
	if (!cgroup_has(root, "cgroup.subtree_control", "hugetlb")) {
		shared->cgroup_enabled = true;
		if (!cgroup_write(root, ".", "cgroup.subtree_control",
				  "+hugetlb"))
			SKIP(return, "cannot enable the hugetlb controller");
	}
	ASSERT_EQ(0, mkdirat(root, cgroup_name, 0755));
	snprintf(limit, sizeof(limit), "%zu", GRANTED * a->size);
	ASSERT_TRUE(cgroup_write(root, cgroup_name, "hugetlb.2MB.max", limit));

	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		close(a->pagemap);
		a->pagemap = open("/proc/self/pagemap", O_RDONLY);
		EXPECT_TRUE(cgroup_write(root, cgroup_name, "cgroup.procs",
					 "0"));
		EXPECT_EQ(variant->error, ask(a, variant->way));
		EXPECT_EQ(ASKED - GRANTED,
			  pool_read(a->size, "free_hugepages"));
		check_granted(_metadata, a);
		free_slots(a, 0, a->nr);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(ASKED, pool_read(a->size, "free_hugepages"));
}

FIXTURE(killed)
{
	struct arena a;
};

#define KILLED_PAGES	64U

FIXTURE_SETUP(killed)
{
	const char *why;

	why = arena_create(&self->a, HUGETLB, SZ_2M, KILLED_PAGES);
	if (why)
		SKIP(return, "%s", why);
	ASSERT_TRUE(free_slots(&self->a, 0, KILLED_PAGES));
}

FIXTURE_TEARDOWN(killed)
{
	arena_destroy(&self->a);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

TEST_F(killed, populate)
{
	unsigned int try, caught = 0;
	struct arena *a = &self->a;
	unsigned long left;
	double start;
	int status;
	pid_t pid;

	/* The child must not wait for our CPU. */
	sched_setaffinity(0, sizeof(a->cpus), &a->cpus);

	for (try = 0; try < MAX_TRIES && !caught; try++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			madvise(a->base, a->nr * a->size, MADV_POPULATE_WRITE);
			pause();
			_exit(0);
		}

		start = now();
		do {
			left = pool_read(a->size, "free_hugepages");
		} while (left > KILLED_PAGES / 2 && now() - start < 10);
		ASSERT_LE(left, KILLED_PAGES / 2);

		start = now();
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_LT(now() - start, 2);
		EXPECT_TRUE(WIFSIGNALED(status));
		caught = left > 0;

		/* The last reference may go a little later than the child. */
		while (pool_read(a->size, "free_hugepages") != KILLED_PAGES &&
		       now() - start < 2)
			usleep(1000);
		ASSERT_EQ(KILLED_PAGES, pool_read(a->size, "free_hugepages"));
	}
	TH_LOG("killed with %lu of %u pages left to populate", left,
	       KILLED_PAGES);

	/* What the child left half cleared is cleared for the next user. */
	ASSERT_EQ(0, madvise(a->base, a->nr * a->size, MADV_POPULATE_WRITE));
	expect_only(_metadata, "not cleared", 0, a->base, a->nr * a->size, 0);
}

/*
 * The harness runs in a child, so that its parent can clean up
 */

static int stop_signal;

static void stop(int sig)
{
	__atomic_store_n(&stop_signal, sig, __ATOMIC_SEQ_CST);
}

static pid_t harness_pid;

/* The harness exits with 0 even if it could not test anything. */
static void exit_skip(void)
{
	if (getpid() != harness_pid || !ksft_cnt.ksft_xskip ||
	    ksft_cnt.ksft_xskip != ksft_test_num())
		return;
	fflush(NULL);
	_exit(KSFT_SKIP);
}

static int run_harness(int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	harness_pid = getpid();
	atexit(exit_skip);
	return test_harness_run(argc, argv);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = stop };
	int status = KSFT_FAIL << 8;
	int root, sig;
	pid_t pid, ret;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap failed\n");
	snprintf(cgroup_name, sizeof(cgroup_name), "clear_huge.%d", getpid());
	save_settings();

	/* Tests that outlive the harness become our children. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork failed\n");
	if (!pid)
		exit(run_harness(argc, argv));

	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	do {
		ret = waitpid(pid, &status, 0);
		sig = __atomic_load_n(&stop_signal, __ATOMIC_SEQ_CST);
	} while (ret < 0 && !sig);
	if (sig && ret < 0)
		kill(pid, SIGKILL);
	if (shared->test_pgrp && (sig || !WIFEXITED(status)))
		kill(-shared->test_pgrp, SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;

	if (!geteuid()) {
		restore_settings();
		root = cgroup_root();
		if (root >= 0)
			cgroup_remove(root);
	}
	if (sig) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : KSFT_FAIL;
}
