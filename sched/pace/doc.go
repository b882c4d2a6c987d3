// Package pace keeps the steps of an engine within an inter-token latency target.
// It learns how long steps take and limits the prompt tokens in steps with decoding
// rows. It is arithmetic on plain numbers, without a clock.
//
// # Floors
//
//	steptime
//	pacer
package pace
