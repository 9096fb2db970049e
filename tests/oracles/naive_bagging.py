"""Out-of-bag answers the plain way: row by row, over the members whose bag the row is not in."""

import numpy as np


def left_out_by(model, row):
    """Return the numbers of the members that did not draw a row."""
    return [t for t, rows in enumerate(model.estimators_samples_) if row not in set(rows.tolist())]


def out_of_bag_answers(model, X, say):
    """Return the mean of ``say(member, its columns of the row)``, None where every member saw the row.

    X is an array (n_rows, n_columns).
    """
    answers = []
    for row in range(len(X)):
        said = [
            say(model.estimators_[t], X[[row]][:, model.estimators_features_[t]])[0]
            for t in left_out_by(model, row)
        ]
        answers.append(np.mean(said, axis=0) if said else None)
    return answers
