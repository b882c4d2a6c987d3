// Package hf translates a GGUF file into the terms of a Hugging Face model:
// configuration, tensors, tokenizer. Tensors get the names and the order of rows
// of the model that the file was converted from.
//
// The architectures are llama (also Mistral's models), qwen2 and qwen3. Features that are
// not implemented are refused with the name of the key or tensor, as in package config.
//
// # Parts
//
//	supported                the models; keys that are refused
//	config, rope, special    what config.json has; tokens that end an answer
//	weights                  tensors by their Hugging Face names
//	tokenizer, reader        the tokenizer; typed values of the metadata
package hf
