import json
from pathlib import Path

import numpy as np
import pytest

import spinney
from spinney.io import inspect_file


@pytest.fixture
def model(run, churn):
    assert run("fit", churn, "-t", "churn", "-l", "c4.5", "--no-score", "-o", "m.spinney").code == 0
    return "m.spinney"


def test_fit_scores_saves_and_keeps_the_command(run, churn):
    done = run("fit", churn, "--target", "churn", "-l", "cart", "--set", "max_depth=3", "--json", "--seed", 7)
    assert done.code == 0 and "customer" in done.err  # the identifier is left out, with a warning
    found = done.json
    assert found["task"] == "classification" and found["scored_by"] == "5 folds"
    assert found["scores"][0]["metric"] == "roc_auc" and 0.5 < found["scores"][0]["mean"] <= 1
    metadata = inspect_file("churn.spinney").metadata
    assert metadata["command"].startswith("spinney fit") and "--set max_depth=3" in metadata["command"]
    assert metadata["columns"]["plan"] == "categorical" and metadata["columns"]["customer"] == "identifier"
    assert spinney.load("churn.spinney").max_depth == 3


def test_the_same_seed_gives_the_same_bytes(run, churn):
    hashes = [
        run("fit", churn, "-t", "churn", "-l", "extra-trees", "--set", "n_estimators=5", "--no-score",
            "--json", "--seed", seed, "-o", "m").json["content_hash"]
        for seed in (1, 1, 2)
    ]  # fmt: skip
    assert hashes[0] == hashes[1] != hashes[2]


def test_hold_out_groups_order_and_weights(run, churn):
    for more in (["--holdout", "0.3"], ["--cv", "3", "--group", "months"], ["--cv", "3", "--order", "since"],
                 ["--holdout", "0.25", "--weight", "months"]):  # fmt: skip
        done = run("fit", churn, "-t", "churn", "-l", "cart", "--json", *more)
        assert done.code == 0, done.err
        left_out = [name for name in ("months", "since") if name in more]
        assert not set(left_out) & set(done.json["columns"])
    assert "hold-out of 30 rows" in done.json["scored_by"]
    assert done.json["scores"][0]["low"] < done.json["scores"][0]["high"]
    assert run("fit", churn, "-t", "churn", "--cv", "3", "--holdout", "0.2").code == 2


def test_task_and_types_are_overridable(run, churn):
    done = run("fit", churn, "-t", "months", "-l", "cart", "--json", "--cv", 3)
    assert done.json["task"] == "regression" and done.json["scores"][0]["metric"] == "rmse"
    done = run("fit", churn, "-t", "churn", "-l", "cart", "--json", "--no-score",
               "--type", "months=categorical", "--drop", "since",
               "--type", "customer=categorical")  # fmt: skip
    assert done.json["columns"] == {
        "customer": "categorical", "plan": "categorical", "months": "categorical", "spend": "numeric",
    }  # fmt: skip
    assert run("fit", churn, "-t", "churn", "--task", "regression").code == 4


def test_predict_reads_columns_as_in_training(run, churn, model):
    done = run("predict", model, churn, "--proba", "--keep", "customer")
    assert done.code == 0 and len(done.rows) == 120
    assert list(done.rows[0]) == ["customer", "predicted_churn", "probability_no", "probability_yes"]
    # One row, whose columns alone would be recognised as other kinds.
    text = churn.read_text().splitlines()
    Path("one.csv").write_text(f"{text[0]}\n{text[1]}\n")
    again = run("predict", model, "one.csv", "--proba").rows[0]
    assert again["probability_yes"] == done.rows[0]["probability_yes"]
    assert run("predict", model, churn, "--json").json["n_rows"] == 120


def test_predict_writes_files_of_every_format(run, churn, model):
    from spinney.cli.data_files import read_data_file

    for ending in (".csv", ".parquet", ".feather", ".arrow"):
        assert run("predict", model, churn, "-o", f"out{ending}").code == 0
        assert read_data_file(f"out{ending}").n_rows == 120
    assert run("predict", model, churn, "-o", "out.xyz").code == 3
    assert run("predict", model, churn, "-o", "nowhere/out.csv").code == 3


