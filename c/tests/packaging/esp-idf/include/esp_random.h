/* Stands for the header of ESP-IDF. */
#include <stddef.h>
void esp_fill_random(void *buf, size_t len);
