/*
 * groupkey: group key management for devices. docs/c.md has a whole program.
 *
 * Nobody has reviewed the cryptography. Do not use it to protect anything that matters.
 *
 * One call at a time. Calls from several threads or tasks need a lock of the caller. A call that comes
 * while another one runs, from another thread, an interrupt or a callback, returns BUSY. (Processors
 * without an atomic swap, such as RV32IMC, notice interrupts and callbacks only.)
 *
 * Functions check pointers for null and alignment, and lengths, handles and all values. A pointer that
 * is not null must have as many items as its length says. No function keeps a pointer but the pool's.
 *
 * Memory comes from the pool alone, and is wiped when it is given back. A call that may need more than
 * the pool has left returns OUT_OF_MEMORY and changes nothing.
 */

#ifndef GROUPKEY_H
#define GROUPKEY_H

/* Made from the crate groupkey-c: change it there, and see tests/c/header.rs. */

#include <stddef.h>
#include <stdint.h>

// The key server. Its number is 0.
#define GROUPKEY_CONTROLLER 0

// A member, by its number.
#define GROUPKEY_MEMBER 1

// The controller of a subgroup, by the subgroup's number.
#define GROUPKEY_SUBGROUP_CONTROLLER 2

// All members (broadcast). The number is 0.
#define GROUPKEY_GROUP 3

// The parties that subscribed to a subset (multicast), by the subset's number.
#define GROUPKEY_SUBSET 4

// By the key that is there: a MAC, or a signature on each message.
#define GROUPKEY_PROTECTION_BY_KEY 0

// A MAC under one key of all devices: 16 bytes a message.
#define GROUPKEY_PROTECTION_MAC 1

// A signature on each message: 64 bytes.
#define GROUPKEY_PROTECTION_SIGNATURE 2

// One signature for all messages of a step, over a hash tree: 88 bytes a message, and 16 for each
// level of the tree. For controllers that send many messages at once.
#define GROUPKEY_PROTECTION_MERKLE 3

