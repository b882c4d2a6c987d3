// Package pace keeps the steps of an engine within an inter-token latency
// target: it learns how long steps take and limits how much of prompts is
// computed beside decoding rows. Arithmetic on plain numbers; no clock.
//
// # Floors
//
//	model
//	pacer
package pace
