class grader {}
