//! BBR, version 3, through whole bottlenecks: the example test cases of its draft (appendix A of
//! draft-ietf-ccwg-bbr), and its laws.

mod cases;
mod ecn;
mod laws;
mod watched;
