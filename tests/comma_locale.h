/* SPDX-License-Identifier: Apache-2.0 */
/* Sets a locale whose decimal point is a comma; makes one in the build folder where none is installed. */
#ifndef KN_TESTS_COMMA_LOCALE_H
#define KN_TESTS_COMMA_LOCALE_H

#include "testing.h"

#include <locale.h>

#define COMMA_FOLDER KILN_BUILD_DIR "/tests/locale"

/* false (with a line that says why): there is none. */
static bool comma_locale(void)
{
    bool set = setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "de_DE.utf8");
    if (!set) {
        char command[1024];
        snprintf(command, sizeof command,
                 "cd '" KILN_BUILD_DIR "/tests' && mkdir -p locale && localedef -i de_DE -f UTF-8 ./de.%ld >/dev/null 2>&1 && mv -T de.%ld "
                 "locale/de_DE.UTF-8 2>/dev/null || rm -rf de.%ld",
                 (long)getpid(), (long)getpid(), (long)getpid());
        if (test_is_folder(COMMA_FOLDER "/de_DE.UTF-8") || system(command) != -1) {
            setenv("LOCPATH", COMMA_FOLDER, 1); /* what the C library did not find once it does not look for again */
            set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
        }
        unsetenv("LOCPATH");
    }
    if (!set) print_message("skipped: no locale de_DE.UTF-8, and localedef makes none\n");
    else assert_string_equal(localeconv()->decimal_point, ",");
    return set;
}

#endif
