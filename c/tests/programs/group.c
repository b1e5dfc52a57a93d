#include "group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 1 + MOST_SUBGROUPS + MOST_MEMBERS, MOST_SUBSETS = 16, LONGEST = 1 << 17 };

struct device {
    groupkey_device handle;
    groupkey_address address;
    int is_member_now;
    int is_former;
    uint32_t subsets[MOST_SUBSETS];
    size_t subset_count;
};

static struct device devices[MOST_DEVICES];
static size_t device_count;
static const struct plan *plan;
static struct outcome *outcome;
static uint64_t draws, now;
static int is_unsupported;
static uint8_t message[LONGEST];

void fail(const char *what, const char *more)
{
    printf("FAILED: %s: %s\n", what, more);
    exit(1);
}

/* NOT random: the same bytes in every run. */
static int made_up(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    draws++;
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(draws * 167 + (draws >> 8) * 31 + i * 13);
    return 0;
}

static void hash(const uint8_t *bytes, size_t length)
{
    /* FNV-1a. */
    for (size_t i = 0; i < length; i++)
        outcome->hash = (outcome->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
}

/* Notes the end of a call. Returns whether the run goes on. */
static int went(groupkey_error error, const char *call, uint32_t kind)
{
    if (plan->watch)
        plan->watch(call, kind);
    /* What a scheme does not have is left out. */
    is_unsupported |= error == GROUPKEY_ERROR_NO_SUCH_OPERATION;
    if (error != 0 && error != GROUPKEY_ERROR_NO_SUCH_OPERATION && outcome->error == 0) {
        outcome->error = error;
        outcome->call = call;
    }
    return outcome->error == 0;
}

static size_t place(const struct device *device, uint32_t subset)
{
    size_t index = 0;
    while (index < device->subset_count && device->subsets[index] != subset)
        index++;
    return index;
}

static void subscribe(struct device *device, uint32_t subset)
{
    size_t index = place(device, subset);
    if (index == MOST_SUBSETS)
        fail(plan->scheme, "a device has too many subsets for this test");
    device->subsets[index] = subset;
    device->subset_count += index == device->subset_count;
}

static void unsubscribe(struct device *device, uint32_t subset)
{
    size_t index = place(device, subset);
    if (index < device->subset_count)
        device->subsets[index] = device->subsets[--device->subset_count];
}

static int is_for(groupkey_address to, const struct device *device)
{
    if (to.kind == GROUPKEY_GROUP)
        return device->address.kind == GROUPKEY_MEMBER && device->is_member_now;
    if (to.kind == GROUPKEY_SUBSET)
        return place(device, to.number) < device->subset_count && !device->is_former;
    return to.kind == device->address.kind && to.number == device->address.number;
}

static void take_events(struct device *device)
{
    groupkey_event event;
    while (groupkey_next_event(device->handle, &event, message, sizeof message) == 0) {
        if (event.kind == GROUPKEY_EVENT_KIND_SUBSCRIBED)
            subscribe(device, event.subset);
        if (event.kind == GROUPKEY_EVENT_KIND_UNSUBSCRIBED)
            unsubscribe(device, event.subset);
        if (event.kind == GROUPKEY_EVENT_KIND_MESSAGE && memcmp(message, "slippery road", 13) != 0)
            fail(plan->scheme, "another message arrived than was sent");
    }
}

/* Offers the message altered, which must be refused, and then as it is. */
static int deliver(struct device *device, size_t length, int is_confidential)
{
    uint32_t kind = device->address.kind;
    if (!is_confidential) {
        message[length / 2] ^= 0x40;
        groupkey_error error = groupkey_receive(device->handle, message, length, now);
        message[length / 2] ^= 0x40;
        if (error == GROUPKEY_ERROR_OUT_OF_MEMORY)
            return went(error, "receive", kind);
        if (error == 0)
            fail(plan->scheme, "an altered message was taken");
    }
    groupkey_error error =
        is_confidential ? groupkey_receive_confidential(device->handle, message, length, now)
                        : groupkey_receive(device->handle, message, length, now);
    /* A message to several may say nothing to this one, or nothing new. */
    if (error == GROUPKEY_ERROR_NOTHING_FOR_US || error == GROUPKEY_ERROR_STALE_EPOCH)
        error = 0;
    return went(error, is_confidential ? "receive_confidential" : "receive", kind);
}

/* Carries messages until there are none. */
static int carry(void)
{
    static uint8_t copy[LONGEST];
    for (int quiet = 0; !quiet;) {
        quiet = 1;
        for (size_t from = 0; from < device_count; from++) {
            for (int is_confidential = 1; is_confidential >= 0; is_confidential--) {
                groupkey_address to;
                size_t length;
                groupkey_error error =
                    is_confidential
                        ? groupkey_next_confidential(devices[from].handle, &to, message, sizeof message, &length)
                        : groupkey_next_outgoing(devices[from].handle, &to, message, sizeof message, &length);
                if (error == GROUPKEY_ERROR_EMPTY)
                    continue;
                if (error != 0)
                    fail(plan->scheme, groupkey_error_text(error));
                quiet = 0;
                outcome->messages++;
                outcome->bytes += length;
                hash(message, length);
                memcpy(copy, message, length);
                for (size_t index = 0; index < device_count; index++) {
                    if (index == from || !is_for(to, &devices[index]))
                        continue;
                    memcpy(message, copy, length);
                    if (!deliver(&devices[index], length, is_confidential))
                        return 0;
                    take_events(&devices[index]);
                }
            }
        }
    }
    return 1;
}

static struct device *member(uint32_t number)
{
    for (size_t index = 0; index < device_count; index++)
        if (devices[index].address.kind == GROUPKEY_MEMBER && devices[index].address.number == number)
            return &devices[index];
    fail(plan->scheme, "there is no such member");
    return NULL;
}

static int has_controller(void)
{
    return devices[0].address.kind == GROUPKEY_CONTROLLER;
}

enum command { ENROLL, CREATE, ADD, REMOVE, REKEY };
static const char *const NAMES[] = {"enroll", "create", "add", "remove", "rekey"};

/* Gives a command to whom it concerns: the controller, or all members if there is none. */
static int order(enum command command, const uint32_t *numbers, size_t count)
{
    now += 1000000000;
    is_unsupported = 0;
    for (size_t index = 0; index < device_count; index++) {
        struct device *device = &devices[index];
        if (index > 0 && has_controller() && command != REKEY)
            break;
        if (device->address.kind == GROUPKEY_MEMBER && !device->is_member_now)
            continue;
        groupkey_error error =
            command == ENROLL   ? groupkey_enroll(device->handle, numbers, count, now)
            : command == CREATE ? groupkey_create(device->handle, numbers, count, now)
            : command == ADD    ? groupkey_add(device->handle, numbers[0], now)
            : command == REMOVE ? groupkey_remove(device->handle, numbers[0], now)
                                : groupkey_rekey(device->handle, now);
        /* A new period is for all parties in hybrid schemes, and in others for some. */
        if (command == REKEY && error == GROUPKEY_ERROR_WRONG_ROLE)
            error = 0;
        if (!went(error, NAMES[command], device->address.kind))
            return 0;
        take_events(device);
    }
    return carry();
}

/* All members have one key, if the scheme has a key for the group. */
static void compare_keys(void)
{
    uint8_t first[16], key[16];
    uint64_t epoch;
    int have = -1;
    /* Each subgroup of this scheme has a key of its own. */
    if (strcmp(plan->scheme, "iolus") == 0)
        return;
    for (size_t index = 0; index < device_count; index++) {
        if (devices[index].address.kind != GROUPKEY_MEMBER || !devices[index].is_member_now)
            continue;
        int has = groupkey_group_key(devices[index].handle, key, &epoch) == 0;
        if (have < 0) {
            have = has;
            memcpy(first, key, sizeof key);
        }
        if (has != have || (has && memcmp(first, key, sizeof key) != 0))
            fail(plan->scheme, "members disagree");
    }
    if (have == 1)
        hash(first, sizeof first);
}

static groupkey_error make_device(groupkey_settings *settings, groupkey_address address)
{
    struct device *device = &devices[device_count];
    uint8_t secret[32];
    memset(secret, (int)(address.kind * 64 + address.number + 1), sizeof secret);
    if (plan->is_signed)
        settings->signing_key = secret;
    groupkey_error error =
        address.kind == GROUPKEY_CONTROLLER ? groupkey_controller(settings, &device->handle)
        : address.kind == GROUPKEY_MEMBER
            ? groupkey_member(settings, address.number, &device->handle)
            : groupkey_subgroup_controller(settings, address.number, &device->handle);
    if (error == 0) {
        device->subset_count = 0;
        device->address = address;
        device->is_member_now = device->is_former = 0;
        device_count++;
    }
    if (error == GROUPKEY_ERROR_NO_SUCH_PARTY)
        error = 0;
    went(error, "make", address.kind);
    return error;
}

static int make_devices(uint32_t members)
{
    static groupkey_public_key_of public_keys[MOST_DEVICES];
    const groupkey_parameter parameter = {"subgroups", MOST_SUBGROUPS};
    uint8_t mac_key[32];
    memset(mac_key, 7, sizeof mac_key);
    groupkey_settings settings = {.scheme = plan->scheme, .suite = plan->suite, .group = 9, .most_members = members};
    settings.profile = plan->profile;
    memset(settings.instance, 5, sizeof settings.instance);
    if (!plan->is_signed)
        settings.mac_key = mac_key;
    for (uint32_t index = 0; index < 1 + MOST_SUBGROUPS + members; index++) {
        groupkey_public_key_of *public_key = &public_keys[index];
        uint32_t kind = index == 0                ? GROUPKEY_CONTROLLER
                        : index <= MOST_SUBGROUPS ? GROUPKEY_SUBGROUP_CONTROLLER
                                                  : GROUPKEY_MEMBER;
        uint32_t number = kind == GROUPKEY_MEMBER ? index - 1 - MOST_SUBGROUPS : index ? index - 1 : 0;
        uint8_t secret[32];
        memset(secret, (int)(kind * 64 + number + 1), sizeof secret);
        public_key->party = (groupkey_address){kind, number};
        groupkey_error error = groupkey_public_key(secret, public_key->key);
        if (plan->is_signed && error != 0)
            return went(error, "public_key", kind);
    }
    if (plan->is_merkle)
        settings.protection = GROUPKEY_PROTECTION_MERKLE;
    if (plan->is_signed) {
        settings.public_keys = public_keys;
        settings.public_key_count = 1 + MOST_SUBGROUPS + members;
    }
    /* Only hybrid schemes have this parameter. */
    settings.parameters = &parameter;
    settings.parameter_count = 1;
    groupkey_device probe;
    if (groupkey_member(&settings, 0, &probe) == GROUPKEY_ERROR_UNKNOWN_PARAMETER)
        settings.parameter_count = 0;
    else
        groupkey_destroy(probe);
    for (uint32_t index = 0; index < 1 + MOST_SUBGROUPS + members; index++) {
        make_device(&settings, public_keys[index].party);
        if (outcome->error != 0)
            return 0;
    }
    return 1;
}

static void act(void)
{
    uint32_t numbers[MOST_MEMBERS], count = plan->members, joining = count, leaving = count / 2;
    for (uint32_t number = 0; number <= count; number++)
        numbers[number] = number;
    if (!make_devices(count + 1))
        return;
    if (has_controller() && !order(ENROLL, numbers, count + 1))
        return;
    for (uint32_t number = 0; number < count; number++)
        member(number)->is_member_now = 1;
    if (!order(CREATE, numbers, count))
        return;
    compare_keys();
    member(joining)->is_member_now = 1;
    if (!order(ADD, &joining, 1))
        return;
    member(joining)->is_member_now = !is_unsupported;
    compare_keys();
    member(leaving)->is_member_now = 0;
    member(leaving)->is_former = 1;
    if (!order(REMOVE, &leaving, 1))
        return;
    member(leaving)->is_member_now = is_unsupported;
    member(leaving)->is_former = !is_unsupported;
    compare_keys();
    if (!order(REKEY, NULL, 0))
        return;
    compare_keys();
    struct device *sender = member(0);
    groupkey_error error =
        groupkey_send(sender->handle, (const uint8_t *)"slippery road", 13, now);
    /* Schemes that have keys for messages alone have none for the group. */
    if (error == GROUPKEY_ERROR_NOT_CREATED)
        error = 0;
    if (went(error, "send", GROUPKEY_MEMBER))
        carry();
}

static void end_program(groupkey_error error)
{
    fail(plan->scheme, groupkey_error_text(error));
}

struct outcome run_group(const struct plan *what, void *pool, size_t size)
{
    struct outcome ended = {.call = "", .hash = UINT64_C(0xcbf29ce484222325)};
    plan = what;
    outcome = &ended;
    device_count = 0;
    draws = 0;
    now = 0;
    ended.error = groupkey_init(pool, size, made_up, NULL, end_program);
    if (ended.error != 0) {
        ended.call = "init";
        return ended;
    }
    act();
    groupkey_memory_use memory;
    groupkey_memory(&memory);
    ended.peak = memory.peak;
    for (size_t index = 0; index < device_count; index++)
        if (groupkey_destroy(devices[index].handle) != 0)
            fail(plan->scheme, "a device cannot be destroyed");
    groupkey_error error = groupkey_finish();
    if (error != 0)
        fail(plan->scheme, "something is left in the pool");
    return ended;
}
