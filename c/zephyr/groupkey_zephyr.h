/* What groupkey_init needs of Zephyr. */
#ifndef GROUPKEY_ZEPHYR_H
#define GROUPKEY_ZEPHYR_H

#include "groupkey.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Random bytes of Zephyr's generator of cryptographic quality. */
int groupkey_zephyr_random(void *context, uint8_t *bytes, size_t length);

/* Ends in Zephyr's handler of fatal errors. */
void groupkey_zephyr_fatal(groupkey_error error);

#ifdef __cplusplus
}
#endif

#endif
