"""OptimalMerging: which method finds the clusters of least noise for so many cliques.

Source: JTree (Chen, Xiao, Zhang, Xu, KDD 2015), section 4.2, algorithm 2. Deviation: for every number of clusters the
paper solves a relaxed programme; here exact enumeration serves few cliques, and beyond them the programme
(``privity.common.synthesis.learning.merging_by_cccp``) starts from a greedy merge, where cvxpy is installed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from privity.common.data.noisy_tables import Marginal
from privity.common.synthesis.learning.clique_clusters import Clusters, merge_exactly, merge_greedily

_log = logging.getLogger("privity.algorithms")

EXACT_CLIQUES = 8
"""Most cliques of which all partitions (4,140 of 8) are tried."""

CCCP_CLIQUES = 16
"""Most cliques for the relaxed programme; its time is in docs/performance.md."""


def optimal_clusters(cliques: Sequence[Marginal], domain: Sequence[int]) -> Clusters:
    """The clusters of least total variance that the methods at hand find; each clique is in exactly one.

    Args:
        cliques: at least one, and all of them within the limits of a round.
    """
    if len(cliques) <= EXACT_CLIQUES:
        return merge_exactly(cliques, domain)
    greedy = merge_greedily(cliques, domain)
    if len(cliques) > CCCP_CLIQUES:
        return greedy
    try:
        from privity.common.synthesis.learning.merging_by_cccp import merge_by_cccp
    except ImportError:
        _log.warning(
            "cvxpy cannot be imported (it comes with privity[jtree]): cliques are joined greedily, and tables may "
            "carry a little more noise; docs/algorithms/jtree.md says how much"
        )
        return greedy
    return merge_by_cccp(cliques, domain, greedy)
