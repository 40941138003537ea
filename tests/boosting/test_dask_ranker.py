"""Objectives on two Dask workers, which are processes."""

import numpy as np
import pytest

import skgraded as sg
from skgraded.datasets import make_ranking
from skgraded.lightgbm import objective

distributed = pytest.importorskip("distributed")
dask_array = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# LightGBM's own: the workers' ports, and parameters that a Dask estimator sets itself
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_each_worker_has_gradients_of_its_own_queries(client):
    from lightgbm import DaskLGBMRanker

    X, y, qid = make_ranking(n_queries=60, random_state=0)
    y = np.exp(y)
    sizes = np.bincount(qid)
    rows = (sizes[:40].sum(), sizes[40:].sum())
    parts = [dask_array.from_array(values, chunks=chunks) for values, chunks in (
        (X, (rows, X.shape[1])), (y, (rows,)), (sizes, ((40, 20),)),
    )]
    ranker = DaskLGBMRanker(
        client=client, objective=objective("mu_map"), metric="None", n_estimators=20,
        min_child_samples=5, verbose=-1,
    ).fit(*parts[:2], group=parts[2])
    scores = ranker.to_local().predict(X)
    assert sg.MuAP()(y, scores, qid=qid) > sg.MuAP()(y, 0 * y, qid=qid) + 0.1
