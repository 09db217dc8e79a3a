"""One arm's quantities by native code, by CasADi's own evaluation and by the oracle, and how far they are apart.

    apart = Comparison(arm, seed)
    apart.native()     # {("mass_matrix", "8 states at once"): 3e-16, ...}
    apart.oracle()     # {"mass_matrix": 2e-15, ...}
    apart.identities() # {"power": 1e-13, ...}

Each number is the largest difference as a part of the largest entry, or of the largest term of a sum.
"""

from functools import cache

import casadi as ca
import mpmath
import numpy as np
from every_option import part_file, state_of
from whole_oracle import Whole

import flexarm as fa
from flexarm.model import QUANTITIES
from flexarm.native.kernel import Kernel
from flexarm.native.precise import precise
from flexarm.native.program import Instruction, instructions
from flexarm.native.verification import evaluation

WIDTHS = ("one state", "8 states at once")
STATES = 9
"""Two blocks of eight lanes, the last of them with one state."""
ARGUMENTS = ("q", "qd", "s", "u", "w", "qdd", "v")
"""Arguments of all quantities. The oracle takes all but the last one."""
TOLERANCE = 1e-11
"""Of the largest entry: some ten thousand operations, two digits of which cancel."""
WORSE = 1000.0
"""How many times the rounding of CasADi's evaluation that of machine code may be; a fault is 1e7 times."""
STEPS = 12
"""Steps of the oracle along a segment, and Gauss points on other beams. The error of the steps falls with the
fourth power of what a step bends, which is small."""


