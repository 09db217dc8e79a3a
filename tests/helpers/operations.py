"""An expression for each of CasADi's operations, and its definition in plain Python."""

import math

import casadi as ca

x, y, z = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("z")
OPERATIONS = {
    "ADD": (x + y, lambda a, b: a + b),
    "SUB": (x - y, lambda a, b: a - b),
    "MUL": (x * y, lambda a, b: a * b),
    "DIV": (x / y, lambda a, b: a / b),
    "INV": (1 / x, lambda a, b: 1 / a),
    "NEG": (-x, lambda a, b: -a),
    "SQ": (x**2, lambda a, b: a * a),
    "TWICE": (x + x, lambda a, b: 2 * a),
    "SQRT": (ca.sqrt(x), lambda a, b: math.sqrt(a)),
    "EXP": (ca.exp(x), lambda a, b: math.exp(a)),
    "LOG": (ca.log(x), lambda a, b: math.log(a)),
    "POW": (x**y, lambda a, b: a**b),
    "CONSTPOW": (x**2.7, lambda a, b: a**2.7),
    "SIN": (ca.sin(x), lambda a, b: math.sin(a)),
    "COS": (ca.cos(x), lambda a, b: math.cos(a)),
    "TAN": (ca.tan(x), lambda a, b: math.tan(a)),
    "ASIN": (ca.asin(x / 4), lambda a, b: math.asin(a / 4)),
    "ACOS": (ca.acos(x / 4), lambda a, b: math.acos(a / 4)),
    "ATAN": (ca.atan(x), lambda a, b: math.atan(a)),
    "ATAN2": (ca.atan2(-x, y), lambda a, b: math.atan2(-a, b)),
    "SINH": (ca.sinh(x), lambda a, b: math.sinh(a)),
    "COSH": (ca.cosh(x), lambda a, b: math.cosh(a)),
    "TANH": (ca.tanh(x), lambda a, b: math.tanh(a)),
    "FLOOR": (ca.floor(x), lambda a, b: math.floor(a)),
    "CEIL": (ca.ceil(x), lambda a, b: math.ceil(a)),
    "FABS": (ca.fabs(y - x), lambda a, b: abs(b - a)),
    "SIGN": (ca.sign(x - y), lambda a, b: (a > b) - (a < b)),
    "FMIN": (ca.fmin(x, y), min),
    "FMAX": (ca.fmax(x, y), max),
    "COPYSIGN": (ca.copysign(x, y - x), lambda a, b: math.copysign(a, b - a)),
    "LT": (x < y, lambda a, b: a < b),
    "LE": (x <= y, lambda a, b: a <= b),
    "EQ": (x == y, lambda a, b: a == b),
    "NE": (x != y, lambda a, b: a != b),
    "NOT": (ca.logic_not(x < y), lambda a, b: not a < b),
    "AND": (ca.logic_and(x < y, x < 1), lambda a, b: a < b and a < 1),
    "OR": (ca.logic_or(x < y, x < 1), lambda a, b: a < b or a < 1),
    "IF_ELSE_ZERO": (ca.if_else(x < y, ca.sqrt(x), 0), lambda a, b: math.sqrt(a) if a < b else 0.0),
}
