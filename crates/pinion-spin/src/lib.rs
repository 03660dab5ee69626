//! A PsPIN-like NIC: matching, MPQ engine, dispatcher, clusters, commands, memories.
