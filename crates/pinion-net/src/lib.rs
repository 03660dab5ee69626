//! Frames, captures, TAP devices and traffic generators.
