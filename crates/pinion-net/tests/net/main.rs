//! What this crate promises to those who use it: captures, generators, links, loads, middleware.

mod capture;
mod frames;
mod generator;
mod link;
mod load;
mod middleware;
mod support;
