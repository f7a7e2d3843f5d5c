"""Functions in Python whose tests are assertions: HumanEval, MBPP, KodCode and EvalPlus."""
