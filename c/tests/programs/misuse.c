/* Whatever the caller does wrong is refused, and changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groupkey.h"

enum { LONGEST = 1 << 17 };

/* More room than the pool that is handed over, and in front of it, to see that nothing else changes. */
static uint8_t memory[1 << 20];
static uint8_t *const pool = memory + 4096;
static const size_t pool_size = sizeof memory - 8192;
static uint8_t message[LONGEST];
static size_t length;
static groupkey_address to;
static groupkey_device controller, members[3];
static const uint8_t mac_key[32] = {3, 141, 59, 26, 53, 58, 97, 93, 238, 46, 26, 43, 38, 32, 79, 50,
                                    2, 71, 82, 81, 82, 84, 59, 4, 52, 35, 36, 2, 87, 47, 135, 26};
static int draws, source_fails;
static groupkey_error inner;

#define EXPECT(call, expected) expect((call), (expected), #call, __LINE__)

static void expect(groupkey_error got, groupkey_error expected, const char *call, int line)
{
    if (got != expected) {
        printf("FAILED: line %d, %s: %s (%d), not %s\n", line, call, groupkey_error_text(got), (int)got,
               groupkey_error_text(expected));
        exit(1);
    }
}

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("FAILED: %s\n", what);
        exit(1);
    }
}

/* NOT random. Calls the library, as it must not. */
static int made_up(void *context, uint8_t *bytes, size_t count)
{
    check(context == &draws, "the context is another");
    if (source_fails)
        return -1;
    draws++;
    inner = groupkey_finish();
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(draws + i);
    return 0;
}

static groupkey_settings settings_of(const char *scheme)
{
    groupkey_settings settings = {.scheme = scheme, .group = 1, .mac_key = mac_key};
    return settings;
}

static void before_and_after_init(void)
{
    groupkey_settings settings = settings_of("skdc");
    groupkey_memory_use use;
    EXPECT(groupkey_controller(&settings, &controller), GROUPKEY_ERROR_NOT_INITIALISED);
    EXPECT(groupkey_finish(), GROUPKEY_ERROR_NOT_INITIALISED);
    EXPECT(groupkey_memory(&use), GROUPKEY_ERROR_NOT_INITIALISED);
    EXPECT(groupkey_init(NULL, pool_size, made_up, &draws, NULL), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_init(pool, SIZE_MAX, made_up, &draws, NULL), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_init(pool, pool_size, NULL, &draws, NULL), GROUPKEY_ERROR_BAD_POINTER);
    for (size_t size = 0; size < 1024; size += 8)
        EXPECT(groupkey_init(pool, size, made_up, &draws, NULL), GROUPKEY_ERROR_OUT_OF_MEMORY);
    EXPECT(groupkey_init(pool, pool_size, made_up, &draws, NULL), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_init(pool, pool_size, made_up, &draws, NULL), GROUPKEY_ERROR_ALREADY_INITIALISED);
}

static void settings(void)
{
    groupkey_device device;
    groupkey_settings settings = settings_of("skdc");
    EXPECT(groupkey_controller(NULL, &device), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_controller(&settings, NULL), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_subgroup_controller(&settings, 0, &device), GROUPKEY_ERROR_NO_SUCH_PARTY);
    settings = settings_of("igkmp");
    EXPECT(groupkey_subgroup_controller(&settings, 55, &device), GROUPKEY_ERROR_NO_SUCH_PARTY);
    settings = settings_of("tgdh");
    EXPECT(groupkey_controller(&settings, &device), GROUPKEY_ERROR_NO_SUCH_PARTY);
    settings = settings_of("no such scheme");
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_UNKNOWN_SCHEME);
    settings = settings_of("\xff\xfe");
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_UNKNOWN_SCHEME);
    settings = settings_of(NULL);
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_BAD_POINTER);
    settings = settings_of("skdc");
    settings.suite = "enigma";
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_UNKNOWN_SUITE);
    settings = settings_of("skdc");
    settings.profile = "hopeful";
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_UNKNOWN_PROFILE);
    settings = settings_of("lkh-group");
    groupkey_parameter parameter = {"degree", 1000000};
    settings.parameter_count = 1;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_BAD_POINTER);
    settings.parameters = &parameter;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_PARAMETER_OUT_OF_RANGE);
    parameter.name = "colour";
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_UNKNOWN_PARAMETER);
    parameter.name = NULL;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_BAD_POINTER);
    settings.parameter_count = SIZE_MAX;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_BAD_POINTER);
    settings = settings_of("skdc");
    settings.mac_key = NULL;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_ONE_KEY_NEEDED);
    settings.mac_key = settings.signing_key = mac_key;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_ONE_KEY_NEEDED);
    for (uint32_t protection = GROUPKEY_PROTECTION_SIGNATURE; protection < 5; protection++) {
        settings.signing_key = NULL;
        settings.protection = protection;
        EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_ONE_KEY_NEEDED);
    }
    settings.signing_key = mac_key;
    settings.mac_key = NULL;
    settings.protection = GROUPKEY_PROTECTION_MAC;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_ONE_KEY_NEEDED);
    settings.protection = GROUPKEY_PROTECTION_BY_KEY;
    groupkey_public_key_of other = {.party = {GROUPKEY_GROUP, 0}};
    settings.public_keys = &other;
    settings.public_key_count = 1;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_BAD_ADDRESS);
    /* A point of small order. */
    other.party.kind = GROUPKEY_CONTROLLER;
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_BAD_PUBLIC_KEY);
    EXPECT(groupkey_public_key(NULL, other.key), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_public_key(mac_key, NULL), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_public_key(mac_key, other.key), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_member(&settings, 0, &device), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_destroy(device), GROUPKEY_ERROR_NONE);
}

