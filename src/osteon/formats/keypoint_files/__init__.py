"""What programs write that find people in videos: arrays, JSON and tables of keypoints in 3D."""
