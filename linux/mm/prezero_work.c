// SPDX-License-Identifier: GPL-2.0
/*
 * Who clears free memory, how much of it and when: a task that asks for it by
 * writing to sysfs, or a thread on each node in the background.
 */
#define pr_fmt(fmt) "prezero: " fmt

#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/ctype.h>
#include <linux/freezer.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/page_clearing.h>
#include <linux/page-isolation.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>
#include <linux/topology.h>
#include <linux/vmstat.h>

#include "free_walk.h"
#include "hugetlb_prezero.h"
#include "internal.h"
#include "page_clearing.h"
#include "prezero.h"

/*
 * What is cleared between two looks at the world, in base pages. Interrupts are
 * off meanwhile, for some microseconds, and the fence at the end costs a few
 * hundredths of that.
 */
#define CHUNK_PAGES	16UL

static DEFINE_MUTEX(prezero_mutex);	/* of these four, and of what follows */
static bool enabled;
static bool background;
static bool hibernating;
static enum prezero_force force;

/* Each by itself, and looked at anew each time. */
static unsigned int order;			/* the smallest worked on */
static unsigned int batch_size = 16;		/* blocks in the background... */
static unsigned int delay_millisecs = 200;	/* ... and then so long nothing */
static unsigned int max_percent = 50;		/* of free memory, likewise */

/* In bytes, what the last writer to "run" has cleared. */
static atomic_long_t last_run;

struct request {
	unsigned long wanted;	/* base pages still to be cleared */
	unsigned long cleared;	/* base pages */
	unsigned long blocks;	/* that may still be begun */
	bool (*enough)(struct zone *zone);
};

/**
 * prezero_interrupted() - Should the task go on with clearing?
 *
 * Context: A task.
 * Return: 0, or why there is no use in going on.
 */
int prezero_interrupted(void)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	/*
	 * To suspend the machine, or to freeze a cgroup, cannot wait. A task
	 * begins anew afterwards, if it has the signal that makes it.
	 */
	if ((freezing(current) || current->jobctl & JOBCTL_TRAP_FREEZE) &&
	    (current->flags & PF_KTHREAD || signal_pending(current)))
		return -ERESTARTNOINTR;
	if (current->flags & PF_KTHREAD && kthread_should_stop())
		return -EINTR;
	return prezero_is_allowed() ? 0 : -EBUSY;
}

/**
 * prezero_may_begin() - May a task clear ahead what it was asked for?
 *
 * Context: Any.
 * Return: 0, -EPERM if pre-zeroing is not enabled, or -EBUSY if it is but the
 *	   machine is about to hibernate.
 */
int prezero_may_begin(void)
{
	if (!READ_ONCE(enabled))
		return -EPERM;
	return prezero_is_allowed() ? 0 : -EBUSY;
}

/**
 * prezero_job_run() - Clear the block of a job that has begun.
 * @job: The job.
 *
 * All of it is one job only because all of it is needed for the mark; the chunks
 * are what others may have to wait for.
 *
 * Context: May sleep. No locks held.
 * Return: true if all of it is clear.
 */
bool prezero_job_run(struct prezero_job *job)
{
	const unsigned long nr_pages = 1UL << job->order;
	const unsigned long chunk = min(nr_pages, CHUNK_PAGES);
	unsigned long i;

	for (i = 0; i < nr_pages; i += chunk) {
		if (prezero_interrupted() || !prezero_job_chunk(job, i, chunk))
			return false;
		cond_resched();
	}

	return true;
}

static int clear_list(struct zone *zone, unsigned int o, int migratetype,
		      struct request *req)
{
	unsigned long blocks;
	struct prezero_job job;
	struct free_walk walk;
	struct page *page, *poisoned = NULL;
	bool complete;
	int ret = 0;

	if (list_empty(&zone->free_area[o].free_list[migratetype]))
		return 0;

