"""psylang explain: shows the compiled form of a model, and the parts that were removed."""

from __future__ import annotations

import argparse
import json

from psylang.cli.models import pairs, plan_of
from psylang.runtime.values import known


def main(options: argparse.Namespace) -> int:
    plan = plan_of(options)
    known("--param", pairs("--param", options.param), plan.parameters)
    plan.variant(options.isa)
    explanation = plan.explain()
    if options.json:
        print(json.dumps(explanation.sections))
    elif options.html:
        print(f"<!doctype html><meta charset=utf-8>{explanation._repr_html_()}")
    else:
        print(explanation)
    return 0