static void deployment(void)
{
    const uint32_t all[] = {0, 1, 2};
    groupkey_settings settings = settings_of("lkh-group");
    EXPECT(groupkey_controller(&settings, &controller), GROUPKEY_ERROR_NONE);
    for (uint32_t number = 0; number < 3; number++)
        EXPECT(groupkey_member(&settings, number, &members[number]), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_create(controller, all, 2, 1), GROUPKEY_ERROR_NOT_ENROLLED);
    EXPECT(groupkey_add(controller, 1, 1), GROUPKEY_ERROR_NOT_CREATED);
    EXPECT(groupkey_enroll(members[0], all, 3, 1), GROUPKEY_ERROR_WRONG_ROLE);
    EXPECT(groupkey_enroll(controller, NULL, 3, 1), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_enroll(controller, (const uint32_t *)(const void *)(message + 1), 3, 1),
           GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_enroll(controller, all, SIZE_MAX / 2, 1), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_enroll(controller, all, 1 << 20, 1), GROUPKEY_ERROR_OUT_OF_MEMORY);

    /* A source of randomness that fails is an error, and the next call succeeds. */
    source_fails = 1;
    EXPECT(groupkey_enroll(controller, all, 3, 1), GROUPKEY_ERROR_NO_RANDOMNESS);
    source_fails = 0;
    EXPECT(groupkey_enroll(controller, all, 3, 1), GROUPKEY_ERROR_NONE);
    /* The source called the library while a call was running. */
    check(inner == GROUPKEY_ERROR_BUSY, "a call within a call went through");
    EXPECT(groupkey_enroll(controller, all, 3, 1), GROUPKEY_ERROR_ALREADY_ENROLLED);

    /* A buffer that is too short does not lose the message. */
    EXPECT(groupkey_next_outgoing(controller, &to, message, LONGEST, &length), GROUPKEY_ERROR_EMPTY);
    EXPECT(groupkey_next_confidential(controller, &to, message, 8, &length),
           GROUPKEY_ERROR_BUFFER_TOO_SMALL);
    check(length > 8, "the length was not returned");
    EXPECT(groupkey_next_confidential(controller, NULL, message, LONGEST, &length),
           GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_next_confidential(controller, &to, NULL, LONGEST, &length),
           GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_next_confidential(controller, &to, message, LONGEST, NULL),
           GROUPKEY_ERROR_BAD_POINTER);
    for (uint32_t number = 0; number < 3; number++) {
        EXPECT(groupkey_next_confidential(controller, &to, message, LONGEST, &length),
               GROUPKEY_ERROR_NONE);
        check(to.kind == GROUPKEY_MEMBER && to.number == number, "another member was addressed");
        EXPECT(groupkey_receive(members[number], message, length, 1), GROUPKEY_ERROR_WRONG_CHANNEL);
        EXPECT(groupkey_receive_confidential(members[(number + 1) % 3], message, length, 1),
               GROUPKEY_ERROR_NOT_FOR_US);
        EXPECT(groupkey_receive_confidential(members[number], message, length, 1), GROUPKEY_ERROR_NONE);
    }
    EXPECT(groupkey_next_confidential(controller, &to, message, LONGEST, &length), GROUPKEY_ERROR_EMPTY);
}

