"""The environment's server: problems of IOI_EVAL_SOURCE, rules of IOI_EVAL_OPTIONS."""

import uvicorn

from ioi_eval.plugins.contest.openenv import app as make

app = make()


def main() -> None:
    uvicorn.run(app, host="0.0.0.0", port=8000)


if __name__ == "__main__":
    main()
