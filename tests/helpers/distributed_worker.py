"""One worker of a distributed training, run in a separate process by `test_distributed`."""

import gc

import numpy as np

import skgraded as sg
from skgraded.datasets import make_ranking

ROUNDS = 3


def part(rank):
    """X, y and query ids of one worker; the first worker has five times the second's queries."""
    X, y, qid = make_ranking(n_queries=60, random_state=0)
    mine = (qid < 50) == (rank == 0)
    return X[mine], y[mine], qid[mine]


def error_of(train):
    """The error that a training run raises, as text."""
    try:
        train()
    except ValueError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def of_lightgbm(rank, forms):
    """The error of each form of training; `forms` maps it to the ports of the two workers."""
    return {form: _train_lightgbm(rank, form, ports) for form, ports in forms.items()}


def _train_lightgbm(rank, form, ports):
    import lightgbm as lgb

    from skgraded.lightgbm import eval_metric

    X, y, qid = part(rank)
    sizes = np.unique(qid, return_counts=True)[1]
    metric = eval_metric("ndcng@10")
    params = {"metric": "None", "verbose": -1, "num_threads": 1}
    network = {
        "machines": ",".join(f"127.0.0.1:{port}" for port in ports),
        "local_listen_port": ports[rank],
        "num_machines": 2,
    }

    def train():
        data = lgb.Dataset(X, y, group=sizes)
        ranking = params | {"objective": "lambdarank"}
        if form == "wrapped metric":
            lgb.train(
                ranking | network,
                data,
                ROUNDS,
                valid_sets=[data],
                feval=lambda preds, dataset: metric(preds, dataset),
            )
        elif form == "second training":
            for settings in ({}, network):  # the first training runs on one machine
                lgb.train(ranking | settings, data, ROUNDS, valid_sets=[data], feval=metric)
        elif form == "set_network":
            lgb.Booster(ranking, data).set_network(**network).eval_train(metric)
        else:
            assert form == "QueryRanker"
            model = lgb.LGBMRanker(n_estimators=ROUNDS, **params | network)
            sg.QueryRanker(model, early_stopping=True).fit(X, y, qid=qid)

    error = error_of(train)
    gc.collect()  # deletes the Booster, which closes the network
    return error


def of_xgboost(rank, arguments):
    import xgboost as xgb

    from skgraded.xgboost import EarlyStopping, custom_metric

    X, y, qid = part(rank)
    params = {"objective": "rank:ndcg", "nthread": 1, "seed": 0}
    with xgb.collective.CommunicatorContext(**arguments):
        data = xgb.DMatrix(X, y, qid=qid)
        nothing = xgb.DMatrix(np.empty((0, X.shape[1])), np.empty(0), qid=np.empty(0, dtype=int))
        without_queries = xgb.DMatrix(X, y)

        def train(metric, watched=data, rounds=ROUNDS, **settings):
            history = {}
            reported = {"disable_default_eval_metric": 1} if metric else {"eval_metric": "ndcg@5"}
            model = xgb.train(
                params | reported,
                data,
                rounds,
                evals=[(watched, "all")],
                custom_metric=metric,
                evals_result=history,
                verbose_eval=False,
                **settings,
            )
            return model, history["all"]

        def search():
            ranker = sg.QueryRanker(xgb.XGBRanker(n_jobs=1), early_stopping=True)
            ranker.fit(X, y, qid=qid)

        output = {"refused": error_of(search)}
        model, history = train(None)
        output["built-in"] = history["ndcg@5"][-1]
        xgboosts = sg.NDCG(k=5, undefined=1.0, ties="ordinal")
        output["values of built-in"] = xgboosts.per_query(y, model.predict(data), qid=qid).tolist()

        noise = np.random.default_rng(rank).permutation(X[:, :1])
        # on which training stops soon
        valid = xgb.DMatrix(np.hstack([noise, X[:, 1:]]), y, qid=qid)
        model, output["history"] = train(
            custom_metric(["mu_map", "ndcg@5"]),
            valid,
            200,
            callbacks=[EarlyStopping(rounds=4, metric_name="NDCG@5")],
        )
        output["stopped after"] = model.num_boosted_rounds()
        output["values"] = [
            sg.NDCG(k=5)
            .per_query(y, model.predict(valid, iteration_range=(0, i + 1)), qid=qid)
            .tolist()
            for i in range(model.num_boosted_rounds())
        ]
        output["one empty"] = train(custom_metric("ndcg@5"), nothing if rank else data)[1]["NDCG@5"]
        output["one failing"] = error_of(
            lambda: train(custom_metric("ndcg@5"), without_queries if rank else data)
        )
    return output


def outputs_of(task):
    """Outputs of LightGBM and XGBoost; the task has the rank and the arguments of both."""
    rank, forms, arguments = task
    return {"lightgbm": of_lightgbm(rank, forms), "xgboost": of_xgboost(rank, arguments)}