// The outcome of a call. A call that fails has changed nothing, except where it is said.
//
// From 100: how the library was called. From 200: a message was refused; do not branch on these, but
// on `SKIPPED_EPOCH` call `groupkey_catch_up`. From 300: the call makes no sense in the present
// state. From 400: the scheme does not have it.
enum groupkey_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The call succeeded.
  GROUPKEY_ERROR_NONE = 0,
  // Nothing is left to fetch.
  GROUPKEY_ERROR_EMPTY = 1,
  // The buffer is too short. The length that it needs was returned.
  GROUPKEY_ERROR_BUFFER_TOO_SMALL = 100,
  // The pool has less free memory than this call may take.
  GROUPKEY_ERROR_OUT_OF_MEMORY = 101,
  // The source of randomness failed.
  GROUPKEY_ERROR_NO_RANDOMNESS = 102,
  // Another call is running: only one at a time.
  GROUPKEY_ERROR_BUSY = 103,
  // `groupkey_init` was not called, or `groupkey_finish` was.
  GROUPKEY_ERROR_NOT_INITIALISED = 104,
  // `groupkey_init` was called before.
  GROUPKEY_ERROR_ALREADY_INITIALISED = 105,
  // A pointer is null or not aligned, or a length is impossible.
  GROUPKEY_ERROR_BAD_POINTER = 106,
  // The handle is of no device, or its device was destroyed.
  GROUPKEY_ERROR_NO_SUCH_DEVICE = 107,
  // The library has no such scheme, or was built without its family.
  GROUPKEY_ERROR_UNKNOWN_SCHEME = 108,
  // There is no such suite.
  GROUPKEY_ERROR_UNKNOWN_SUITE = 109,
  // There is no such profile.
  GROUPKEY_ERROR_UNKNOWN_PROFILE = 110,
  // The scheme has no such parameter.
  GROUPKEY_ERROR_UNKNOWN_PARAMETER = 111,
  // The value of a parameter is out of its range.
  GROUPKEY_ERROR_PARAMETER_OUT_OF_RANGE = 112,
  // The settings need a MAC key or a signing key, and not both, as their protection says.
  GROUPKEY_ERROR_ONE_KEY_NEEDED = 113,
  // A public key is not valid, or the library was built without signatures.
  GROUPKEY_ERROR_BAD_PUBLIC_KEY = 114,
  // An address that is not the address of one party.
  GROUPKEY_ERROR_BAD_ADDRESS = 115,
  // The scheme has no such party.
  GROUPKEY_ERROR_NO_SUCH_PARTY = 116,
  // Devices still exist.
  GROUPKEY_ERROR_DEVICES_LEFT = 117,
  // All handles were used.
  GROUPKEY_ERROR_HANDLES_USED_UP = 118,
  // The device has no group key yet.
  GROUPKEY_ERROR_NO_GROUP_KEY = 119,
  // The library panicked, which is a defect. Nothing can be done but `groupkey_finish`.
  GROUPKEY_ERROR_PANICKED = 120,
  // The message is not well-formed.
  GROUPKEY_ERROR_MALFORMED = 200,
  // The signature or MAC of the message does not verify.
  GROUPKEY_ERROR_FORGED = 201,
  // The message belongs to another group.
  GROUPKEY_ERROR_FOREIGN_GROUP = 202,
  // The message is addressed to another party.
  GROUPKEY_ERROR_NOT_FOR_US = 203,
  // The sender of the message may not send it.
  GROUPKEY_ERROR_UNEXPECTED_SENDER = 204,
  // The message is not expected in the current state.
  GROUPKEY_ERROR_UNEXPECTED_MESSAGE = 205,
  // The epoch of the message is over.
  GROUPKEY_ERROR_STALE_EPOCH = 206,
  // The device missed an epoch: call `groupkey_catch_up`.
  GROUPKEY_ERROR_SKIPPED_EPOCH = 207,
  // The message came over the wrong kind of channel.
  GROUPKEY_ERROR_WRONG_CHANNEL = 208,
  // A wrapped key does not open.
  GROUPKEY_ERROR_WRONG_KEY = 209,
  // The message is a replay, or came too late.
  GROUPKEY_ERROR_REPLAYED = 210,
  // The message does not answer the last request to catch up.
  GROUPKEY_ERROR_STALE_ANSWER = 211,
  // The message carries no key for this member.
  GROUPKEY_ERROR_NOTHING_FOR_US = 212,
  // A group element of the message is not valid.
  GROUPKEY_ERROR_INVALID_ELEMENT = 213,
  // The list of members in the message is not valid.
  GROUPKEY_ERROR_INVALID_ROSTER = 214,
  // The message was refused for another reason.
  GROUPKEY_ERROR_REFUSED = 299,
  // The member is in the group already, or is named twice.
  GROUPKEY_ERROR_ALREADY_MEMBER = 300,
  // The member is enrolled already.
  GROUPKEY_ERROR_ALREADY_ENROLLED = 301,
  // The group exists already.
  GROUPKEY_ERROR_ALREADY_CREATED = 302,
  // The group has not been created.
  GROUPKEY_ERROR_NOT_CREATED = 303,
  // The member must be enrolled first.
  GROUPKEY_ERROR_NOT_ENROLLED = 304,
  // The member is not in the group.
  GROUPKEY_ERROR_NOT_MEMBER = 305,
  // All counters of this key are used: change it first.
  GROUPKEY_ERROR_COUNTERS_USED_UP = 306,
  // The message is too long: send it in parts.
  GROUPKEY_ERROR_MESSAGE_TOO_LONG = 307,
  // An operation is still under way.
  GROUPKEY_ERROR_OPERATION_UNDER_WAY = 308,
  // A group needs at least two members.
  GROUPKEY_ERROR_TOO_FEW_MEMBERS = 309,
  // This party does not take this command.
  GROUPKEY_ERROR_WRONG_ROLE = 310,
  // The scheme needs the members' long-term keys, which this interface does not have.
  GROUPKEY_ERROR_NO_PEER_KEYS = 311,
  // The time for which keys were planned is over: make a new group.
  GROUPKEY_ERROR_SESSION_OVER = 312,
  // Signatures do not protect this group.
  GROUPKEY_ERROR_NO_IDENTITY = 313,
  // The batch names no member.
  GROUPKEY_ERROR_EMPTY_BATCH = 314,
  // The library was built without messages to the group.
  GROUPKEY_ERROR_NO_MESSAGES = 315,
  // The call is not possible now.
  GROUPKEY_ERROR_NOT_NOW = 399,
  // All places were given away: make a new group with a larger capacity.
  GROUPKEY_ERROR_CAPACITY_USED_UP = 400,
  // The scheme has no such operation.
  GROUPKEY_ERROR_NO_SUCH_OPERATION = 401,
  // The scheme's parameters do not allow so many members.
  GROUPKEY_ERROR_TOO_MANY_MEMBERS = 402,
  // Too many senders in one epoch: change the key first.
  GROUPKEY_ERROR_TOO_MANY_SOURCES = 403,
  // The scheme does not support this.
  GROUPKEY_ERROR_UNSUPPORTED = 499,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum groupkey_error groupkey_error;
