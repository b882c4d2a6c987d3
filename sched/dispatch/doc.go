// Package dispatch is the core of the actor between one intake and several engines.
// To intake it looks like an engine: it accepts requests and sends StepResults
// without gaps. To each engine it looks like intake. It chooses the engine of a
// request by cached prefix and load (package route). When an engine's epoch ends, it
// returns that engine's requests to intake, which submits them again with the tokens
// that they have; they then go to an engine that is running.
//
// It keeps no tokens and no prompts. Of a request it knows only the engine.
//
// # Floors
//
//	state
//	results questions requests
//	core
package dispatch
