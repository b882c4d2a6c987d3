// Package request is the core of intake: it owns every open request, from the call
// to the end that its client sees. It accepts calls, keeps requests in a table that
// survives all epochs, and turns sampled tokens into text.
//
// # The life of a request
//
// A request is held while the request that it names in After has no token. It waits until
// the engine is running, and is in the engine from EnqueueRequests to RequestEnded.
// Independently of that, its end is written once: by an end token, the length limit, a
// stop string, an abort, a client that disconnects, or an error, whichever comes first.
// End tokens and the length limit follow from the tokens, so a crash between a token and
// its RequestEnded does not matter. Tokens after the end are ignored and not counted. The
// table drops a request when its end was delivered, or its client has disconnected, and
// the engine has released it.
//
// # Text
//
//   - A stop string matches at the first byte position where one is complete, across
//     token boundaries. If several are complete there, the longest one counts. Text that
//     may still become a stop string is held back, with its tokens.
//   - A stop string completed by one of the first MinTokens tokens is ignored,
//     like end tokens (the rule of vLLM).
//   - The text of a stop string or an end token is not shown unless KeepStop is
//     set; a special end token also needs KeepSpecial. The token is listed and
//     counted in either case.
//   - An aborted or failed request shows the text up to that point, without the
//     bytes of an unfinished character.
//
// # Crashes
//
// Handle first computes what a message changes and then commits it. All foreign code (the
// detokeniser) runs in the first part, so a panic leaves the table as it was: the message
// may be delivered again, or lost with its epoch. An interrupted detokeniser is rebuilt
// from the accepted tokens. Effects lost by a panic are repeated: the end of an epoch
// delivers what is undelivered, and the next one gets every unfinished request again.
//
// # Concurrency properties
//
//   - A Table is used by one Core at a time, a Core by one goroutine at a time.
//   - Events of one call are delivered in order. There is no order between calls.
//   - Nothing blocks: the output of a slow reader stays in the table, bounded by
//     the request's MaxTokens.
//
// # Parts
//
//	handle, core, change, results   one message: its changes are computed, then committed
//	calls, validate, refuse         submission, aborts, disconnected clients; what is refused, and why
//	table, entry, engine            open requests, each with its place; the epoch as intake knows it
//	epochs                          submission to the engine, suspects, quarantine
//	finish, deadlines, deliver      ends, timeouts, output on its way to clients
//	backlog, throughput, wait       who waits and who runs; how long a new request would wait
//	questions, options              questions of clients; limits, and new ones
//	stop, textbuffer                stop strings; pieces of text
//	detokenizer, sink               interfaces for text and for clients
//
// # Floors
//
//	options detokenizer sink stop textbuffer throughput engine
//	entry
//	backlog moves
//	table
//	wait validate
//	refuse
//	core
//	deliver questions
//	finish
//	change deadlines calls epochs
//	results
//	handle
package request
