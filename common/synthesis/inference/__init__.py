"""From noisy marginals to one distribution: everything that is revealed enters one fit, and fitting costs no privacy.

``estimation`` and ``consistency`` make tables agree with each other (light, for trees and dense tables);
``graphical_model`` and ``maximum_likelihood`` fit a distribution to all tables at once (for tables with loops).
"""
