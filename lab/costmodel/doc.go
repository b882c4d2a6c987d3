// Package costmodel is a device on virtual time. It computes nothing: a cost model
// of a named GPU and a model's shape says how long a step would take, for
// replaying traces and planning capacity.
//
// The model is a roofline (S. Williams, A. Waterman, D. Patterson: "Roofline:
// An Insightful Visual Performance Model for Multicore Architectures", CACM
// 52(4), 2009): a piece of work takes the longer of its arithmetic at the peak
// rate and its traffic at the memory's rate, each times an efficiency, and the
// pieces of a step are added up. docs/simulator.md has the formulas and what
// they leave out. The efficiencies are estimates until they are calibrated
// against a real device.
package costmodel
