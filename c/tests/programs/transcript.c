/*
 * Runs a small group of every scheme, and prints the hash of its messages and keys: the same on every
 * platform.
 */
#include <inttypes.h>
#include <stdio.h>

#include "group.h"

/* The forms over a pairing want most of it; a board of the tests has 4 MiB. */
static uint8_t pool[2 << 20];

static const char *const SUITES[] = {"standard", "constrained"};

int main(void)
{
    char id[32];
    for (size_t index = 0; groupkey_scheme(index, id, sizeof id) == 0; index++) {
        for (int suite = 0; suite < 2; suite++) {
            struct plan plan = {
                .scheme = id, .suite = SUITES[suite], .members = 4, .is_signed = suite == 1};
            struct outcome outcome = run_group(&plan, pool, sizeof pool);
            /* These schemes need keys that this interface does not have. */
            if (outcome.error == GROUPKEY_ERROR_NO_PEER_KEYS)
                continue;
            if (outcome.error != 0)
                fail(outcome.call, groupkey_error_text(outcome.error));
            printf("%s %s: %u messages, %u bytes, %08" PRIx32 "%08" PRIx32 "\n", id, SUITES[suite],
                   (unsigned)outcome.messages, (unsigned)outcome.bytes,
                   (uint32_t)(outcome.hash >> 32), (uint32_t)outcome.hash);
        }
    }
    printf("end\n");
    return 0;
}
