"""The counting of contingency tables where rows are: files, databases, clusters, memory."""
