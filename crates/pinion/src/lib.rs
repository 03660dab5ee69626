//! The pinion command and its library.
