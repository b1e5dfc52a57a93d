/*
 * A controller and three members in one program. In a product each is a device of its own, and
 * `carry` is a radio.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "groupkey.h"

enum { MEMBERS = 3, LONGEST = 512 };

static uint8_t pool[64 * 1024];
static groupkey_device controller, members[MEMBERS];

/* Ends the program if a call fails that should not. */
static void need(groupkey_error error)
{
    if (error != GROUPKEY_ERROR_NONE) {
        fprintf(stderr, "groupkey: %s\n", groupkey_error_text(error));
        exit(1);
    }
}

/* Random bytes of cryptographic quality, from the system or the chip. */
static int random_bytes(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    return getentropy(bytes, length);
}

/* The time in ns, which must not go back. Here it stands still. */
static uint64_t now(void)
{
    return 1;
}

/* Says what happened at a member. */
static void tell(uint32_t number)
{
    groupkey_event event;
    uint8_t content[LONGEST];
    while (groupkey_next_event(members[number], &event, content, sizeof content) == 0) {
        if (event.kind == GROUPKEY_EVENT_KIND_REKEYED)
            printf("member %u is in epoch %u\n", (unsigned)number, (unsigned)event.epoch);
        if (event.kind == GROUPKEY_EVENT_KIND_MESSAGE)
            printf("member %u hears member %u: %.*s\n", (unsigned)number, (unsigned)event.sender,
                   (int)event.length, (const char *)content);
    }
}

/* Carries the messages of a device to those that they are for. */
static void carry(groupkey_device from)
{
    groupkey_address to;
    uint8_t message[LONGEST];
    size_t length;
    while (groupkey_next_outgoing(from, &to, message, sizeof message, &length) == 0) {
        for (uint32_t number = 0; number < MEMBERS; number++) {
            if (to.kind == GROUPKEY_GROUP || (to.kind == GROUPKEY_MEMBER && to.number == number)) {
                /* A former member hears the group too, and understands nothing. */
                groupkey_error error = groupkey_receive(members[number], message, length, now());
                if (error != GROUPKEY_ERROR_NONE)
                    printf("member %u: %s\n", (unsigned)number, groupkey_error_text(error));
                tell(number);
            }
        }
    }
}

int main(void)
{
    need(groupkey_init(pool, sizeof pool, random_bytes, NULL, NULL));

    /* The same at all devices. The MAC key and the instance are drawn when the group is founded. */
    uint8_t mac_key[32];
    groupkey_settings settings = {.scheme = "lkh-group", .group = 1, .mac_key = mac_key};
    if (random_bytes(NULL, mac_key, sizeof mac_key) != 0 ||
        random_bytes(NULL, settings.instance, sizeof settings.instance) != 0)
        return 1;
    need(groupkey_controller(&settings, &controller));
    for (uint32_t number = 0; number < MEMBERS; number++)
        need(groupkey_member(&settings, number, &members[number]));

    /* Deployment, over a cable: each member gets an individual key. */
    const uint32_t all[MEMBERS] = {0, 1, 2};
    groupkey_address to;
    uint8_t message[LONGEST];
    size_t length;
    need(groupkey_enroll(controller, all, MEMBERS, now()));
    while (groupkey_next_confidential(controller, &to, message, sizeof message, &length) == 0)
        need(groupkey_receive_confidential(members[to.number], message, length, now()));

    /* Operation: members 0 and 1 are the group. Member 2 joins. Member 1 is evicted. */
    need(groupkey_create(controller, all, 2, now()));
    carry(controller);
    need(groupkey_add(controller, 2, now()));
    carry(controller);
    need(groupkey_remove(controller, 1, now()));
    carry(controller);

    /* A message under the group key. */
    const char road[] = "slippery road";
    need(groupkey_send(members[2], (const uint8_t *)road, strlen(road), now()));
    carry(members[2]);

    groupkey_memory_use memory;
    need(groupkey_memory(&memory));
    need(groupkey_destroy(controller));
    for (uint32_t number = 0; number < MEMBERS; number++)
        need(groupkey_destroy(members[number]));
    need(groupkey_finish());
    return 0;
}
