#include "groupkey_esp.h"

#include "esp_random.h"
#include "esp_system.h"

int groupkey_esp_random(void *context, uint8_t *bytes, size_t length)
{
    (void)context;
    esp_fill_random(bytes, length);
    return 0;
}

void groupkey_esp_fatal(groupkey_error error)
{
    esp_system_abort(groupkey_error_text(error));
}
