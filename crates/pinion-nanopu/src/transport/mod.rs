//! Transports: what the packet pipeline does with a header, in one trait.
