//! What commands mean, as tables over the engine's verbs.
