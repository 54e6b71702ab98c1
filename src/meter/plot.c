/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/plot.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 520, HEIGHT = 380, LEFT = 70, RIGHT = 110, TOP = 40, BOTTOM = 50, LEGEND = 18 };

/* Decades that a panel shows. */
typedef struct range {
    double from, to; /* powers of ten */
} range;

static range range_of(const kn_panel *p, bool of_y)
{
    range r = {INFINITY, -INFINITY};
    for (size_t c = 0; c < p->n; c++)
        for (size_t i = 0; i < p->curves[c].n; i++) {
            double v = of_y ? p->curves[c].y[i] : p->curves[c].x[i];
            if (!(v > 0) || isinf(v)) continue;
            r.from = fmin(r.from, floor(log10(v)));
            r.to = fmax(r.to, ceil(log10(v)));
        }
    if (!(r.from <= r.to)) r = (range){0, 1};
    if (r.to - r.from < 1) r.to = r.from + 1;
    return r;
}

static double at_x(range r, double v) { return (double)LEFT + (log10(v) - r.from) / (r.to - r.from) * (double)(WIDTH - LEFT - RIGHT); }
static double at_y(range r, double v) { return (double)(HEIGHT - BOTTOM) - (log10(v) - r.from) / (r.to - r.from) * (double)(HEIGHT - TOP - BOTTOM); }

static const char *colour(unsigned k)
{
    static const char *const palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}; /* told apart by the colour-blind too */
    return palette[k % (sizeof palette / sizeof *palette)];
}

static void put_text(kn_text *t, double x, double y, const char *anchor, const char *more, const char *text)
{
    kn_text_printf(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
    for (const char *c = text; *c; c++) {
        if (*c == '&') kn_text_add(t, "&amp;");
        else if (*c == '<') kn_text_add(t, "&lt;");
        else kn_text_char(t, *c);
    }
    kn_text_add(t, "</text>\n");
}

static void put_axes(kn_text *t, const kn_panel *p, range x, range y)
{
    char label[32], turned[64];
    for (double d = x.from; d <= x.to; d++) {
        double at = at_x(x, pow(10, d));
        kn_text_printf(t, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n", at, TOP, at, HEIGHT - BOTTOM);
        snprintf(label, sizeof label, "%g", pow(10, d));
        put_text(t, at, HEIGHT - BOTTOM + 16, "middle", "", label);
    }
    for (double d = y.from; d <= y.to; d++) {
        double at = at_y(y, pow(10, d));
        kn_text_printf(t, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, at, WIDTH - RIGHT, at);
        snprintf(label, sizeof label, "%g", pow(10, d));
        put_text(t, LEFT - 6, at + 4, "end", "", label);
    }
    put_text(t, (LEFT + WIDTH - RIGHT) / 2.0, 22, "middle", " font-weight=\"bold\"", p->title);
    put_text(t, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", "", p->x_label);
    snprintf(turned, sizeof turned, " transform=\"rotate(-90 16 %d)\"", (TOP + HEIGHT - BOTTOM) / 2);
    put_text(t, 16, (TOP + HEIGHT - BOTTOM) / 2.0, "middle", turned, p->y_label);
}

static void put_curve(kn_text *t, const kn_curve *c, range x, range y, size_t row)
{
    double legend = (double)(TOP + 14 + LEGEND * (int)row);
    const char *dashes = c->dashed ? " stroke-dasharray=\"5 4\"" : "";
    kn_text_printf(t, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour(c->colour), dashes);
    for (size_t i = 0; i < c->n; i++)
        if (c->x[i] > 0 && c->y[i] > 0) kn_text_printf(t, "%.1f,%.1f ", at_x(x, c->x[i]), at_y(y, c->y[i]));
    kn_text_add(t, "\"/>\n");
    for (size_t i = 0; i < c->n; i++)
        if (c->x[i] > 0 && c->y[i] > 0)
            kn_text_printf(t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"/>\n", at_x(x, c->x[i]), at_y(y, c->y[i]), colour(c->colour));
    kn_text_printf(t, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", WIDTH - RIGHT + 8, legend - 4, WIDTH - RIGHT + 30, legend - 4,
                   colour(c->colour), dashes);
    put_text(t, WIDTH - RIGHT + 35, legend, "start", "", c->name);
}

void kn_plot_svg(kn_text *t, const kn_panel *panels, size_t n)
{
    kn_text_printf(t, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", n * WIDTH, HEIGHT);
    kn_text_add(t, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    for (size_t k = 0; k < n; k++) {
        range x = range_of(&panels[k], false), y = range_of(&panels[k], true);
        kn_text_printf(t, "<g transform=\"translate(%zu 0)\">\n", k * WIDTH);
        put_axes(t, &panels[k], x, y);
        for (size_t c = 0; c < panels[k].n; c++) put_curve(t, &panels[k].curves[c], x, y, c);
        kn_text_add(t, "</g>\n");
    }
    kn_text_add(t, "</svg>\n");
}
