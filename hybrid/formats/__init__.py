"""Files: parameters of every age, .npz, pictures, and how any file is written."""
