"""A smaller program that fails as a given one does."""

import copy
import time

from program import FLOATS, NAMES, Stmt, blocks_of, dce, inline_copies, size_of


def minimise(b, fails, budget=120, log=None):
    """Greedy: results, then statements replaced by earlier values of the type or by constants."""
    end = time.time() + budget
    best = b
    dce(best)
    changed = True
    while changed and time.time() < end:
        changed = False
        # fewer results
        for i in range(len(best.results)):
            if len(best.results) < 2:
                break
            c = copy.deepcopy(best)
            del c.results[i]
            del c.result_types[i]
            dce(c)
            if fails(c):
                best = c
                changed = True
                break
        if changed:
            continue
        # an inner F value as the only result
        n_blocks = len(list(blocks_of(best)))
        for bi in range(n_blocks):
            blk = list(blocks_of(best))[bi]
            for si in range(len(blk.stmts) - 1, -1, -1):
                if time.time() > end:
                    return best
                s = blk.stmts[si]
                done = False
                cands = []
                # all outputs by constants; or by an argument of the same type; or (scalar) etc.
                env = dict(blk.params)
                for q in blk.stmts[:si]:
                    env.update(dict(q.outs))
                for repl in ("var", "const"):
                    c = copy.deepcopy(best)
                    cb = list(blocks_of(c))[bi]
                    cs = cb.stmts[si]
                    new, ok = [], True
                    for n, t in cs.outs:
                        if repl == "var":
                            m = [v for v, tt in env.items() if tt == t]
                            pref = [v for v in m if v in cs.args] or m
                            if not pref:
                                ok = False
                                break
                            new.append(Stmt([(n, t)], "{0}", [pref[-1]]))
                        else:
                            dt, sh = t
                            new.append(
                                Stmt(
                                    [(n, t)],
                                    "jnp.full(%r, %s, %s)"
                                    % (sh, "True" if dt == "b" else "0.7" if dt in FLOATS else "1", NAMES[dt]),
                                    [],
                                )
                            )
                    if not ok or (
                        not s.blocks
                        and len(s.args) <= 1
                        and (s.fmt == "{0}" or (repl == "const" and s.fmt.startswith("jnp.full")))
                    ):
                        continue
                    cb.stmts[si : si + 1] = new
                    inline_copies(c)
                    dce(c)
                    if size_of(c) < size_of(best) or repl == "const" and not s.fmt.startswith("jnp.full"):
                        cands.append(c)
                for c in cands:
                    if fails(c):
                        best = c
                        changed = done = True
                        if log:
                            log(size_of(best))
                        break
                if done:
                    break
            if changed:
                break
    return best
