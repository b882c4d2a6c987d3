// Package tokenizer turns text into token ids and back, for models with a Hugging Face
// tokenizer.json.
//
// It covers the two families that language models use: byte-level BPE (GPT-2,
// Llama 3, Qwen) and SentencePiece-style BPE with byte fallback (Llama 2,
// Mistral, Phi-3). A tokenizer.json is a pipeline of components; each known
// component behaves as in the Hugging Face tokenizers library, and an unknown
// one is refused by name when the file is loaded, never skipped.
//
//	text ─ added tokens ─ normalizer ─ pre-tokenizer ─ BPE ─ post-processor ─ ids
//	ids ─ token text ─ decoder ─ text
//
// # Parts
//
//	tokenizer, files                              a Tokenizer; the files of which it is made
//	load, config, chattemplates                   tokenizer.json, and the files beside it
//	vocabulary, vocabulary_*                      a tokenizer of a GGUF file, its pipeline and merges
//	component, lengthchange                       elements of the pipeline as JSON; how much longer or shorter they make a text
//	tokenids, added                               the tables by id; added tokens, and how they are found in text
//	encode, scratch                               from text to ids; memory of a call, the cache of words
//	normalize, normalform                         normalizers; NFC, NFD, NFKC and NFKD
//	pretokenize, split, pattern                   pre-tokenizers; cutting at matches; literals and regular expressions
//	fastsplit                                     the well-known expressions by hand; classes of characters
//	bytelevel, metaspace                          bytes as characters; spaces as a visible character
//	bpe, bpe_word, merge, mergelist, pairtable    vocabulary; symbols of a word; merging them; reading and finding merges
//	postprocess                                   ids around a text
//	spelling                                      what each id adds to a text, for grammars
//	longesttoken                                  the most bytes of an id, from which long texts are refused early
//	specialmarks, specialmarks_sources            characters by which special tokens of a client are told apart
//	decoder, textstep, stream, utf8               from ids to text; replacing in it; as ids arrive; whole characters
//
// # Concurrency properties
//
//   - A loaded [Tokenizer] is immutable; every method may be called from any
//     number of goroutines. Encoding scratch memory is borrowed per call.
//   - A [Stream] belongs to one goroutine at a time.
//
// # Bounds
//
//   - Token ids are at most 2^24-1, and the id space is at most 64 times the
//     number of tokens plus 65536, so that memory depends on the size of the
//     files and not on numbers in them.
//   - tokenizer.json is read up to 256 MiB, the other files up to 16 MiB.
//   - The cache of encoded words holds at most 16384 words of at most 64
//     bytes per borrowed scratch, about 8 MiB each; at most GOMAXPROCS
//     scratches are kept.
//   - Encoding n bytes takes O(n log n) time, even if they are a single word. A
//     word takes 12 bytes of memory per byte; no scratch keeps more than 1 MiB of
//     that. [EncodeOptions.Max] bounds time and memory by the number of ids that
//     the caller wants, if [Tokenizer.LongestToken] is known. A regular expression
//     that is not one of the well-known ones runs in a backtracking engine with a
//     time limit of [regexLimit] per match; after that, the rest of a piece is not
//     split.
//
// # Differences from the reference
//
//   - Runs of byte-fallback tokens that are not valid UTF-8 decode like any
//     other UTF-8 (one U+FFFD per maximal invalid part). The Rust library
//     replaces every byte of such a run, its valid characters included, which
//     cannot be streamed; the JavaScript library does the same as this package.
//     Both also drop a byte order mark at the start of such a run.
//   - clean_up_tokenization_spaces is not followed: it destroys text (" ."
//     becomes "."), and serving engines decode without it.
//   - Special tokens that tokenizer_config.json names but that have no id in
//     any file are ignored instead of being given a new id, which a model's
//     embedding table would not have.
package tokenizer
