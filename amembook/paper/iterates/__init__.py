"""The true iterates of Muon and of gradient descent: measures, and the studies that rest on them."""
