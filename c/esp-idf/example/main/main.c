/* Makes a member on an ESP32, and prints how much memory it takes. */
#include <stdio.h>

#include "bootloader_random.h"
#include "groupkey_esp.h"

static uint8_t pool[16 * 1024];

void app_main(void)
{
    uint8_t mac_key[32];
    groupkey_settings settings = {.scheme = "lkh-group", .group = 1, .mac_key = mac_key};
    groupkey_device member;
    groupkey_memory_use memory;

    /* Without the radio, the generator takes its entropy from the converter. */
    bootloader_random_enable();
    /* In a product all devices get the same key and instance at deployment. */
    groupkey_esp_random(NULL, mac_key, sizeof mac_key);
    groupkey_esp_random(NULL, settings.instance, sizeof settings.instance);
    groupkey_error error =
        groupkey_init(pool, sizeof pool, groupkey_esp_random, NULL, groupkey_esp_fatal);
    if (error == GROUPKEY_ERROR_NONE)
        error = groupkey_member(&settings, 0, &member);
    if (error == GROUPKEY_ERROR_NONE)
        error = groupkey_memory(&memory);
    if (error == GROUPKEY_ERROR_NONE)
        printf("a member takes %u bytes\n", (unsigned)memory.used);
    else
        printf("groupkey: %s\n", groupkey_error_text(error));
}