def test_evaluate_has_intervals_and_a_confusion_matrix(run, churn, model):
    found = run("evaluate", model, churn, "--json").json
    scores = {one["metric"]: one for one in found["scores"]}
    assert scores["accuracy"]["low"] <= scores["accuracy"]["mean"] <= scores["accuracy"]["high"]
    assert np.sum(found["confusion"]["counts"]) == 120
    assert run("evaluate", model, churn).rows[0]["metric"] == "accuracy"


def test_explain_one_row_and_all(run, churn, model):
    found = run("explain", model, churn, "--row", 3, "--json").json
    total = found["base_value"] + sum(one["contribution"] for one in found["contributions"])
    assert total == pytest.approx(found["output"]) and total == pytest.approx(
        max(found["probabilities"].values())
    )
    rows = run("explain", model, churn).rows
    assert [float(row["importance"]) for row in rows] == sorted(
        (float(r["importance"]) for r in rows), reverse=True
    )
    assert run("explain", model, churn, "--row", 999).code == 4
    assert run("explain", model, churn, "-o", "shap.csv").code == 0 and Path("shap.csv").exists()


def test_explain_names_the_class_that_contributions_speak_for(run, churn):
    run("fit", churn, "-t", "churn", "--set", "n_estimators=5", "--no-score", "-o", "b.spinney")
    first, last = (
        run("explain", "b.spinney", churn, "--row", 3, "--class", label, "--json").json
        for label in ("no", "yes")
    )
    assert (first["explained"], last["explained"], last["space"]) == ("no", "yes", "raw")
    assert first["output"] == -last["output"] and first["base_value"] == -last["base_value"]
    assert (last["output"] > 0) == (last["probabilities"]["yes"] > 0.5)
    assert run("explain", "b.spinney", churn, "--row", 3, "--json").json == last
    wrong = run("explain", "b.spinney", churn, "--row", 3, "--class", "maybe")
    assert wrong.code == 2 and "no, yes" in wrong.err


def test_models_without_shap_values_are_explained_by_permutation(run, churn):
    run("fit", churn, "-t", "churn", "-l", "naive-bayes", "--no-score", "-o", "nb")
    assert run("explain", "nb", churn, "--json").json["method"] == "permutation"
    assert run("explain", "nb", churn, "--row", 1).code == 5


def test_rules_tree_and_their_files(run, churn, model):
    assert run("rules", model).out.startswith("IF ")
    assert run("rules", model, "--json").json["rules"][0]["confidence"] > 0
    assert "|---" in run("tree", model).out and "digraph" in run("tree", model, "--format", "dot").out
    run("tree", model, "-o", "tree.svg")
    assert Path("tree.svg").read_text().startswith("<svg")
    run(
        "fit",
        churn,
        "-t",
        "churn",
        "-l",
        "random-forest",
        "--set",
        "n_estimators=3",
        "--no-score",
        "-o",
        "rf",
    )
    assert run("rules", "rf").code == 2 and "--tree 0" in run("rules", "rf").err
    assert run("rules", "rf", "--tree", 2).code == 0 and run("tree", "rf", "--tree", 3).code == 2
    found = run("diagnose", "rf", churn, "--json").json
    assert found["n_members"] == 3 and {one["measure"] for one in found["measure"]} > {
        "kappa",
        "disagreement",
    }
    assert run("diagnose", model, churn).code == 5


def test_convert_and_inspect(run, model):
    assert run("convert", model, "--to", "c").code == 0 and "model_predict_proba" in Path("m.c").read_text()
    assert run("convert", model, "-o", "m.json").code == 0
    assert run("convert", "m.json", "-o", "again.spinney").code == 0
    hashes = [run("inspect", path, "--json").json["content_hash"] for path in (model, "again.spinney")]
    assert hashes[0] == hashes[1]
    assert "C45Classifier" in run("inspect", model).out
    assert run("convert", model).code == 2 and run("convert", model, "-o", model, "--to", "spinney").code == 2


