"""Evidence → report.html: one file that opens from disk and asks the network for nothing."""
