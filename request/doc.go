// Package request is the pure core of intake: it takes calls in, keeps every
// open request in a table that outlives all epochs, turns sampled tokens into
// text, and owns the client's end of each request.
//
// # What a request goes through
//
// A request is held while the one it names in After has no token, waits while
// no epoch stands, and is in the engine from EnqueueRequests to RequestEnded.
// Independently, its client's end is written once, by whichever comes first:
// an end token or the length limit (both can be read off the token stream, so
// that a crash between the token and its RequestEnded cannot matter), a stop
// string, an abort, a client that went away, or an error. Tokens after the end
// are ignored and not counted. The table forgets a request when the client has
// its end (or is gone) and the engine has let go of it.
//
// # Text
//
//   - A stop string counts at the first byte position where one is complete,
//     across token borders; among those complete there the longest counts.
//     Text that may still become a stop string is held back, with its tokens.
//   - A stop string completed by one of the first MinTokens tokens is ignored,
//     as end tokens are (the rule of vLLM).
//   - The text of a stop string or an end token is not shown unless KeepStop
//     asks for it; a special end token also needs KeepSpecial. The token is
//     listed and counted in either case.
//   - An aborted or failed request shows what it had, without the bytes of an
//     unfinished character.
//
// # Crashes
//
// Step first computes what a message changes, with all foreign code (the
// detokeniser) in this part, and then commits, so a panic leaves the table as
// it was: the message may be delivered again, or lost with its epoch. The state
// of a detokeniser that was being changed is thrown away and rebuilt from the
// accepted tokens. Effects lost by a panic are covered by the epochs:
// the end of one delivers what is undelivered, the next one gets every
// unfinished request again.
//
// # Concurrency properties
//
//   - A Table is used by one Core at a time, a Core by one goroutine at a time.
//   - Events of one call are delivered in order; nothing is promised about the
//     order between calls.
//   - Nothing here blocks: a slow reader's output stays in the table, bounded
//     by the request's MaxTokens.
package request
