import csv
import json
import random
import sys
from dataclasses import dataclass

import pytest

from spinney.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return list(csv.DictReader(self.out.splitlines()))


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        given = [str(one) for one in arguments]
        monkeypatch.setattr(sys, "argv", ["spinney", *given])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(given)
        streams = capsys.readouterr()
        return Outcome(int(end.value.code or 0), streams.out, streams.err)

    return call


def churn_rows(n=120, seed=0):
    """A small table of customers, with categories, gaps, an id and a date."""
    random_ = random.Random(seed)
    rows = []
    for i in range(n):
        plan, months = random_.choice(["basic", "pro", "team"]), random_.randint(1, 60)
        spend = round(random_.uniform(5, 90), 2)
        leaves = (plan == "basic") + (months < 12) + random_.random() > 1.2
        rows.append(
            {
                "customer": f"c{i:05d}",
                "plan": plan,
                "months": months,
                "spend": "" if random_.random() < 0.1 else spend,
                "since": f"2021-{random_.randint(1, 12):02d}-{random_.randint(1, 28):02d}",
                "churn": "yes" if leaves else "no",
            }
        )
    return rows


@pytest.fixture
def churn(tmp_path):
    """Path of a CSV file of customers."""
    path = tmp_path / "churn.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(churn_rows(1)[0]))
        writer.writeheader()
        writer.writerows(churn_rows())
    return path
