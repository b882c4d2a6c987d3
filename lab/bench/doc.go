// Package bench measures the speed of a model in tokens per second and as a share
// of the memory bandwidth. The bandwidth is measured in alternation with the tests
// and with the same number of threads, so that other processes affect both.
//
// A Test describes the work; a Subject does it, through the actors of an engine (Engine),
// by steps of a model alone (Steps) or over HTTP (package web); Run repeats it; a Report
// has the figures. Package kernels does the same for the inner loops of the CPU device.
//
// # Parts
//
//	matrix, prompts              tests to run, and whether a model can hold them; their tokens
//	run, engine, steps           repetitions; a Subject through the actors, or by steps of a model alone
//	memory, traffic, machine     read bandwidth; bytes that a test reads; the computer and the build
//	report, reporttext           results, also as text with tables in Markdown
//	summary                      mean, deviation, median; delays of idle actors
package bench