#else
typedef int32_t groupkey_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What happened at a device.
enum groupkey_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The device has the group key of this epoch.
  GROUPKEY_EVENT_KIND_REKEYED = 1,
  // Another member sent a message to the group.
  GROUPKEY_EVENT_KIND_MESSAGE = 2,
  // The group continues without this device.
  GROUPKEY_EVENT_KIND_REMOVED = 3,
  // From now on, the device must receive messages to this subset.
  GROUPKEY_EVENT_KIND_SUBSCRIBED = 4,
  // The device no longer needs to receive messages to this subset.
  GROUPKEY_EVENT_KIND_UNSUBSCRIBED = 5,
  // The device has the key of a message.
  GROUPKEY_EVENT_KIND_MESSAGE_KEY = 6,
  // A later version of the library has more events.
  GROUPKEY_EVENT_KIND_OTHER = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum groupkey_event_kind groupkey_event_kind;
#else
typedef int32_t groupkey_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Fills `bytes` with `length` random bytes of cryptographic quality. Returns 0, or anything else if
// it cannot. It must not call the library.
typedef int (*groupkey_random)(void *context, uint8_t *bytes, size_t length);

// Ends the program, or resets the device: the library cannot continue. It must not return, and must
// not jump out of the call.
typedef void (*groupkey_fatal)(groupkey_error error);

// A parameter of a scheme, such as the degree of its key tree.
typedef struct groupkey_parameter {
  // Its name.
  const char *name;
  // Its value.
  uint32_t value;
} groupkey_parameter;

// A party, or several: where a message goes.
typedef struct groupkey_address {
  // `GROUPKEY_CONTROLLER` or another of these.
  uint32_t kind;
  // Which one of its kind.
  uint32_t number;
} groupkey_address;

// The public key of a party whose messages are accepted.
typedef struct groupkey_public_key_of {
  // The controller, a member or the controller of a subgroup.
  struct groupkey_address party;
  // Its Ed25519 key (RFC 8032).
  uint8_t key[32];
} groupkey_public_key_of;

// What a device is made of. Everything but the signing key must be the same at all devices of the
// group. The library keeps copies.
typedef struct groupkey_settings {
  // The scheme's id in the catalogue, such as "lkh-group".
  const char *scheme;
  // "sound", or "published" in a build with the feature `research`; null is "sound".
  const char *profile;
  // The suite, such as "constrained"; null is "standard".
  const char *suite;
  // Parameters that are not as the profile has them; null if there are none.
  const struct groupkey_parameter *parameters;
  // How many parameters.
  size_t parameter_count;
  // How many members the group has at most. A call must find memory for so many, except at members
  // of centralized and hybrid schemes. 0: as many as commands have named.
  uint32_t most_members;
  // The number of the group.
  uint64_t group;
  // New whenever the group is founded: 16 random bytes. They are not secret.
  uint8_t instance[16];
  // The key of the MAC: 32 random bytes that all devices have; null with signatures. Any device
  // can then send in the name of any other.
  const uint8_t *mac_key;
  // The key with which this device signs: 32 random bytes of its own; null with a MAC.
  const uint8_t *signing_key;
  // The public keys of the other devices; null with a MAC.
  const struct groupkey_public_key_of *public_keys;
  // How many public keys.
  size_t public_key_count;
  // `GROUPKEY_PROTECTION_BY_KEY` or another of these: how messages are protected. It must fit the
  // key that is there.
  uint32_t protection;
} groupkey_settings;

// A device: one party of a group. The handle of a destroyed device is refused. No device has the
// handle 0.
typedef struct groupkey_device {
  // Not for the caller.
  uint32_t id;
} groupkey_device;

