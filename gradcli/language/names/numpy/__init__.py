"""NumPy in programs: its arrays, what ``np``, ``np.linalg`` and ``np.random`` hold."""