class Comparison:
    """The quantities of one arm at random states."""

    def __init__(self, arm: fa.Arm, seed: int):
        self.arm, self.seed, self.model = arm, seed, fa.Model(arm)
        self.segmented = any(link.body.pieces or getattr(link.body, "curved", False) for link in arm.links)
        self._opinions: dict[int, Whole] = {}
        self._force = 0.0
        self._states = [state_of(arm, 100 * seed + k) for k in range(STATES)]

    # -- native code

    def together(self) -> tuple[ca.Function, dict[str, slice]]:
        """All quantities as one function of all arguments, and where each stands in its result."""
        symbols = {name: ca.SX.sym(name, len(x)) for name, x in self._states[0].items()}
        places, rows, end = {}, [], 0
        for name in QUANTITIES:
            y = self.model.laid_out(name)(*(symbols[a] for a in self.model.arguments(name)))
            places[name] = slice(end, end := end + y.numel())
            rows.append(y)
        y = ca.cse(ca.densify(ca.vertcat(*rows)))
        return ca.Function("together", list(symbols.values()), [y], list(symbols), ["y"]), places

    def native(self) -> dict[tuple[str, str], float]:
        """How far machine code for one state and for eight is from CasADi's own evaluation, by quantity and width.

        Where CasADi's evaluation is as far off itself, within a factor of `WORSE`, as one in 40 digits shows, the
        function is ill-conditioned and the difference counts as `TOLERANCE`.
        """
        function, places = self.together()
        x = np.array([np.concatenate([state[a] for a in ARGUMENTS]) for state in self._states])
        evaluate = evaluation(function)
        expected = np.array([evaluate(row) for row in x])
        kernel = Kernel(f"together {function.serialize()}", lambda: function)

        @cache
        def program():
            return instructions(function)

        @cache
        def exact(k):
            return in_many_digits(program(), x[k])

        found = {WIDTHS[0]: np.array([kernel.one(row) for row in x]), WIDTHS[1]: kernel.many(x)}
        off = {
            (name, width): np.array([apart(a, b) for a, b in zip(y[:, place], expected[:, place], strict=True)])
            for width, y in found.items()
            for name, place in places.items()
        }
        for (name, _), each in off.items():
            for k in np.flatnonzero(each > TOLERANCE):
                allowed = WORSE * apart(expected[k, places[name]], exact(k)[places[name]])
                each[k] = each[k] if each[k] > allowed else TOLERANCE
        return {key: float(each.max()) for key, each in off.items()}

    def alone(self, name: str) -> dict[tuple[str, str], float]:
        """The same for one quantity that is compiled by itself, called as everybody calls it."""
        names = self.model.arguments(name)
        many = [np.array([state[a] for state in self._states]) for a in names]
        evaluate = evaluation(self.model.laid_out(name))
        expected = np.array([evaluate(np.concatenate(row)) for row in zip(*many, strict=True)])
        one = np.array([self.model.evaluate(name, *(x[k] for x in many)) for k in range(STATES)])
        found = {WIDTHS[0]: one, WIDTHS[1]: self.model.evaluate(name, *many)}
        return {(name, width): apart(y.reshape(STATES, -1), expected) for width, y in found.items()}

    # -- the oracle

    def opinion(self, steps: int = STEPS) -> Whole:
        """The oracle's, with so many steps along a segment; raises `NotImplementedError` where it has none."""
        moved = self.arm.base is not None and not self.arm.free
        base = np.random.default_rng(self.seed).normal(size=(3, 3)) if moved else None
        return Whole(self.arm, part_file()[0], steps if self.segmented else 20, base)

    def oracle(self, size: float = 1.0, steps: int = STEPS) -> dict[str, float]:
        """How far CasADi's evaluation of every quantity is from the oracle, deflections times `size`."""
        if steps not in self._opinions:
            self._opinions[steps] = self.opinion(steps)
        other = self._opinions[steps]
        state = state_of(self.arm, 100 * self.seed, size)
        if other.base_motion:
            state["w"][-9:] = other.base_motion
        self.state = state
        expected, mine = other.values(*(state[a] for a in ARGUMENTS[:-1])), self.values(state)
        M, sizes = expected["mass_matrix"], np.abs(expected["mass_matrix"])
        # a sum is measured by its largest term, a solution by what is left when it is put in
        force = max(np.abs(expected[x]).max() for x in ("bias", "gravity_force", "stiffness_force", "damping_force"))
        # smaller deflections are measured by the forces of larger ones: the stiffness force falls with them
        force = self._force = max(force, (sizes @ np.abs(state["qdd"])).max(), self._force)
        found = {
            name: apart(mine[name], expected[name], force if name.endswith("_force") or name == "bias" else 0.0)
            for name in ("mass_matrix", "bias", "gravity_force", "stiffness_force", "restoring_force", "damping_force",
                         "input_matrix", "motors", "energy", "tip", "deflections")
        }  # fmt: skip
        found["inverse_dynamics"] = apart(mine["inverse_dynamics"], expected["inverse_dynamics"], force)
        found["frames"] = apart(mine["frames"].reshape(-1, 4, 4), expected["frames"])
        n, k, pose = other.n, len(self.arm.states), 7 * self.arm.free
        rate, residual = mine["state_rate"], mine["state_residual"]
        nq = len(state["q"])
        found["state_rate: pose"] = apart(rate[:nq], expected["pose"])
        found["state_rate: states"] = apart(rate[nq + n : nq + n + k], expected["s_dot"])
        found["state_rate: lost"] = apart(rate[-1:], expected["lost"], force)
        for name, qdd in (
            ("state_rate", rate[nq : nq + n]),
            ("forward_dynamics", mine["forward_dynamics"]),
            ("forward_dynamics_dense", mine["forward_dynamics_dense"]),
        ):
            left = M @ (qdd - expected["forward_dynamics"])
            found[name] = float(np.abs(left).max() / max(force, (sizes @ np.abs(qdd)).max()))
        found["state_residual"] = apart(residual[:n], expected["residual"], force)
        found["state_residual: states"] = apart(residual[n : n + k], expected["s_dot"])
        found["state_residual: pose"] = apart(residual[n + k : n + k + pose], expected["pose"][:pose])
        if "momentum" in expected:
            found["momentum"] = apart(mine["momentum"], expected["momentum"])
        if "prescribed acceleration" in expected:
            qdd = expected["prescribed acceleration"]
            force = max(force, (sizes @ np.abs(qdd)).max())
            left = M @ (mine["prescribed_rate"][nq : nq + n] - qdd)
            found["prescribed_rate"] = float(np.abs(left).max() / force)
            found["prescribed_force"] = apart(mine["prescribed_force"], expected["prescribed_force"], force)
            found["prescribed_rate: states"] = apart(
                mine["prescribed_rate"][nq + n : nq + n + k], expected["prescribed s_dot"]
            )
        observed = [expected["tip"][:3, 3], expected["energy"], expected["deflections"].ravel()]
        observed = np.concatenate([*observed, expected["input_matrix"].T @ state["qd"]])
        found["observed"] = apart(mine["observed"], observed)
        return found

    def values(self, state) -> dict[str, np.ndarray]:
        """All quantities by CasADi's own evaluation."""
        found = {}
        for name in QUANTITIES:
            values = np.array(self.model.function(name)(*(state[a] for a in self.model.arguments(name))))
            found[name] = (
                values.ravel() if values.shape[1] == 1 and name not in ("mass_matrix", "input_matrix") else values
            )
        found["frames"] = found["frames"].reshape(4, -1, 4).transpose(1, 0, 2)
        found["motors"] = found["motors"].reshape(-1, 2)
        return found

    # -- identities that every arm has

    def identities(self) -> dict[str, float]:
        """Recursion and dense solution agree, the residual vanishes on the motion, the balance of power is whole."""
        state = self._states[0]
        mine, n, nq, k = self.values(state), self.model.nv, self.model.nq, len(self.arm.states)
        M, rate = mine["mass_matrix"], mine["state_rate"]
        qdd = rate[nq : nq + n]
        size = max((np.abs(M) @ np.abs(qdd)).max(), np.abs(mine["stiffness_force"]).max())
        residual = np.array(
            self.model.function("state_residual")(
                *({**state, "qdd": qdd}[a] for a in self.model.arguments("state_residual"))
            )
        ).ravel()
        found = {
            "dense": float(np.abs(M @ (mine["forward_dynamics_dense"] - mine["forward_dynamics"])).max() / size),
            "residual": float(np.abs(residual[:n]).max() / size),
            "symmetry": apart(M, M.T),
        }
        x = [ca.SX.sym(a, len(state[a])) for a in self.model.arguments("energy")]
        E = ca.sum1(ca.vec(self.model.function("energy")(*x)))
        rates = {"q": rate[:nq], "qd": qdd, "s": rate[nq + n : nq + n + k]}
        directions = [rates[a] for a in self.model.arguments("energy")]
        terms = [ca.jtimes(E, each, ca.DM(v)) for each, v in zip(x, directions, strict=True)]
        values = np.array(
            ca.Function("E", x, [ca.vertcat(*terms)])(*(state[a] for a in self.model.arguments("energy")))
        )
        powers = [*values.ravel(), *rate[-2:]]
        found["power"] = abs(values.sum() - rate[-2] + rate[-1]) / max(map(abs, [*powers, size]))
        return found


def in_many_digits(program: list[Instruction], x: np.ndarray) -> np.ndarray:
    """The program's value by numbers of 40 digits, rounded."""
    with mpmath.workdps(40):
        return precise(program, x).astype(float)


def apart(found, expected, scale: float = 0.0) -> float:
    """The largest difference as a part of the largest entry; infinite where a value is not a number."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    if found.size != expected.size:
        raise ValueError(f"{found.shape} and {expected.shape} are compared")
    if not expected.size:
        return 0.0
    difference = np.abs(found.reshape(expected.shape) - expected)
    size = max(np.abs(expected).max(), scale)
    if np.isnan(difference).any():
        return 0.0 if np.array_equal(np.isnan(found.ravel()), np.isnan(expected.ravel())) else np.inf
    return float(difference.max() / size) if size else float(difference.max())
