"""Names that GluonCV, GluonNLP and other packages built on MXNet take from it beyond its documented ones."""

import io
from multiprocessing.pool import ThreadPool
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import hybrid as mx
from hybrid.gluon.data import dataloader


@pytest.mark.parametrize("namespace", [mx.nd.contrib, mx.sym.contrib], ids=["nd", "sym"])
def test_a_namespace_of_operators_lists_them_in_its_dict(namespace):
    assert "box_decode" in namespace.__dict__
    assert "no_such_operator" not in namespace.__dict__
    assert namespace.__dict__["box_decode"] is namespace.box_decode
    assert "box_decode" in dir(namespace)


def test_attributes_of_a_node_may_be_any_objects():
    weights = mx.init.Xavier()
    made = mx.sym.Convolution(mx.sym.var("x"), num_filter=1, kernel=(1, 1), name="c", attr={"__init__": weights})
    assert made.attr_dict()["c_weight"]["__init__"] == str(weights)
    assert mx.sym.Activation(mx.sym.var("x"), act_type="relu", attr={"lr_mult": 2}).attr("__lr_mult__") == "2"


def test_addresses_are_those_of_the_published_files():
    url = mx.gluon.utils._get_repo_file_url("gluon/dataset/wikitext-2", "wikitext-2-v1.zip")
    assert url.endswith(".amazonaws.com/gluon/dataset/wikitext-2/wikitext-2-v1.zip")
    assert url.startswith(mx.gluon.utils._get_repo_url())


def test_a_package_may_add_its_own_published_networks():
    store = mx.gluon.model_zoo.model_store
    store._model_sha1.update({"test_net": "0123456789abcdef"})
    assert store.short_hash("test_net") == "01234567"
    del store._model_sha1["test_net"]


def test_interpolation_by_sizes():
    assert mx.image._get_interp_method(9, (10, 10, 20, 20)) == 2
    assert mx.image._get_interp_method(9, (20, 20, 10, 10)) == 3


@pytest.mark.parametrize("dtype", ["int32", np.int32, np.dtype("int32")])
def test_a_choice_of_dtypes_may_be_given_as_a_type(dtype):
    drawn = mx.nd.sample_multinomial(mx.nd.array([[0.0, 1.0]]), dtype=dtype)
    assert drawn.dtype == np.int32
    with pytest.raises(mx.MXNetError, match="is not one of"):
        mx.nd.sample_multinomial(mx.nd.array([[0.0, 1.0]]), dtype=np.complex64)


class Doubled(mx.gluon.Parameter):
    """As GluonNLP's WeightDropParameter: takes over another one's arrays, and gives them out changed."""

    def __init__(self, other):
        super().__init__(other.name, shape=other.shape)
        self._var, self._data, self._grad = other._var, other._data, other._grad
        self._ctx_list, self._ctx_map = other._ctx_list, other._ctx_map

    def data(self, ctx=None):
        """Twice the values."""
        return self._check_and_get(self._data, ctx) * 2


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_parameter_may_be_replaced_by_one_that_changes_its_values(hybrid):
    net = mx.gluon.nn.Dense(2, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    doubled = Doubled(net.weight)
    net.params._params[doubled.name] = net._reg_params["weight"] = doubled
    object.__setattr__(net, "weight", doubled)
    net.hybridize(hybrid)
    np.testing.assert_array_equal(net(mx.nd.ones((1, 2))).asnumpy(), [[4, 4]])


def _pickled(indices, batchify_fn, dataset):
    buffer = io.BytesIO()
    ForkingPickler(buffer, 4).dump(batchify_fn([mx.nd.full((2,), i) for i in indices]))
    return buffer.getvalue()


def _plain(indices, batchify_fn, dataset):
    return batchify_fn([dataset[i] for i in indices])


@pytest.mark.parametrize("pinned", [False, True])
def test_an_iterator_over_the_batches_of_a_pool(pinned):
    with ThreadPool(2) as pool:
        batches = dataloader._MultiWorkerIter(
            pool, mx.gluon.data.dataloader.default_batchify_fn, [[0, 1], [2]], pinned, worker_fn=_pickled, prefetch=1
        )
        assert len(batches) == 2
        np.testing.assert_array_equal(next(batches).asnumpy(), [[0, 0], [1, 1]])
        last = batches.next()
        np.testing.assert_array_equal(last.asnumpy(), [[2, 2]])
        assert (last.context.device_type == "cpu_pinned") is pinned
        with pytest.raises(StopIteration):
            next(batches)


def test_an_iterator_over_the_batches_of_threads():
    with ThreadPool(1) as pool:
        batches = dataloader._MultiWorkerIter(pool, list, [[1], [0]], worker_fn=_plain, prefetch=2, dataset=["a", "b"])
        assert list(batches) == [["b"], ["a"]]
        with pytest.raises(TypeError, match="worker_fn"):
            dataloader._MultiWorkerIter(pool, list, [[1]])


def _lists(dtype):
    draw = np.random.RandomState(0)

    def pair(kind=np.float32):
        return [mx.nd.array(draw.randn(3, 2), dtype=kind), mx.nd.array(draw.randn(4), dtype=kind)]

    return pair(dtype), pair(dtype), pair(), [array**2 for array in pair()]


ADAMW = ([0.1, 0.2], [0.01, 0.02], [1, 0.5])
LAMB = ([1, 2], [0.1, 0.2], [0.01, 0.02])


# sums of each new weight, mean, var and float32 weight, from MXNet 1.9.1
@pytest.mark.parametrize(
    ("name", "arguments", "more", "wanted"),
    [
        (
            "multi_adamw_update",
            (0.5, *ADAMW),
            {"beta1": 0.8, "clip_gradient": 1.0},
            [7.47504, 0.408876, -0.443512, 2.36336, 5.01996, 3.19832],
        ),
        (
            "multi_mp_adamw_update",
            (mx.nd.array([0.5]), *ADAMW),
            {"size": 2},
            [7.68909, 0.316925, -0.702606, 2.61204, 5.01996, 3.19832, 7.68846, 0.317184],
        ),
        (
            "multi_lamb_update",
            LAMB,
            {"rescale_grad": 0.5},
            [6.57314, 0.809657, -0.702611, 2.61204, 5.01996, 3.19832],
        ),
        (
            "multi_mp_lamb_update",
            LAMB,
            {},
            [6.56396, 0.807739, -0.539673, 2.64943, 5.02224, 3.20064, 6.56316, 0.807418],
        ),
    ],
)
def test_updates_of_several_weights(name, arguments, more, wanted):
    lists = _lists("float16" if "_mp_" in name else "float32")
    if "_mp_" in name:
        lists += ([weight.astype("float32") for weight in lists[0]],)
    getattr(mx.nd.contrib, name)(*lists, *arguments, out=lists[0], **more)
    sums = [array.asnumpy().astype("float64").sum() for arrays in (lists[0], *lists[2:]) for array in arrays]
    np.testing.assert_allclose(sums, wanted, rtol=1e-5)
