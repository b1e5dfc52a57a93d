/* What groupkey_init needs of an ESP32. */
#ifndef GROUPKEY_ESP_H
#define GROUPKEY_ESP_H

#include "groupkey.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Random bytes of the chip. They are of cryptographic quality only while Wi-Fi or Bluetooth is on, or
 * between bootloader_random_enable and bootloader_random_disable.
 */
int groupkey_esp_random(void *context, uint8_t *bytes, size_t length);

/* Says why on the console, and restarts the chip. */
void groupkey_esp_fatal(groupkey_error error);

#ifdef __cplusplus
}
#endif

#endif