	spin_lock_irq(&zone->lock);
	/* One that cannot be cleared comes up again, and others are freed. */
	blocks = zone->free_area[o].nr_free;
	free_walk_start(&walk, zone, o);
	while (blocks && req->wanted && req->blocks) {
		page = free_walk_next(zone, o, migratetype, prezero_treated,
				      &walk);
		if (!page) {
			if (free_walk_finished(&walk))
				break;
			free_walk_pause(zone, &walk);
			continue;
		}

		/* Only those are left that never will be clear. */
		if (page == poisoned)
			break;

		/* Not before the allocator looks for jobs. */
		ret = prezero_interrupted();
		if (ret)
			break;

		prezero_job_begin(&job, zone, page, o);
		spin_unlock_irq(&zone->lock);
		complete = prezero_job_run(&job);
		spin_lock_irq(&zone->lock);
		if (prezero_job_end(&job, zone, complete)) {
			req->cleared += 1UL << o;
			req->wanted -= min(req->wanted, 1UL << o);
		} else if (job.poisoned && !poisoned) {
			poisoned = page;
		}
		req->blocks--;
		blocks--;
		if (req->enough && req->enough(zone))
			break;
	}
	spin_unlock_irq(&zone->lock);

	return ret;
}

static int clear_zone(struct zone *zone, struct request *req)
{
	int o, mt, ret;

	/* The largest first: those who ask for large pages wait the longest. */
	for (o = MAX_PAGE_ORDER; o >= (int)READ_ONCE(order); o--) {
		for (mt = 0; mt < MIGRATE_TYPES; mt++) {
			/* The one is not to be had, the other for none who asks. */
			if (is_migrate_isolate(mt) || is_migrate_highatomic(mt))
				continue;
			if (req->enough && req->enough(zone))
				return 0;
			ret = clear_list(zone, o, mt, req);
			if (ret || !req->wanted || !req->blocks)
				return ret;
			cond_resched();
		}
	}

	return 0;
}

/*
 * As much as somebody has asked for, from the nodes of his cpuset, the nearest
 * first. In his own time: it is charged to him, on his CPUs, and he may be killed.
 */
static int run(unsigned long bytes)
{
	struct request req = { .wanted = DIV_ROUND_UP(bytes, PAGE_SIZE) };
	unsigned long before;
	struct zoneref *z;
	struct zone *zone;
	int ret = 0;

	/* What the lists of the CPUs hold is dirty, and would be used first. */
	if (bytes)
		drain_all_pages(NULL);

	do {
		before = req.cleared;
		for_each_zone_zonelist(zone, z, node_zonelist(numa_mem_id(), GFP_KERNEL),
				       MAX_NR_ZONES - 1) {
			if (!cpuset_zone_allowed(zone, GFP_HIGHUSER_MOVABLE))
				continue;
			req.blocks = ULONG_MAX;
			ret = clear_zone(zone, &req);
			if (ret || !req.wanted)
				break;
		}
		/* Some blocks were taken from under it, or freed meanwhile. */
	} while (!ret && req.wanted && req.cleared != before);

	atomic_long_set(&last_run, req.cleared * PAGE_SIZE);
	return ret;
}

/* The background: one thread a node */

static struct task_struct *threads[MAX_NUMNODES];

/* Below this reclaim is about to fight for memory: leave that alone. */
static bool zone_is_low(struct zone *zone)
{
	return zone_page_state(zone, NR_FREE_PAGES) <
	       low_wmark_pages(zone) + 2 * MAX_ORDER_NR_PAGES;
}

static unsigned long background_most(struct zone *zone)
{
	return zone_page_state(zone, NR_FREE_PAGES) / 100 * READ_ONCE(max_percent);
}

static bool background_enough(struct zone *zone)
{
	return zone_is_low(zone) ||
	       zone_page_state(zone, NR_PREZEROED) >= background_most(zone);
}

/* Do not begin anew for every page that is used: an eighth is to be gone. */
static bool background_worthwhile(struct zone *zone)
{
	const unsigned long most = background_most(zone);

	return !zone_is_low(zone) &&
	       zone_page_state(zone, NR_PREZEROED) < most - most / 8;
}

/* Without anything to do look ever more seldom, up to 16 times. */
static unsigned long background_delay(unsigned int idle)
{
	return max(msecs_to_jiffies(READ_ONCE(delay_millisecs)), 1UL) << idle;
}

