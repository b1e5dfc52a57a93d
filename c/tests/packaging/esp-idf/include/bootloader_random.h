/* Stands for the header of ESP-IDF. */
void bootloader_random_enable(void);
