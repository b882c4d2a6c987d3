package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// header is what include/cuda.h declares.
type header struct {
	functions []function
	constants []string
	types     []string // names of typedefs
	fields    []string // of structs: CUDA_MEMCPY2D.srcPitch
}

// function is one of the API. The symbol is what the driver's library exports, for
// example cuMemAlloc_v2 for cuMemAlloc.
type function struct {
	name, symbol string
	declaration  string // CUresult cuMemAlloc(CUdeviceptr *, size_t);
}

var (
	alias    = regexp.MustCompile(`^#define (cu\w+) (cu\w+)$`)
	declared = regexp.MustCompile(`^CUresult (cu\w+)\([^()]+\);$`)
	constant = regexp.MustCompile(`\b(CU_\w+|CUDA_\w+) = `)
	typedef  = regexp.MustCompile(`^(?:typedef .*[ *]|\} )(\w+);$`)
	member   = regexp.MustCompile(`(\w+)[,;]`)
)

// parse reads a header in the form that include/cuda.h describes. Functions come back
// sorted by symbol.
func parse(text string) (header, error) {
	var h header
	symbols := map[string]string{}
	var members []string // of the struct being read
	for i, line := range strings.Split(text, "\n") {
		if m := alias.FindStringSubmatch(line); m != nil {
			symbols[m[1]] = m[2]
			continue
		}
		if m := declared.FindStringSubmatch(line); m != nil {
			symbol := m[1]
			if s, ok := symbols[symbol]; ok {
				symbol = s
				delete(symbols, m[1])
			}
			h.functions = append(h.functions, function{m[1], symbol, line})
			continue
		}
		if strings.HasPrefix(line, "CUresult") {
			return h, fmt.Errorf("line %d of cuda.h is not a declaration on one line: %s", i+1, line)
		}
		for _, m := range constant.FindAllStringSubmatch(line, -1) {
			h.constants = append(h.constants, m[1])
		}
		if strings.HasPrefix(line, "\t") && strings.HasSuffix(line, ";") {
			for _, m := range member.FindAllStringSubmatch(line, -1) {
				members = append(members, m[1])
			}
		}
		if m := typedef.FindStringSubmatch(line); m != nil {
			h.types = append(h.types, m[1])
			for _, name := range members {
				h.fields = append(h.fields, m[1]+"."+name)
			}
			members = nil
		}
	}
	for name := range symbols {
		return h, fmt.Errorf("cuda.h has a #define for %s and no declaration after it", name)
	}
	slices.SortFunc(h.functions, func(a, b function) int { return strings.Compare(a.symbol, b.symbol) })
	for i := 1; i < len(h.functions); i++ {
		if h.functions[i].symbol == h.functions[i-1].symbol {
			return h, fmt.Errorf("cuda.h declares %s twice", h.functions[i].symbol)
		}
	}
	return h, nil
}
