// Package costmodel says how long a step of a model would take on a named GPU, for
// replaying traces and planning capacity. It computes nothing else.
//
// The model is a roofline (S. Williams, A. Waterman, D. Patterson: "Roofline: An
// Insightful Visual Performance Model for Multicore Architectures", CACM 52(4), 2009): a
// piece of work takes the time of its arithmetic at the peak rate or of its memory
// traffic at the memory's rate, whichever is longer, each with an efficiency; the pieces
// of a step are added up. docs/simulator.md has the formulas, their limits, and how far
// they are from steps that were measured.
package costmodel
