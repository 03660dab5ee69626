//! What a hart has of the network: its local receive queue and the thread scheduler.
