package tokenizer

import "runtime"

const (
	cachedWords   = 16384   // words kept per scratch
	cachedWordLen = 64      // bytes of the longest word kept
	keptSymbols   = 1 << 16 // a scratch that grew beyond this is not kept
)

// scratch is the working memory of one call of Encode.
type scratch struct {
	merger
	cache map[string][]int32
	buf   []byte
}

// scratchPool keeps a bounded number of scratches. Unlike sync.Pool it does
// not forget the word caches at every second garbage collection.
type scratchPool chan *scratch

func newScratchPool() scratchPool { return make(scratchPool, runtime.GOMAXPROCS(0)) }

func (p scratchPool) get() *scratch {
	select {
	case s := <-p:
		return s
	default:
		return &scratch{cache: make(map[string][]int32)}
	}
}

func (p scratchPool) put(s *scratch) {
	if cap(s.slots) > keptSymbols || cap(s.heap) > keptSymbols {
		s.merger = merger{}
	}
	if cap(s.buf) > keptSymbols {
		s.buf = nil
	}
	select {
	case p <- s:
	default:
	}
}