def test_report_pages(run, churn, model):
    from spinney.cli.failures import DATA

    done = run("report", model, churn, "-o", "page.html", "--json")
    assert done.json["n_bytes"] == Path("page.html").stat().st_size > 20_000
    assert "spinney fit" in Path("page.html").read_text(encoding="utf-8")
    assert run("fit", churn, "-t", "churn", "-l", "cart", "--no-score", "--report", "fit.html").code == 0
    assert Path("fit.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    Path("new.csv").write_text("plan\nbasic\n")
    assert run("report", model, "new.csv").code == DATA


def test_compare_writes_a_leaderboard_and_the_best_model(run, churn):
    done = run("compare", churn, "-t", "churn", "-l", "cart,naive-bayes", "--cv", 3, "--repeats", 1,
               "-o", "best", "--report", "board.html")  # fmt: skip
    page = Path("board.html").read_text(encoding="utf-8")
    assert "spinney compare" in page and "naive-bayes" in page
    assert done.code == 0 and {row["learner"] for row in done.rows} >= {"cart", "naive-bayes"}
    assert float(done.rows[0]["roc_auc"]) >= float(done.rows[1]["roc_auc"])
    assert inspect_file("best").metadata["learner"] == done.rows[0]["learner"]
    assert run("compare", churn, "-t", "churn", "-l", "carts").code == 2
    assert run("compare", churn, "-t", "churn", "--time", "soon").code == 2


def test_tune_continues_from_its_file(run, churn):
    command = ["tune", churn, "-t", "churn", "-l", "cart", "--cv", 2, "--sampler", "random", "--json"]
    first = run(*command, "--trials", 4).json
    assert first["best_score"] >= first["default_score"] and Path(first["model"]).exists()
    lines = Path("churn.trials.jsonl").read_text().splitlines()
    Path("churn.trials.jsonl").write_text("\n".join(lines[:3]) + "\n")
    again = run("resume", "churn.trials.jsonl").json
    assert again["best_params"] == first["best_params"] and again["n_trials"] == 4
    assert run(*command, "--space", "max_depth=2:8:9", "--trial-file", "t").code == 2
    assert run(*command, "--space", "max_dept=2:8", "--trial-file", "t").code == 2
    own = run(*command, "--space", "max_depth=2:4", "--trials", 2, "--trial-file", "t").json
    assert set(own["best_params"]) <= {"max_depth"}


def test_resume_ends_in_the_model_of_an_uninterrupted_fit(run, churn, monkeypatch):
    from spinney.gradient_boosting import callbacks

    fit = ["fit", churn, "-t", "churn", "--set", "n_estimators=12", "--set", "growth=leaf-wise", "--no-score"]
    whole = run(*fit, "--json", "-o", "whole").json["content_hash"]

    class EarlyCheckpoint(callbacks.Checkpoint):
        def __call__(self, round):
            if round.number == 7 and round.phase != "search":
                spinney.save(round.model(), self.path, metadata=self.metadata)
                raise KeyboardInterrupt

    monkeypatch.setattr(callbacks, "Checkpoint", EarlyCheckpoint)
    assert run(*fit, "--checkpoint", "part", "-o", "never").code == 130
    assert not Path("never").exists()
    done = run("resume", "part", "-o", "resumed", "--json")
    assert done.code == 0 and done.json["content_hash"] == whole, done.err
    assert run("resume", "whole").code == 4  # a finished model


def test_exit_codes_and_messages(run, churn, model):
    for arguments, code, message in (
        (["fit", churn], 2, "--target"),
        (["fit", "no.csv", "-t", "churn"], 3, "There is no file 'no.csv'"),
        (["fit", churn, "-t", "chrun"], 4, "Did you mean 'churn'"),
        (["fit", churn, "-t", "churn", "-l", "carts"], 2, "Did you mean 'cart'"),
        (["fit", churn, "-t", "churn", "-l", "cart", "--set", "num_leaves=3"], 2, "max_leaf_nodes"),
        (["fit", churn, "-t", "churn", "-l", "cart", "--set", "max_depth"], 2, "name=value"),
        (["fit", churn, "-t", "churn", "-l", "cart", "--set", "max_depth=-1", "--no-score"], 4, "max_depth"),
        (["fit", churn, "-t", "churn", "--metric", "acuracy"], 2, "Did you mean 'accuracy'"),
        (["fit", churn, "-t", "spend"], 4, "target is missing"),
        (["predict", churn, churn], 5, "not a Spinney model file"),
        (["predict", "no.spinney", churn], 3, "no model file"),
        (["prdict", model, churn], 2, "Did you mean 'predict'"),
        (["inspect", "no"], 3, "no model file"),
        (["resume", "no"], 3, "no file"),
    ):
        done = run(*arguments)
        assert (done.code, done.out) == (code, ""), (arguments, done)
        assert message in done.err and done.err.count("error:") == 1 and "Traceback" not in done.err
    failed = run("fit", "no.csv", "-t", "churn", "--json")
    assert failed.json["exit_code"] == 3 and "no.csv" in failed.json["error"]


def test_a_column_that_the_model_needs_is_named(run, churn, model):
    lines = [line.split(",") for line in churn.read_text().splitlines()]
    Path("less.csv").write_text("\n".join(",".join(line[:1] + line[2:]) for line in lines))
    done = run("predict", model, "less.csv")
    assert done.code == 4 and "no column 'plan'" in done.err
    changed = churn.read_text().replace(",yes", ",maybe")
    Path("other.csv").write_text(changed)
    done = run("evaluate", model, "other.csv")
    assert done.code == 4 and "does not know the class 'maybe' in column 'churn', row" in done.err


def test_unexpected_errors_say_so(run, churn, monkeypatch):
    monkeypatch.setattr("spinney.cli.fitting.make_estimator", lambda *_: 1 / 0)
    done = run("fit", churn, "-t", "churn")
    assert done.code == 1 and "Unexpected ZeroDivisionError" in done.err and "--debug" in done.err
    assert "Traceback" in run("--debug", "fit", churn, "-t", "churn").err


def test_ctrl_c_within_an_import_is_an_interruption(run, churn, monkeypatch):
    def interrupted(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("initialization failed") from error

    monkeypatch.setattr("spinney.cli.fitting.make_estimator", interrupted)
    done = run("fit", churn, "-t", "churn")
    assert done.code == 130 and "Interrupted" in done.err


def test_optional_packages_are_named(run, model, monkeypatch):
    import builtins

    original = builtins.__import__

    def without_onnx(name, *rest):
        if name.split(".")[0] == "onnx":
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_onnx)
    done = run("convert", model, "--to", "onnx")
    assert done.code == 6 and "spinney[onnx]" in done.err and not Path("m.onnx").exists()


def test_demo_names_its_files_as_json(run, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("spinney.cli.demo.run", lambda console, folder: shown.append(console.print("shown")))
    found = run("demo", "--folder", tmp_path, "--json")
    assert found.json["model"] == str(tmp_path / "demo.spinney") and found.err == "" and len(shown) == 1
    assert "shown" in run("demo", "--folder", tmp_path).out


def test_help_and_completion(run):
    shown = run("--help")
    assert shown.code == 0 and all(name in shown.out for name in ("compare", "resume", "Exit codes", "130"))
    for name in ("fit", "predict", "compare", "tune", "explain", "convert"):
        text = run(name, "--help").out
        assert "--json" in text and max(map(len, text.splitlines())) <= 100
    assert "_SPINNEY_COMPLETE" in run("completion", "bash").out
    assert run("--version").out.startswith("spinney ")


def test_columns_and_learners_are_completed(churn, model):
    from click.shell_completion import ShellComplete

    from spinney.cli.main import cli

    def complete(*typed):
        found = ShellComplete(cli, {}, "spinney", "_SPINNEY_COMPLETE").get_completions(
            [str(one) for one in typed[:-1]], typed[-1]
        )
        return [one.value for one in found]

    assert complete("fit", churn, "-t", "ch") == ["churn"]
    assert complete("predict", model, churn, "--drop", "cu") == ["customer"]
    assert complete("fit", churn, "-t", "churn", "-l", "random") == ["random-forest"]
    assert complete("compare", churn, "-l", "cart,random") == ["cart,random-forest"]


def test_json_has_no_nan(run, churn, model):
    for command in (["fit", churn, "-t", "churn", "-l", "cart", "--holdout", "0.2", "-o", "x"],
                    ["inspect", model], ["evaluate", model, churn]):  # fmt: skip
        json.loads(run(*command, "--json").out, parse_constant=pytest.fail)
