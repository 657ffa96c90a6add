//! Tests of patches over files in memory: what is read, where it belongs, what it comes to.

mod files;
mod fitting;
mod reading;
mod weaving;
