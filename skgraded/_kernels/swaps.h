// Loops over the pairs of a document with all documents below it, which the compiler vectorizes as
// in loops.h. Arrays have LANES more elements than documents, where swaps are 0 and add nothing.
// Sums consist of LANES parts, in an order that is the same on all processors.
#ifndef SKGRADED_SWAPS_H
#define SKGRADED_SWAPS_H

#include <cmath>

#include "loops.h"

enum { LANES = 8 };

static inline double sum_of_lanes(const double* parts) {
    return ((parts[0] + parts[4]) + (parts[1] + parts[5]))
        + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
}

// The documents of a query in ranked order.
struct RankedQuery {
    ptrdiff_t n, k;  // k: number of ranks that count
    double* scores;  // halved
    double* powers;  // exp(sigmoid · score), up to a common factor
    double* gradients;
    double* hessians;
    double* swaps;  // deltas of swapping one document with each document below it
    double* weights;
    double* discount;  // 0 beyond k; for PAIR, 1 / rank
    // PAIR: for each document with weight w, Σ min(w_j, w) over the documents j above it, and the
    // same sum of min(w_j, w) · discount.
    double* above;
    double* above_discounted;
    // The same sums over the documents above the document at a, whose swaps are computed. The
    // second sum includes the document at a.
    double* upto;
    double* upto_discounted;
    // For each document below a, the same sums over the documents above it, with the weight at a as
    // w. The second sum includes only documents below a.
    double* own;
    double* own_discounted;
};

// Deltas of Σ discount · weight for swapping the document at a with each document below it.
FOR_PROCESSORS [[maybe_unused]] static void linear_swaps(const RankedQuery* ranked, ptrdiff_t a) {
    const double* weights = ranked->weights;
    const double* discount = ranked->discount;
    double* swaps = ranked->swaps;
    double weight = weights[a], at_a = discount[a];
    VECTORS
    for (ptrdiff_t b = a + 1; b < ranked->n; b++)
        swaps[b] = (weight - weights[b]) * (discount[b] - at_a);
}

// `own` and `own_discounted` for the weight x of the document at a.
static inline void sums_of_own(const RankedQuery* ranked, ptrdiff_t a) {
    const double* weights = ranked->weights;
    const double* discount = ranked->discount;
    double* own = ranked->own;
    double* discounted = ranked->own_discounted;
    double x = weights[a], sum = ranked->upto[a] + x, sum_discounted = 0.0;
    for (ptrdiff_t b = a + 1; b < ranked->n; b += 4) {  // weights beyond n are 0
        double s[4], d[4];
        for (int i = 0; i < 4; i++) {
            s[i] = weights[b + i] < x ? weights[b + i] : x;
            d[i] = s[i] * discount[b + i];
        }
        own[b] = sum;
        own[b + 1] = sum + s[0];
        own[b + 2] = sum + (s[0] + s[1]);
        own[b + 3] = sum + ((s[0] + s[1]) + s[2]);
        sum += (s[0] + s[1]) + (s[2] + s[3]);
        discounted[b] = sum_discounted;
        discounted[b + 1] = sum_discounted + d[0];
        discounted[b + 2] = sum_discounted + (d[0] + d[1]);
        discounted[b + 3] = sum_discounted + ((d[0] + d[1]) + d[2]);
        sum_discounted += (d[0] + d[1]) + (d[2] + d[3]);
    }
}

// Deltas of Σ_p (1/p) Σ_{j≤p} min(w_j, w_p) for swapping the document at a < k, with weight x, and
// each document at b below it, with weight y. Let P_q(v) = Σ_{j≤q} min(w_j, v) and
// H_q(v) = Σ_{j≤q} min(w_j, v) / j, with ranks from 1 and without terms beyond rank k. The delta is
//     (P_{a-1}(y) + y - P_{a-1}(x) - x) / a + (H_{b-1} - H_a)(y) - (H_{b-1} - H_a)(x)
//     + (P_{b-1}(x) + min(x, y) - P_{b-1}(y) - y) / b
FOR_PROCESSORS [[maybe_unused]] static void pair_swaps(const RankedQuery* ranked, ptrdiff_t a) {
    sums_of_own(ranked, a);
    const double* weights = ranked->weights;
    const double* discount = ranked->discount;
    const double* above = ranked->above;
    const double* above_discounted = ranked->above_discounted;
    const double* own = ranked->own;
    const double* own_discounted = ranked->own_discounted;
    double* upto = ranked->upto;
    double* upto_discounted = ranked->upto_discounted;
    double* swaps = ranked->swaps;
    double x = weights[a], before = upto[a] + x, at_a = discount[a];
    VECTORS
    for (ptrdiff_t b = a + 1; b < ranked->n; b++) {
        double y = weights[b], smaller = x < y ? x : y;
        upto_discounted[b] += smaller * at_a;
        double swap = (upto[b] + y - before) * at_a
            + (above_discounted[b] - upto_discounted[b] - own_discounted[b])
            + (own[b] + smaller - above[b] - y) * discount[b];
        swaps[b] = x == y ? 0.0 : swap;
        upto[b] += smaller;
    }
}

// Add the gradients and hessians of the pairs of the document at a with each document below it, up
// to a factor of the whole query. Two documents are pushed apart by |swap| · p, divided by
// `base + slope · (score difference)`, where p is the logistic probability of their wrong order.
// Returns the sum of these pushes.
FOR_PROCESSORS [[maybe_unused]] static double push_pairs(
    const RankedQuery* ranked, ptrdiff_t a, double base, double slope
) {
    const double* scores = ranked->scores;
    const double* powers = ranked->powers;
    const double* swaps = ranked->swaps;
    double* gradients = ranked->gradients;
    double* hessians = ranked->hessians;
    double score = scores[a], power = powers[a];
    double gradient[LANES] = {}, hessian[LANES] = {}, pushes[LANES] = {};
    for (ptrdiff_t first = a + 1; first < ranked->n; first += LANES) {
        VECTORS
        for (int i = 0; i < LANES; i++) {
            ptrdiff_t b = first + i;
            double swap = swaps[b], other = powers[b], both = power + other;
            double share = swap / ((base + slope * (score - scores[b])) * both * both);
            double push = share * both * (swap < 0.0 ? other : power);
            double curve = std::fabs(share) * power * other;
            gradients[b] -= push;
            hessians[b] += curve;
            gradient[i] += push;
            hessian[i] += curve;
            pushes[i] += std::fabs(push);
        }
    }
    gradients[a] += sum_of_lanes(gradient);
    hessians[a] += sum_of_lanes(hessian);
    return sum_of_lanes(pushes);
}

#endif
