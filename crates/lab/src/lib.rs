//! Workloads, load generator and experiments: measures stores from outside, as a user does.