static int background_thread(void *data)
{
	pg_data_t *pgdat = data;
	unsigned int idle = 0;
	struct request req;
	struct zone *zone;

	sched_setscheduler_nocheck(current, SCHED_IDLE, &(struct sched_param) { });
	set_freezable();

	while (!kthread_should_stop()) {
		req = (struct request) {
			.wanted = ULONG_MAX,
			.blocks = READ_ONCE(batch_size),
			.enough = background_enough,
		};

		for (zone = pgdat->node_zones;
		     zone < pgdat->node_zones + MAX_NR_ZONES; zone++) {
			/* What has begun goes on until it is enough. */
			if (populated_zone(zone) &&
			    (!idle || background_worthwhile(zone)))
				clear_zone(zone, &req);
		}

		idle = req.cleared ? 0 : min(idle + 1, 4U);
		/* Asleep it may be frozen as it is. */
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		if (!kthread_should_stop())
			schedule_timeout(background_delay(idle));
		__set_current_state(TASK_RUNNING);
	}

	return 0;
}

static void stop_threads(const nodemask_t *nodes)
{
	int nid;

	for_each_node_mask(nid, *nodes) {
		if (threads[nid])
			kthread_stop(threads[nid]);
		threads[nid] = NULL;
	}
}

/* Of its node if it can be. Isolated CPUs it has been kept from already. */
static void confine_thread(struct task_struct *thread, int nid)
{
	cpumask_var_t cpus;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return;
	if (cpumask_and(cpus, &thread->cpus_mask, cpumask_of_node(nid)))
		set_cpus_allowed_ptr(thread, cpus);
	free_cpumask_var(cpus);
}

/* All that are missing, or none. */
static int start_threads(void)
{
	nodemask_t started = NODE_MASK_NONE;
	struct task_struct *thread;
	int nid;

	for_each_node_state(nid, N_MEMORY) {
		if (threads[nid])
			continue;

		thread = kthread_create_on_node(background_thread, NODE_DATA(nid),
						nid, "kprezerod%d", nid);
		if (IS_ERR(thread)) {
			stop_threads(&started);
			return PTR_ERR(thread);
		}

		confine_thread(thread, nid);
		threads[nid] = thread;
		node_set(nid, started);
		wake_up_process(thread);
	}

	return 0;
}

/* After any change of what these depend on, with the mutex held. */
static int apply(void)
{
	bool allow = enabled;
	int ret = 0;

	lockdep_assert_held(&prezero_mutex);

	if (force != PREZERO_AS_ENABLED)
		allow = force == PREZERO_ALLOW;
	if (!allow || hibernating) {
		if (prezero_is_allowed()) {
			prezero_forbid();
			hugetlb_prezero_forbid();
		}
	} else if (!prezero_is_allowed()) {
		prezero_allow();
	}

	if (enabled && background)
		ret = start_threads();
	else
		stop_threads(&node_possible_map);

	return ret;
}

#ifdef CONFIG_PREZERO_KUNIT_TEST
void prezero_force(enum prezero_force what)
{
	mutex_lock(&prezero_mutex);
	force = what;
	apply();
	mutex_unlock(&prezero_mutex);
}
#endif

/*
 * The image holds no free memory, so nothing is known about that afterwards. No
 * block of the free lists may have a mark in the image, and none may get one until
 * it is made. What the lists of the CPUs hold is not free to the one who makes it:
 * that is saved, or it has been freed to the zone and lost its mark.
 */
static int prezero_pm_notify(struct notifier_block *nb, unsigned long action,
			     void *data)
{
	if (action != PM_HIBERNATION_PREPARE && action != PM_POST_HIBERNATION)
		return NOTIFY_DONE;

	mutex_lock(&prezero_mutex);
	hibernating = action == PM_HIBERNATION_PREPARE;
	apply();
	mutex_unlock(&prezero_mutex);
	return NOTIFY_OK;
}

static struct notifier_block prezero_pm_nb = {
	.notifier_call = prezero_pm_notify,
};

