"""Questions of those who train with Muon, a folder each, deletable as a whole."""