static void operation(void)
{
    const uint32_t all[] = {0, 1};
    groupkey_event event;
    uint8_t key[16], content[64];
    uint64_t epoch;
    EXPECT(groupkey_create(controller, all, 1, 1), GROUPKEY_ERROR_TOO_FEW_MEMBERS);
    EXPECT(groupkey_create(controller, all, 2, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_send(members[0], content, 3, 1), GROUPKEY_ERROR_NOT_CREATED);
    EXPECT(groupkey_group_key(members[0], key, &epoch), GROUPKEY_ERROR_NO_GROUP_KEY);
    EXPECT(groupkey_export(members[0], "srtp", NULL, 0, key, 16, &epoch), GROUPKEY_ERROR_NO_GROUP_KEY);
    while (groupkey_next_outgoing(controller, &to, message, LONGEST, &length) == 0) {
        for (uint32_t number = 0; number < 2; number++) {
            if (to.kind == GROUPKEY_MEMBER && to.number != number)
                continue;
            for (size_t index = 0; index < length; index++) {
                message[index] ^= 1;
                check(groupkey_receive(members[number], message, length, 1) >= 200, "a forgery was taken");
                message[index] ^= 1;
            }
            for (size_t part = 0; part < length; part++)
                check(groupkey_receive(members[number], message, part, 1) >= 200, "a part was taken");
            EXPECT(groupkey_receive(members[number], NULL, length, 1), GROUPKEY_ERROR_BAD_POINTER);
            EXPECT(groupkey_next_event(members[number], &event, NULL, 0), GROUPKEY_ERROR_EMPTY);
            EXPECT(groupkey_receive(members[number], message, length, 1), GROUPKEY_ERROR_NONE);
            EXPECT(groupkey_receive(members[number], message, length, 1), GROUPKEY_ERROR_STALE_EPOCH);
            EXPECT(groupkey_next_event(members[number], NULL, NULL, 0), GROUPKEY_ERROR_BAD_POINTER);
            EXPECT(groupkey_next_event(members[number], &event, NULL, 0), GROUPKEY_ERROR_NONE);
            check(event.kind == GROUPKEY_EVENT_KIND_REKEYED && event.epoch == 1, "another event");
        }
    }
    EXPECT(groupkey_group_key(members[0], NULL, &epoch), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_group_key(members[0], key, NULL), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_export(members[0], NULL, NULL, 0, key, 16, &epoch), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_export(members[0], "srtp", NULL, 1, key, 16, &epoch), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_export(members[0], "srtp", NULL, 0, NULL, 16, &epoch), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_export(members[0], "srtp", NULL, 0, key, 16, NULL), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_export(members[0], "srtp", NULL, 0, key, 8161, &epoch), GROUPKEY_ERROR_MESSAGE_TOO_LONG);
    EXPECT(groupkey_export(members[0], "srtp", NULL, 0, key, 16, &epoch), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_group_key(members[0], key, &epoch), GROUPKEY_ERROR_NONE);

    EXPECT(groupkey_send(members[0], (const uint8_t *)"road", 4, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(members[0], &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(members[1], message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(members[1], message, length, 1), GROUPKEY_ERROR_REPLAYED);
    EXPECT(groupkey_next_event(members[1], &event, content, 3), GROUPKEY_ERROR_BUFFER_TOO_SMALL);
    check(event.length == 4, "the length was not returned");
    EXPECT(groupkey_next_event(members[1], &event, NULL, 4), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_next_event(members[1], &event, content, 4), GROUPKEY_ERROR_NONE);
    check(event.sender == 0 && memcmp(content, "road", 4) == 0, "another message");
    EXPECT(groupkey_next_event(members[1], &event, content, 4), GROUPKEY_ERROR_EMPTY);

    /* The longest message, and one that is longer. */
    groupkey_memory_use use;
    EXPECT(groupkey_send(members[0], message, 65536, 1), GROUPKEY_ERROR_MESSAGE_TOO_LONG);
    EXPECT(groupkey_send(members[0], message, 65535, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_memory(&use), GROUPKEY_ERROR_NONE);
    check(use.call_peak <= use.call_need / 2, "a long message takes too much memory");
    EXPECT(groupkey_next_outgoing(members[0], &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(members[1], message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_memory(&use), GROUPKEY_ERROR_NONE);
    check(use.call_peak <= use.call_need / 2, "a long message takes too much memory at its receiver");

    /* A member that missed an epoch catches up. */
    for (int change = 0; change < 2; change++) {
        EXPECT(change ? groupkey_remove(controller, 2, 1) : groupkey_add(controller, 2, 1),
               GROUPKEY_ERROR_NONE);
        length = 0;
        while (groupkey_next_outgoing(controller, &to, message, LONGEST, &length) == 0)
            if (change && to.kind != GROUPKEY_MEMBER)
                EXPECT(groupkey_receive(members[0], message, length, 1), GROUPKEY_ERROR_SKIPPED_EPOCH);
    }
    EXPECT(groupkey_catch_up(members[0], 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(members[0], &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    check(to.kind == GROUPKEY_CONTROLLER && to.number == 0, "the request goes elsewhere");
    EXPECT(groupkey_receive(controller, message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(controller, &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(members[0], message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_group_key(members[0], key, &epoch), GROUPKEY_ERROR_NONE);
    check(epoch == 3, "the member did not catch up");
    EXPECT(groupkey_batch(controller, NULL, 0, NULL, 0, 1), GROUPKEY_ERROR_EMPTY_BATCH);
}

/* A member restarts, and goes on with what it kept. The key stays. */
static void restart(void)
{
    static const uint8_t storage_key[16] = {1, 2, 3}, other_key[16] = {3, 2, 1};
    static uint8_t kept[1024], recorded[256];
    groupkey_settings settings = settings_of("lkh-group");
    groupkey_event event;
    groupkey_device fresh;
    uint8_t before[16], after[16], content[8];
    size_t kept_length, recorded_length;
    uint64_t epoch;
    EXPECT(groupkey_member(&settings, 0, &fresh), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_membership(fresh, storage_key, kept, sizeof kept, &kept_length),
           GROUPKEY_ERROR_NOT_CREATED);
    EXPECT(groupkey_membership(controller, storage_key, kept, sizeof kept, &kept_length),
           GROUPKEY_ERROR_NOT_CREATED);
    EXPECT(groupkey_membership(members[0], NULL, kept, sizeof kept, &kept_length),
           GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_membership(members[0], storage_key, kept, sizeof kept, NULL),
           GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_membership(members[0], storage_key, kept, 8, &kept_length),
           GROUPKEY_ERROR_BUFFER_TOO_SMALL);
    EXPECT(groupkey_membership(members[0], storage_key, kept, sizeof kept, &kept_length),
           GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_resume(members[1], storage_key, kept, kept_length, 1, 1),
           GROUPKEY_ERROR_ALREADY_CREATED);
    EXPECT(groupkey_resume(controller, storage_key, kept, kept_length, 1, 1),
           GROUPKEY_ERROR_ALREADY_CREATED);
    EXPECT(groupkey_resume(fresh, NULL, kept, kept_length, 1, 1), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_resume(fresh, storage_key, NULL, kept_length, 1, 1), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_resume(fresh, other_key, kept, kept_length, 1, 1), GROUPKEY_ERROR_FORGED);
    for (size_t index = 0; index < kept_length; index++) {
        kept[index] ^= 1;
        check(groupkey_resume(fresh, storage_key, kept, kept_length, 1, 1) >= 200, "it was changed");
        kept[index] ^= 1;
        check(groupkey_resume(fresh, storage_key, kept, index, 1, 1) >= 200, "a part of it was taken");
    }

    /* Member 1 has the key of epoch 1, as it missed what came after. */
    EXPECT(groupkey_catch_up(members[1], 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(members[1], &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(controller, message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(controller, &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(members[1], message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_send(members[1], (const uint8_t *)"road", 4, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(members[1], &to, recorded, sizeof recorded, &recorded_length),
           GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(members[0], recorded, recorded_length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_group_key(members[0], before, &epoch), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_destroy(members[0]), GROUPKEY_ERROR_NONE);

    EXPECT(groupkey_resume(fresh, storage_key, kept, kept_length, 1, 1), GROUPKEY_ERROR_NONE);
    members[0] = fresh;
    EXPECT(groupkey_note_resumptions(members[1], 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(fresh, &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(controller, message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(controller, &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(fresh, message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_group_key(fresh, after, &epoch), GROUPKEY_ERROR_NONE);
    check(epoch == 3 && memcmp(before, after, 16) == 0, "the key has changed");
    while (groupkey_next_event(fresh, &event, content, sizeof content) == 0)
        continue;
    EXPECT(groupkey_receive(fresh, recorded, recorded_length, 1), GROUPKEY_ERROR_REPLAYED);
    EXPECT(groupkey_send(members[1], (const uint8_t *)"free", 4, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_outgoing(members[1], &to, message, LONGEST, &length), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_receive(fresh, message, length, 1), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_next_event(fresh, &event, content, sizeof content), GROUPKEY_ERROR_NONE);
    check(event.sender == 1 && memcmp(content, "free", 4) == 0, "another message");
}

static void handles(void)
{
    groupkey_device nobody = {0}, device, again;
    groupkey_settings settings = settings_of("skdc");
    groupkey_memory_use before, after;
    EXPECT(groupkey_destroy(nobody), GROUPKEY_ERROR_NO_SUCH_DEVICE);
    nobody.id = UINT32_MAX;
    EXPECT(groupkey_rekey(nobody, 1), GROUPKEY_ERROR_NO_SUCH_DEVICE);
    EXPECT(groupkey_finish(), GROUPKEY_ERROR_DEVICES_LEFT);
    EXPECT(groupkey_member(&settings, 1, &device), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_destroy(device), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_memory(&before), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_destroy(device), GROUPKEY_ERROR_NO_SUCH_DEVICE);
    EXPECT(groupkey_catch_up(device, 1), GROUPKEY_ERROR_NO_SUCH_DEVICE);
    EXPECT(groupkey_forget(device, 0), GROUPKEY_ERROR_NO_SUCH_DEVICE);
    EXPECT(groupkey_receive(device, message, 1, 1), GROUPKEY_ERROR_NO_SUCH_DEVICE);
    /* Its place is taken by others, whose handles are never the same. */
    for (uint32_t round = 0; round < 200000; round++) {
        EXPECT(groupkey_member(&settings, 1, &again), GROUPKEY_ERROR_NONE);
        check(again.id != device.id && again.id != 0, "a handle came back");
        check(groupkey_destroy(device) == GROUPKEY_ERROR_NO_SUCH_DEVICE, "an old handle is taken");
        EXPECT(groupkey_destroy(again), GROUPKEY_ERROR_NONE);
    }
    EXPECT(groupkey_memory(&after), GROUPKEY_ERROR_NONE);
    check(after.used < before.used + 1024, "destroyed devices take memory");
}

static void texts(void)
{
    char id[32];
    for (int code = -1000; code < 1000; code++)
        check(strlen(groupkey_error_text(code)) > 5, "a code has no text");
    check(strcmp(groupkey_error_text(0), "no error") == 0, "another text");
    EXPECT(groupkey_scheme(0, id, 4), GROUPKEY_ERROR_BUFFER_TOO_SMALL);
    EXPECT(groupkey_scheme(0, NULL, 32), GROUPKEY_ERROR_BAD_POINTER);
    EXPECT(groupkey_scheme(0, id, sizeof id), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_scheme(SIZE_MAX, id, sizeof id), GROUPKEY_ERROR_EMPTY);
}

/* Secrets of destroyed devices are not in the pool any more. */
static void end(void)
{
    uint8_t key[16];
    uint64_t epoch;
    int found = 0;
    EXPECT(groupkey_group_key(members[0], key, &epoch), GROUPKEY_ERROR_NONE);
    for (size_t index = 0; index + 16 <= sizeof memory; index++)
        found += memcmp(memory + index, key, 16) == 0;
    check(found > 0, "the check is blind");
    EXPECT(groupkey_destroy(controller), GROUPKEY_ERROR_NONE);
    for (int number = 0; number < 3; number++)
        EXPECT(groupkey_destroy(members[number]), GROUPKEY_ERROR_NONE);
    for (size_t index = 0; index + 16 <= sizeof memory; index++)
        check(memcmp(memory + index, key, 16) != 0, "a group key is left");
    for (size_t index = 0; index + 32 <= sizeof memory; index++)
        check(memcmp(memory + index, mac_key, 32) != 0, "a MAC key is left");
    EXPECT(groupkey_finish(), GROUPKEY_ERROR_NONE);
    EXPECT(groupkey_finish(), GROUPKEY_ERROR_NOT_INITIALISED);
    for (size_t index = 0; index < 4096; index++)
        check(memory[index] == 0 && memory[sizeof memory - 1 - index] == 0, "memory around the pool changed");
}

int main(void)
{
    texts();
    before_and_after_init();
    settings();
    deployment();
    operation();
    restart();
    handles();
    end();
    printf("end\n");
    return 0;
}
