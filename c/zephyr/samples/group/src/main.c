/* Makes a member, and prints how much memory it takes. */
#include <zephyr/kernel.h>

#include "groupkey_zephyr.h"

static uint8_t pool[16 * 1024];

int main(void)
{
    uint8_t mac_key[32];
    groupkey_settings settings = {.scheme = "lkh-group", .group = 1, .mac_key = mac_key};
    groupkey_device member;
    groupkey_memory_use memory;

    /* In a product all devices get the same key and instance at deployment. */
    if (groupkey_zephyr_random(NULL, mac_key, sizeof mac_key) != 0 ||
        groupkey_zephyr_random(NULL, settings.instance, sizeof settings.instance) != 0) {
        printk("there is no randomness\n");
        return 0;
    }
    groupkey_error error =
        groupkey_init(pool, sizeof pool, groupkey_zephyr_random, NULL, groupkey_zephyr_fatal);
    if (error == GROUPKEY_ERROR_NONE)
        error = groupkey_member(&settings, 0, &member);
    if (error == GROUPKEY_ERROR_NONE)
        error = groupkey_memory(&memory);
    if (error == GROUPKEY_ERROR_NONE)
        printk("a member takes %u bytes\n", (unsigned)memory.used);
    else
        printk("groupkey: %s\n", groupkey_error_text(error));
    return 0;
}
