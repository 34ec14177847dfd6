"""A GRU that forecasts weekly CO2 at Mauna Loa 52 weeks ahead, beside persistence and last year plus drift; protocol
and numbers are those of examples/co2_forecaster.cpp. usage: co2_forecaster.py DATA.csv OUTPUT_FOLDER [most training
steps]; then gnuplot -e "dir='OUTPUT_FOLDER'" examples/co2.gp

The last five years are the test: nothing but the final scores looks at them. How many steps to train is chosen by the
five years before; then the model is trained anew on all that comes before the test."""

import pathlib
import sys

import numpy as np

import tenon as tn
import tenon.numpy as tnp

from co2_gru import EVERY, HISTORY, HORIZON, YEAR, forecasts, train

TEST, VALIDATION = 5 * YEAR, 5 * YEAR


def last_known(x):
    """Each element, or where it is NaN the last one that is not."""
    return x[np.maximum.accumulate(np.where(np.isfinite(x), np.arange(len(x)), 0))]


def main(data, out=None, most=600):
    co2 = np.genfromtxt(data, delimiter=",", skip_header=1)[:, 1]
    last_year = np.concatenate([np.full(YEAR, np.nan), last_known(co2)])
    rise, before = co2 - last_year[:len(co2)], len(co2) - TEST
    drift, deviation = np.nanmean(rise[:before]), np.nanstd(rise[:before])
    known = np.nan_to_num(last_known((rise - drift) / deviation))
    scaled = tnp.asarray(np.stack([known, np.isfinite(rise)], 1).astype(np.float32))
    after, run = lambda origins: origins[:, None] + 1 + np.arange(HORIZON), tn.jit(forecasts)
    rmse = lambda error, axis=None: np.sqrt(np.nanmean(error ** 2, axis))

    def ppm(model, origins):
        seen = scaled[origins[:, None] + 1 - HISTORY + np.arange(HISTORY)]
        return last_year[after(origins)] + drift + deviation * np.asarray(run(model, seen))

    models, choosing = train(scaled, before - VALIDATION, most)
    earlier = before - VALIDATION + np.arange(0, VALIDATION - HORIZON, 4)
    scores = [rmse(ppm(m, earlier) - co2[after(earlier)]) for m in models]
    steps = min(most, EVERY * (int(np.argmin(scores)) + 1))
    models, losses = train(scaled, before, steps)
    origins, shown = before + np.arange(0, TEST - HORIZON, 4), np.arange(before - VALIDATION, len(co2))
    end = np.array([len(co2) - 1])
    ahead, when = after(origins), lambda week: 1958.24 + 7 / 365.25 * week
    says, naive, last = ppm(models[-1], origins), last_year[ahead] + drift, last_year[origins + YEAR][:, None]
    errors = {"GRU": says - co2[ahead], "persistence": last - co2[ahead], "last year + drift": naive - co2[ahead]}
    files = {"choice": (np.minimum(EVERY * (1 + np.arange(len(scores))), most), scores),
             "data": (when(shown), co2[shown]),
             "forecast": (when(origins + HORIZON), says[:, -1], naive[:, -1]),
             "next": (when(after(end)[0]), ppm(models[-1], end)[0]),
             "errors": (1 + np.arange(HORIZON), *(rmse(e, 0) for e in errors.values())),
             "loss": (np.r_[1:most + 1, np.nan, 1:steps + 1], np.r_[choosing, np.nan, losses])}
    for name, columns in files.items() if out else ():
        pathlib.Path(out).mkdir(parents=True, exist_ok=True)
        np.savetxt(f"{out}/{name}.txt", np.stack(columns, 1))
    scores = {name: float(rmse(e)) for name, e in errors.items()}
    print(f"RMSE in ppm of five years, {steps} steps of training:", *(f"{k} {v:.4f}" for k, v in scores.items()))
    return choosing, losses, scores


if __name__ == "__main__":
    main(sys.argv[1], *sys.argv[2:3], *map(int, sys.argv[3:4]))
