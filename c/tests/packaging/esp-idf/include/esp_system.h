/* Stands for the header of ESP-IDF. */
void esp_system_abort(const char *details) __attribute__((noreturn));
