"""What judges a release, a plan or the guarantee itself: the audit, evaluations, plans and simulations."""
