//! What the models of the engine have in common.
#![allow(dead_code)]

pub mod history;
pub mod interrupted;
pub mod run;
pub mod scene;
pub mod scenes;