// An event. Fields without a meaning for its kind are 0.
typedef struct groupkey_event {
  // What happened.
  groupkey_event_kind kind;
  // `REKEYED`: the epoch. `MESSAGE`: the epoch whose key encrypted the message.
  uint64_t epoch;
  // `MESSAGE`: the sender. It is proven with signatures; with a MAC any member may have sent it.
  uint32_t sender;
  // `SUBSCRIBED`, `UNSUBSCRIBED`: the subset.
  uint32_t subset;
  // `MESSAGE`: its length in bytes.
  size_t length;
} groupkey_event;

// Memory of the pool, in bytes, with what the allocator adds to each block.
typedef struct groupkey_memory_use {
  // In use now.
  size_t used;
  // The most that was in use since `groupkey_init`.
  size_t peak;
  // The most that the last call that may take memory took in addition.
  size_t call_peak;
  // How much had to be free for that call.
  size_t call_need;
} groupkey_memory_use;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Hands over a pool, from which all memory of the library comes. It is the library's until
// `groupkey_finish`.
//
// `random` fills a buffer with random bytes. `context` is for it alone. `fatal` is called if the
// library cannot continue: if it panics (without the feature `std`), or if the pool ends in the middle
// of a call. If it is null or returns, `abort` is called.
groupkey_error groupkey_init(void *pool,
                             size_t size,
                             groupkey_random random,
                             void *context,
                             groupkey_fatal fatal);

// Gives the pool back to the caller. All devices must be destroyed.
groupkey_error groupkey_finish(void);

// Makes a controller of a centralized or hybrid scheme.
groupkey_error groupkey_controller(const struct groupkey_settings *settings,
                                   struct groupkey_device *device);

// Makes a member.
groupkey_error groupkey_member(const struct groupkey_settings *settings,
                               uint32_t number,
                               struct groupkey_device *device);

// Makes the controller of a subgroup of a hybrid scheme.
groupkey_error groupkey_subgroup_controller(const struct groupkey_settings *settings,
                                            uint32_t number,
                                            struct groupkey_device *device);

// Wipes a device and gives its memory back to the pool. Its handle is refused from now on.
groupkey_error groupkey_destroy(struct groupkey_device device);

// Deployment phase, at the controller: gives each of these members an individual key.
// `groupkey_next_confidential` fetches the messages. `now` is the time in ns since an origin of the
// caller's choice. It must not go back.
groupkey_error groupkey_enroll(struct groupkey_device device,
                               const uint32_t *members,
                               size_t count,
                               uint64_t now);

// Makes a group of these members, at least two.
groupkey_error groupkey_create(struct groupkey_device device,
                               const uint32_t *members,
                               size_t count,
                               uint64_t now);

// Adds members and evicts others, all in one change of the key.
groupkey_error groupkey_batch(struct groupkey_device device,
                              const uint32_t *joining,
                              size_t joining_count,
                              const uint32_t *leaving,
                              size_t leaving_count,
                              uint64_t now);

// Adds a member to the group.
groupkey_error groupkey_add(struct groupkey_device device, uint32_t member, uint64_t now);

// Evicts a member from the group.
groupkey_error groupkey_remove(struct groupkey_device device, uint32_t member, uint64_t now);

// Changes the key though nobody joins or leaves.
groupkey_error groupkey_rekey(struct groupkey_device device, uint64_t now);

// Asks for changes that a member missed, after the error `SKIPPED_EPOCH`.
groupkey_error groupkey_catch_up(struct groupkey_device device, uint64_t now);

// Refuses all that a member says from now on. In a distributed scheme, call it at all devices when a
// member is evicted, and before a device joins or catches up.
groupkey_error groupkey_forget(struct groupkey_device device,
                               uint32_t member);

// Takes a message as it came over the transport. `groupkey_next_event` says what happened.
groupkey_error groupkey_receive(struct groupkey_device device,
                                const uint8_t *message,
                                size_t length,
                                uint64_t now);

// Takes a message that came over the confidential channel of the deployment phase.
groupkey_error groupkey_receive_confidential(struct groupkey_device device,
                                             const uint8_t *message,
                                             size_t length,
                                             uint64_t now);

