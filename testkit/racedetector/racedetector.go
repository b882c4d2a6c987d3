// Package racedetector tells a test whether it runs under the race detector.
//
// The detector makes code many times slower. It also allocates, and keeps functions
// from being inlined.
package racedetector