/* Free memory may be cleared, or read, only as long as it stays as it is. */
static bool available(void)
{
	if (page_poisoning_enabled_static()) {
		pr_warn_once("free memory is poisoned, not to be cleared\n");
		return false;
	}
	if (debug_pagealloc_enabled_static()) {
		pr_warn_once("free memory is not mapped, cannot be cleared\n");
		return false;
	}
	return true;
}

/* Decimal digits and a newline, nothing else. */
static int parse(const char *buf, size_t count, unsigned int min,
		 unsigned int max, unsigned int *val)
{
	unsigned int v;

	if (strlen(buf) != count || !isdigit(*buf) || kstrtouint(buf, 10, &v) ||
	    v < min || v > max)
		return -EINVAL;

	*val = v;
	return 0;
}

/* Returns @count, or an error and has changed nothing. */
static ssize_t store_switch(const char *buf, size_t count, bool *which)
{
	unsigned int val;
	bool old;
	int ret;

	ret = parse(buf, count, 0, 1, &val);
	if (ret)
		return ret;
	if (val && which == &enabled && !available())
		return -EOPNOTSUPP;

	ret = mutex_lock_killable(&prezero_mutex);
	if (ret)
		return ret;
	old = *which;
	*which = val;
	ret = apply();
	if (ret) {
		*which = old;
		apply();
	}
	mutex_unlock(&prezero_mutex);

	return ret ?: count;
}

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(enabled));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return store_switch(buf, count, &enabled);
}

static ssize_t background_show(struct kobject *kobj, struct kobj_attribute *attr,
			       char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(background));
}

static ssize_t background_store(struct kobject *kobj, struct kobj_attribute *attr,
				const char *buf, size_t count)
{
	return store_switch(buf, count, &background);
}

static ssize_t run_show(struct kobject *kobj, struct kobj_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%ld\n", atomic_long_read(&last_run));
}

static ssize_t run_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count)
{
	unsigned long bytes;
	int ret;

	if (strlen(buf) != count || page_clearing_parse_size(buf, &bytes) ||
	    bytes > totalram_pages() * PAGE_SIZE)
		return -EINVAL;

	ret = prezero_may_begin();
	if (!ret)
		ret = run(bytes);
	return ret ?: count;
}

struct number {
	struct kobj_attribute attr;
	unsigned int *val;
	unsigned int min;
	unsigned int max;
};

static ssize_t number_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	const struct number *n = container_of(attr, struct number, attr);

	return sysfs_emit(buf, "%u\n", READ_ONCE(*n->val));
}

static ssize_t number_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	const struct number *n = container_of(attr, struct number, attr);
	unsigned int val;
	int ret;

	ret = parse(buf, count, n->min, n->max, &val);
	if (ret)
		return ret;

	WRITE_ONCE(*n->val, val);
	return count;
}

#define NUMBER(_name)	__ATTR(_name, 0644, number_show, number_store)

static struct number order_number = {
	NUMBER(order), &order, 0, MAX_PAGE_ORDER,
};

static struct number batch_size_number = {
	NUMBER(batch_size), &batch_size, 1, 65536,
};

static struct number delay_millisecs_number = {
	NUMBER(delay_millisecs), &delay_millisecs, 0, 3600 * MSEC_PER_SEC,
};

static struct number max_percent_number = {
	NUMBER(max_percent), &max_percent, 0, 100,
};

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute background_attr = __ATTR_RW(background);
static struct kobj_attribute run_attr = __ATTR_RW(run);

static struct attribute *prezero_attrs[] = {
	&enabled_attr.attr,
	&order_number.attr.attr,
	&run_attr.attr,
	&background_attr.attr,
	&batch_size_number.attr.attr,
	&delay_millisecs_number.attr.attr,
	&max_percent_number.attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(prezero);

static int __init prezero_init(void)
{
	struct kobject *kobj;
	int ret;

	order = pageblock_order;

	kobj = kobject_create_and_add("prezero", mm_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_groups(kobj, prezero_groups);
	if (!ret)
		ret = register_pm_notifier(&prezero_pm_nb);
	if (ret)
		kobject_put(kobj);
	return ret;
}
subsys_initcall(prezero_init);
