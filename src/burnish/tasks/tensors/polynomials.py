"""exp and tanh as polynomials, after Moshier's Cephes library (exp.c, expf.c, tanhf.c).

For f64, exp is a Taylor series on |r| < 0.35.
"""

from __future__ import annotations

import math

EXP_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}  # beyond: 0 or infinity
EXP_POLYNOMIAL = {
    "f32": (
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        0.5,
        1.0,
        1.0,
    ),
    "f64": tuple(1 / math.factorial(i) for i in range(13, -1, -1)),
}
LN2_HIGH = 0.693145751953125  # log(2) without its last bits: products with small whole numbers are exact
LN2_LOW = 1.42860682030941723212e-6  # log(2) - LN2_HIGH
BIAS = {"f32": (127, 23), "f64": (1023, 52)}  # bias and position of the exponent's bits
ROUNDING = {"f32": 1.5 * 2**23, "f64": 1.5 * 2**52}  # x + this rounds x to a whole number, in the last bits
TANH_SMALL = 0.625  # below, tanh is a polynomial
TANH_POLYNOMIALS = {  # numerator and denominator
    "f32": (
        (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1),
        (),
    ),
    "f64": (
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
}
