// Package quant turns stored elements into float32 and back: GGUF's block types and
// the plain 16-bit types. It is the reference for every kernel on quantised data.
//
// # Blocks
//
// A block holds the elements of one row that share a scale, little-endian, in
// a fixed number of bytes (gpu.DType.BlockLen, BlockBytes). With d and m the
// F16 numbers of a block and q the code of an element:
//
//	q8_0           32 elements  x = d q, q in -128..127
//	q4_0, q5_0     32 elements  x = d (q - 8), d (q - 16)
//	q4_1, q5_1     32 elements  x = d q + m
//	iq4_nl         32 elements  x = d v[q], v a table of 16 numbers
//	q3_k, q6_k    256 elements  x = d s (q - 4), d s (q - 32); s of 16 elements
//	q2_k, q4_k, q5_k  256       x = d s q - m t; s and t of 16 or of 32 elements
//	iq4_xs        256 elements  x = d (s - 32) v[q]; s of 32 elements
//
// s and t are small integers. The comment of each decoder says where the bits are.
// The layouts are those of ggml-common.h, the formulas of encoders those of the
// reference quantisers (quantize_row_..._ref of ggml-quants.c), both of ggml.
//
// # Parts
//
//	quant                       Quantize and Dequantize, by type; random blocks
//	blocks32, blocks256, iq4    the types of 32 and of 256 elements a block; those with a table
//	floats                      F32, F16 and BF16
//	finite                      weights that are NaN or infinite
//
// # Exactness
//
// The products of a decoder fit into float32 without rounding; only the sum with a
// minimum rounds, once. So a decoded element is the same on every machine and with
// every instruction set. A scale of NaN or Inf gives elements of NaN or Inf.
package quant
