// Package work generates the requests of a load generator and the times at which they are
// due. Prompts are made from a seed or read from files. It uses neither a server nor a
// clock. A session's requests depend only on the seed and the session's position.
//
// # Parts
//
//	session, arrivals            sessions, turns and their sources; when sessions are due
//	random, shared, prompts      prompts that share nothing, or prefixes; how prompts are written
//	gsm8k, sharegpt, trace       questions with answers to check; recorded conversations; recorded traces
//	flagcheck                    limits of the flags' values
package work
