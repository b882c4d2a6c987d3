// Package costmodel is a device on virtual time, for replaying traces and planning
// capacity. It computes nothing: a cost model of a named GPU and a model's shape
// says how long a step would take.
//
// The model is a roofline (S. Williams, A. Waterman, D. Patterson: "Roofline:
// An Insightful Visual Performance Model for Multicore Architectures", CACM
// 52(4), 2009): a piece of work takes the time of its arithmetic at the peak rate
// or of its memory traffic at the memory's rate, whichever is longer, each with an
// efficiency; the pieces of a step are added up. docs/simulator.md has the formulas
// and their limits. The efficiencies are estimates until they are calibrated
// against a real device.
package costmodel
