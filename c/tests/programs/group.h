/*
 * A whole group of a scheme in one program, with made-up randomness: so it sends the same bytes on every
 * platform. For tests alone.
 */
#ifndef GROUP_H
#define GROUP_H

#include "groupkey.h"

#ifndef MOST_MEMBERS
#define MOST_MEMBERS 40
#endif
enum { MOST_SUBGROUPS = 2 };

/* What a run does. */
struct plan {
    const char *scheme;
    /* Null for the sound one. */
    const char *profile;
    const char *suite;
    uint32_t members;
    int is_signed;
    /* With signatures: one for all messages of a step. */
    int is_merkle;
    /* Called after each call that may take memory; null if nobody asks. */
    void (*watch)(const char *call, uint32_t kind);
};

/* How a run ended. */
struct outcome {
    groupkey_error error;
    /* The call that failed. */
    const char *call;
    /* The hash of all messages and of the last key. */
    uint64_t hash;
    size_t messages;
    size_t bytes;
    size_t peak;
};

/*
 * Founds a group, adds a member, evicts one, changes the key and sends a message, as far as the scheme
 * can. Alters messages on the way, which must be refused. Ends the library in any case.
 */
struct outcome run_group(const struct plan *plan, void *pool, size_t size);

/* Prints what went wrong and ends the program. */
void fail(const char *what, const char *more);

#endif
