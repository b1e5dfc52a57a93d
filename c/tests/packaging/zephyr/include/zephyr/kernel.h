/* Stands for the header of Zephyr. */
#include <stdio.h>
#define ARG_UNUSED(x) (void)(x)
#define printk printf
void k_panic(void);
