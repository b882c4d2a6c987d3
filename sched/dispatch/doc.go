// Package dispatch is the actor core that puts several engines behind one
// intake. To intake it is an engine: it takes requests and sends gapless
// StepResults. To each engine it is intake. It chooses the engine of a request
// by cached prefix and load (package route), and when an engine's epoch ends it
// returns that engine's requests to intake, which submits them again with the
// tokens that they have; they then go to whichever engine is up.
//
// It keeps no token and no prompt. What it knows of a request is the engine that
// has it.
//
// # Floors
//
//	state
//	results questions requests
//	core
package dispatch
