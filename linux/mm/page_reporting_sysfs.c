// SPDX-License-Identifier: GPL-2.0
/*
 * The tunables of page reporting, in /sys/kernel/mm/page_reporting/. They exist
 * without a device as well, so that one finds them set when it registers.
 */
#include <linux/ctype.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/mmzone.h>
#include <linux/page_reporting.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "page_reporting.h"

/* A day. INT_MAX would be too long for a timer where a long has 32 bits. */
#define MAX_DELAY_MS	(24 * 60 * 60 * 1000)

static ssize_t store_tunable(const char *buf, size_t count,
			     unsigned int *tunable, unsigned int min,
			     unsigned int max)
{
	unsigned int value;

	/*
	 * What comes after a NUL is not looked at below, and a sign would be
	 * taken.
	 */
	if (strlen(buf) != count || !isdigit(buf[0]))
		return -EINVAL;
	if (kstrtouint(buf, 10, &value) || value < min || value > max)
		return -EINVAL;

	WRITE_ONCE(*tunable, value);
	return count;
}

/* Signed, as the module parameter: -1 is for whoever registers to replace. */
static ssize_t order_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%d\n", (int)READ_ONCE(page_reporting_order));
}

static ssize_t order_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	return store_tunable(buf, count, &page_reporting_order, 0,
			     MAX_PAGE_ORDER);
}

static ssize_t batch_size_show(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(page_reporting_batch_size));
}

/* Drivers make their queues for no more than the upper limit. */
static ssize_t batch_size_store(struct kobject *kobj,
				struct kobj_attribute *attr, const char *buf,
				size_t count)
{
	return store_tunable(buf, count, &page_reporting_batch_size, 1,
			     PAGE_REPORTING_CAPACITY);
}

static ssize_t delay_millisecs_show(struct kobject *kobj,
				    struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(page_reporting_delay_ms));
}

static ssize_t delay_millisecs_store(struct kobject *kobj,
				     struct kobj_attribute *attr,
				     const char *buf, size_t count)
{
	return store_tunable(buf, count, &page_reporting_delay_ms, 0,
			     MAX_DELAY_MS);
}

static struct kobj_attribute order_attr = __ATTR_RW(order);
static struct kobj_attribute batch_size_attr = __ATTR_RW(batch_size);
static struct kobj_attribute delay_millisecs_attr = __ATTR_RW(delay_millisecs);

static struct attribute *page_reporting_attrs[] = {
	&order_attr.attr,
	&batch_size_attr.attr,
	&delay_millisecs_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(page_reporting);

static int __init page_reporting_sysfs_init(void)
{
	struct kobject *kobj;
	int ret;

	kobj = kobject_create_and_add("page_reporting", mm_kobj);
	if (!kobj)
		return -ENOMEM;

	ret = sysfs_create_groups(kobj, page_reporting_groups);
	if (ret)
		kobject_put(kobj);
	return ret;
}
subsys_initcall(page_reporting_sysfs_init);
