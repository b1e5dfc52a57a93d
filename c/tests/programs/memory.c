/*
 * No call takes more than half of the memory that had to be free for it, in either profile, and in no pool,
 * however small, does the library need more than it has: run with the number of members, and "signed" for signatures,
 * or "merkle" for one signature a step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

static uint8_t pool[32 << 20];
static const char *scheme;

static void compare(const char *call, uint32_t kind)
{
    groupkey_memory_use memory;
    (void)kind;
    if (groupkey_memory(&memory) == 0 && memory.call_peak > memory.call_need / 2) {
        printf("%s, %s: %zu of %zu bytes\n", scheme, call, memory.call_peak, memory.call_need);
        fail(scheme, "a call takes more than half of what had to be free: see src/need.rs");
    }
}

/* Runs a group in pools of all sizes, from none to enough. */
static size_t smallest_pool(struct plan *plan, size_t most)
{
    for (size_t size = 0; size <= most; size += 128 + size / 64) {
        /* Another place in memory each time, which is aligned or not. */
        struct outcome outcome = run_group(plan, pool + size % 61, size);
        if (outcome.error == 0)
            return size;
        if (outcome.error != GROUPKEY_ERROR_OUT_OF_MEMORY)
            fail(outcome.call, groupkey_error_text(outcome.error));
    }
    fail(plan->scheme, "it needs more than it should");
    return 0;
}

static void run_scheme(const char *profile, uint32_t members, int is_signed, int is_merkle)
{
    struct plan plan = {.scheme = scheme,
                        .profile = profile,
                        .members = members,
                        .is_signed = is_signed,
                        .is_merkle = is_merkle,
                        .watch = compare};
    struct outcome outcome = run_group(&plan, pool, sizeof pool);
    /* These schemes need keys that this interface does not have. */
    if (outcome.error == GROUPKEY_ERROR_NO_PEER_KEYS)
        return;
    if (outcome.error != 0)
        fail(outcome.call, groupkey_error_text(outcome.error));
    plan.watch = NULL;
    /* The pairings take so long, and the larger groups so many pools, that one run says enough. */
    int is_quick = members <= 4 && outcome.peak < 50000;
    printf("%s, %s: peak %zu", scheme, profile, outcome.peak);
    if (is_quick)
        printf(", smallest pool %zu", smallest_pool(&plan, 1 << 20));
    printf("\n");
}

int main(int count, char **arguments)
{
    char id[32];
    uint32_t members = count > 1 ? (uint32_t)atoi(arguments[1]) : 4;
    int is_merkle = count > 2 && strcmp(arguments[2], "merkle") == 0;
    int is_signed = is_merkle || (count > 2 && strcmp(arguments[2], "signed") == 0);
    scheme = id;
    for (size_t index = 0; groupkey_scheme(index, id, sizeof id) == 0; index++) {
        run_scheme("sound", members, is_signed, is_merkle);
        run_scheme("published", members, is_signed, is_merkle);
    }
    return 0;
}
