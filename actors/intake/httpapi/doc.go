// Package httpapi is the HTTP adapter of the intake actor: the OpenAI-compatible
// API, SGLang's native one, health, administration and metrics.
//
// A handler turns a body into submissions (template, tokens, parameters), sends
// them to intake and reads the call's events from its own channel. It holds no engine
// state. When its client disconnects, it sends that to intake and returns.
//
// # Parts
//
//	server, listen, starting, options         the adapter; its listener, before the model is loaded, too; settings, and changing them while it runs
//	routes, middleware, accesslog             endpoints; what surrounds every request; its log line
//	apikeys, hosts, origins                   who may call: keys, names of the server, web pages of other origins
//	keyuse                                    what the holder of a key uses
//	body, budget                              receiving a body, its time and memory; places to parse
//	unmarshal, parameters                     JSON into structs; names of parameters
//	leftovers, foreign                        parameters that a body has no field for; those of other servers
//	limits, reasoning                         output limits and other parameters with several names; how much a model thinks
//	chat, chat_messages, chat_template        /v1/chat/completions; its messages; the prompt made from them
//	completions, sglang                       /v1/completions; SGLang's /generate
//	prompts, tokenids, sampling, scheduling   parameters of these endpoints: text, ids, sampling, order and sharing
//	generating, call                          from a body to a call of intake and its outputs; bounds of an answer
//	answer, usage, logprobs                   JSON in OpenAI's form: choices, token counts, log probabilities
//	stream, silence, sse, response            streamed answers; those that wait; server-sent events; writing an answer
//	errors, redaction                         errors and their statuses; their texts without data of clients, for the log
//	openapi, openapitable                     /openapi.json and /docs; what they say of endpoints and fields
//	catalog, models, tokenize                 the served models; one of them, /v1/models; /tokenize and /detokenize
//	health, probe                             /health and the like; the shared probe that computes a token
//	admin, cachetree, kvevents, profiler      flush, abort, audit; /debug/cache; the stream of cache events; pprof
//	board, boardrun                           the stream of frames for the board; the run that makes them for all readers
//	boardframe, boardportrait                 a frame; of it what the snapshots of engines say
//	boardoperators                            of it the actors and events
//	streamrights                              endless streams whose key loses its right
//	cluster, clusterevents                    what operators see of a cluster and ask for; the stream of its events
//	enginenode                                the endpoints of an engine in a cluster
package httpapi
