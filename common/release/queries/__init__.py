"""Questions about a release: what its noisy marginals and its model tell of the rows, with honest intervals.

All of it is post-processing of a release, reads no row and costs nothing.

Open ``question.py`` for what can be asked, ``evidence.py`` for what there is to answer it, ``linear_estimates.py`` and
``one_step.py`` for estimates with their errors, ``model_error.py`` for what the model may miss, ``support.py`` for what
was measured, ``statistics.py`` and ``regressions.py`` for the kinds of questions, ``intervals.py`` for ends of
intervals, and ``answer.py`` for what is told.
"""
