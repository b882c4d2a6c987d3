// Package kernel holds the inner loops of the CPU device: plain Go on every
// platform, and Go assembly for amd64 at three levels of instruction set.
//
// The assembly is generated: gen holds its source, `make generate` writes the
// *_amd64.s files and the declarations beside them, a test compares.
//
// # Levels
//
// Every function takes the Level that it is to run at, and has one for each of
// them. A level's results are its own, to the bit; they do not depend on how
// many rows, tokens or queries a call has, on the order of calls, or on what
// stands in the lanes beside. Between levels they differ by rounding only. AMX
// is AVX512 but for TileGemm, which gives the same bits for many tokens.
//
// # Panels
//
// A matrix [rows, cols] lies in panels of 32 rows whose elements stand side by
// side, so that the sum of a row runs along the columns in one lane, in order,
// with one rounding a product (a fused multiply-add; in plain Go two): for one
// token as for 512. The last panel is filled up with rows of zeros. form.go
// says how each form of panel lies in memory.
//
// # Integers
//
// Panels of integers are multiplied in two ways. Gemm takes activations in
// float32 and rounds nothing that a panel of floats would not. IntGemm takes
// them quantised to int8, 32 columns to a scale, as llama.cpp does: the sum of
// 32 products is exact in int32, then scaled and added with one rounding, group
// after group; intblocks.go says how where there are minimums. It is several
// times quicker.
//
// # Attention
//
// Keys lie with 16 positions side by side, values with their dimensions: a
// score is summed over dimensions in one lane, an output over positions, both
// in order, and what is loaded of keys or values serves all queries of a group.
// Positions that a query does not see stay in lanes of their own, whatever they
// hold. attention.go says more.
//
// # Calls
//
// Pointers are to the first element; lengths are the caller's business and are
// checked by the functions that choose the level, once per call, not by the
// assembly. Assembly cannot be preempted, so that a call should take 20
// microseconds at most: one panel.
package kernel
