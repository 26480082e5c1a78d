/* Where the cells of the field `height` lie that analyses are handed, for programs in C and Fortran that compare it with
 * where their own cells lie. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Puts an analysis that looks at places in the place of functions in Python; before sidestream_open. */
void handed_install(void);
/* Cells of this rank that it was handed last, and where one of them lies; NULL: it was not handed that cell. */
size_t handed_count(void);
const void *handed_cell(int64_t x, int64_t y, int64_t z);

#ifdef __cplusplus
}
#endif
