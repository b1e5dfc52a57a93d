#include <stdio.h>
#include <stdlib.h>

#include "bootloader_random.h"
#include "esp_random.h"
#include "esp_system.h"

void app_main(void);

void bootloader_random_enable(void) {}

/* NOT random. */
void esp_fill_random(void *bytes, size_t length)
{
    for (size_t index = 0; index < length; index++)
        ((unsigned char *)bytes)[index] = (unsigned char)(index * 7 + 1);
}

void esp_system_abort(const char *details)
{
    puts(details);
    abort();
}

int main(void)
{
    app_main();
    return 0;
}
