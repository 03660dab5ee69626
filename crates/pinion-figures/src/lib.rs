//! Many runs, one picture. In: a figure's file or the axes of a sweep. Out: tables, CSV, Parquet, SVG,
//! and what was published beside ours.
//!
//! | module | makes |
//! |---|---|
//! | [`figure`] | figures and tables of the papers |
//! | [`sweep`] | runs over every combination of parameters |
//! | [`area`] | what a machine takes in silicon |
//! | [`measure`] | how an application wants to be measured |

pub mod area;
pub mod figure;
pub mod measure;
pub mod sweep;
