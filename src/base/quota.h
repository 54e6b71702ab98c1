/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads this process may keep busy: what it may run on, and what its container grants. */
#ifndef KN_BASE_QUOTA_H
#define KN_BASE_QUOTA_H

/* Whole processors that the quota of the process's control groups (version 1 or 2, theirs and of all groups above) grants, rounded
 * down and at least 1; 0: no limit, or none that can be read. `root` stands before every path; "" is the machine's own. */
unsigned kn_quota_processors(const char *root);

/* The lesser of that and of the processors that the calling thread may run on; at least 1. */
unsigned kn_default_threads(void);

#endif
