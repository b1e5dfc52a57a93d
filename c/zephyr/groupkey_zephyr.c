#include "groupkey_zephyr.h"

#include <zephyr/kernel.h>
#include <zephyr/random/random.h>

int groupkey_zephyr_random(void *context, uint8_t *bytes, size_t length)
{
    ARG_UNUSED(context);
    return sys_csrand_get(bytes, length);
}

void groupkey_zephyr_fatal(groupkey_error error)
{
    printk("groupkey: %s\n", groupkey_error_text(error));
    k_panic();
}
