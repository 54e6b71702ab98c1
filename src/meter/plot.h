/* SPDX-License-Identifier: Apache-2.0 */
/* Curves over positive numbers as SVG, both axes logarithmic. */
#ifndef KN_METER_PLOT_H
#define KN_METER_PLOT_H

#include "base/text.h"

typedef struct kn_curve {
    const char *name;
    const double *x, *y; /* positive; others are left out */
    size_t n;
    unsigned colour; /* number of a colour of the palette: curves that belong together share it */
    bool dashed;
} kn_curve;

typedef struct kn_panel {
    const char *title, *x_label, *y_label; /* y_label: with the unit */
    const kn_curve *curves;
    size_t n;
} kn_panel;

/* Panels side by side with one legend each. */
void kn_plot_svg(kn_text *t, const kn_panel *panels, size_t n);

#endif
