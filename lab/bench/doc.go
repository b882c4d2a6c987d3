// Package bench measures how fast a model computes prompts and tokens, and what
// share of the memory's bandwidth that is. The bandwidth is measured in turns
// with the tests, by as many threads, so that what else runs on the machine
// hits both.
//
// A Test says what to do; a Subject does it, through the actors of an engine
// (Engine), by steps of a model alone (Steps) or over HTTP (package web); Run
// repeats it; a Report has the figures. Package kernels does the same for the
// inner loops of the CPU device.
package bench
