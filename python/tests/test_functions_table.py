"""docs/functions.md: the generator finds every public function, and takes no other function's name or test for it."""

import pathlib
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools/functions"
if not TOOLS.is_dir():
    pytest.skip("the sources are not here", allow_module_level=True)
pytest.importorskip("cxxheaderparser")
sys.path.insert(0, str(TOOLS))
table = pytest.importorskip("table")


@pytest.fixture(scope="module")
def made():
    rows, holes = table.rows()
    assert holes == []
    return {name: row for each in rows.values() for name, row in each.items()}


def test_names_that_several_functions_have(made):
    assert made["trace"][0] == "`make_program`" and made["linalg::trace"][0] == "`numpy.linalg.trace`"
    assert made["binomial"][0] == "`binomial`" and "test_random" not in made["binomial"][1]
    assert made["cond"][0] == "`lax.cond`" and "test_linalg" not in made["cond"][1]
    assert made["select_and_scatter"][0] == "`from_jax`"


def test_classes_and_constants_have_rows(made):
    assert made["stats::gamma"][0] == "`scipy.stats.gamma`" and made["random::gamma"][0] == "`random.gamma`"
    assert made["spatial::Rotation::as_euler"][0] == "`scipy.spatial.transform.Rotation.as_euler`"
    assert {"spatial::Slerp", "stats::GaussianKde", "interpolate::RegularGridInterpolator", "grad", "vmap", "custom_vjp"} <= made.keys()


def test_a_word_is_another_modules_where_its_name_stands_before():
    words = table.words_of('np.linalg.cond(a), random.binomial(k), x.at[0], "scan"')
    assert table.said("numpy.linalg.cond", words, True) and not table.said("lax.cond", words, True)
    assert table.said("random.binomial", words, False) and not table.said("binomial", words, True)
    assert table.said("lax.scan", words, True) and not table.said("lax.scan", words, False)