// Copies a member's membership, to be kept where a restart finds it. It has the member's individual key,
// and not the group key, and is encrypted under `storage_key`: 16 bytes that this device alone has, for
// nothing else. It changes when the member gets another individual key, and never else.
//
// Returns `NOT_CREATED` if the member has no individual key yet, and `BUFFER_TOO_SMALL` if the buffer is
// too short. Then and on success, `length` is set.
groupkey_error groupkey_membership(struct groupkey_device device,
                                   const uint8_t *storage_key,
                                   uint8_t *buffer,
                                   size_t capacity,
                                   size_t *length);

// After a restart: gives a new member the membership that was kept. The group's key stays.
// `groupkey_next_outgoing` fetches the request for the key; `groupkey_catch_up` repeats it. Until the
// answer comes, the member takes nothing else.
//
// The member does not know which messages it has heard. So whoever operates the group counts
// resumptions, and tells all members (`groupkey_note_resumptions`). `resumptions` is the number of this
// one, from 1: the member then refuses recordings of earlier messages. With 0 it takes each once more.
groupkey_error groupkey_resume(struct groupkey_device device,
                               const uint8_t *storage_key,
                               const uint8_t *kept,
                               size_t length,
                               uint32_t resumptions,
                               uint64_t now);

// Tells a member how often members of the group have resumed. Its next message begins another session.
groupkey_error groupkey_note_resumptions(struct groupkey_device device,
                                         uint32_t count);

// Encrypts at most 65,535 bytes to the group (65,459 with signatures). `groupkey_next_outgoing`
// fetches the message.
groupkey_error groupkey_send(struct groupkey_device device,
                             const uint8_t *content,
                             size_t length,
                             uint64_t now);

// Fetches the oldest message to transmit, and where it goes. Takes no memory of the pool.
//
// Returns `EMPTY` if there is none, and `BUFFER_TOO_SMALL` if the buffer is too short: the message then
// remains. In both cases and on success, `length` is set (`EMPTY`: 0).
groupkey_error groupkey_next_outgoing(struct groupkey_device device,
                                      struct groupkey_address *to,
                                      uint8_t *buffer,
                                      size_t capacity,
                                      size_t *length);

// As `groupkey_next_outgoing`, for messages that need a confidential and authentic channel.
groupkey_error groupkey_next_confidential(struct groupkey_device device,
                                          struct groupkey_address *to,
                                          uint8_t *buffer,
                                          size_t capacity,
                                          size_t *length);

// Fetches the oldest event. The content of a `MESSAGE` goes to the buffer, which may be null before
// any other event. Takes no memory of the pool.
//
// Returns `EMPTY` if there is none, and `BUFFER_TOO_SMALL` if the buffer is too short: `event` is then
// set, and the event remains.
groupkey_error groupkey_next_event(struct groupkey_device device,
                                   struct groupkey_event *event,
                                   uint8_t *buffer,
                                   size_t capacity);

// Copies the group key (16 bytes) and its epoch. Wipe the copy after use.
groupkey_error groupkey_group_key(struct groupkey_device device, uint8_t *key, uint64_t *epoch);

// Fills `output` with `length` bytes (at most 8,160) that follow from the group key, for another protocol,
// and says which epoch it is. `label` is a text that states the purpose, and the context tells uses
// of one label apart. All members of the epoch get the same bytes. Wipe them after use.
groupkey_error groupkey_export(struct groupkey_device device,
                               const char *label,
                               const uint8_t *context,
                               size_t context_length,
                               uint8_t *output,
                               size_t length,
                               uint64_t *epoch);

// Computes the public key (32 bytes) of a signing key (32 bytes).
groupkey_error groupkey_public_key(const uint8_t *signing_key, uint8_t *public_key);

// Says how much memory of the pool is and was in use.
groupkey_error groupkey_memory(struct groupkey_memory_use *usage);

// Says what an error code means: one line of English, zero-terminated, which stays valid. May be
// called at any time.
const char *groupkey_error_text(int32_t error);

// Copies the id of a scheme that the library was built with, zero-terminated. The first has the index
// 0. Returns `EMPTY` after the last one. May be called at any time.
groupkey_error groupkey_scheme(size_t index,
                               char *buffer,
                               size_t capacity);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GROUPKEY_H */
