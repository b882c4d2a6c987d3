// Package plot draws what happened in an engine over time: pages of the KV
// pool by owner, latencies, queue lengths. It is a thin layer over gonum's
// plotter and knows neither engines nor traces.
//
// The same figure gives the same bytes, so that two runs can be compared by
// their files.
package plot
