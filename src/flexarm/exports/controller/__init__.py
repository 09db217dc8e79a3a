"""Sampled controllers as C libraries with a watchdog: sensors, estimator, reference, shaper and law in one step.

- `inputs`: the signals that a controller reads on its board, and its law as a function of them.
- `settings`: reaction to missing, late or invalid readings, and the scaling of raw readings.
- `code`: the C code of one sample.
- `library`: all files of a controller, with their test program.
- `targets`: wrappers for Simulink and ros2_control.
"""
