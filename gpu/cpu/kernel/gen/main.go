// Command gen writes the assembly of package kernel, one family of kernels per
// run: FAMILY_amd64.s and its declarations FAMILY_amd64.go, into the current
// directory.
//
//	go run ./gen -family stream
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/mmcloughlin/avo/build"
)

// families are the kernels that stand in one file, each in a file of its own
// here.
var families = map[string]func(){
	"attention": attention,
	"gemm":      gemm,
	"tiles":     tiles,
	"intgemm":   intgemm,
	"kquant":    kquant,
	"rows":      rows,
	"stream":    stream,
}

func main() {
	family := flag.String("family", "", "which kernels to write")
	flag.Parse()
	write, ok := families[*family]
	if !ok {
		var names []string
		for name := range families {
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Fprintf(os.Stderr, "gen: family %q is unknown; one of %v\n", *family, names)
		os.Exit(2)
	}
	for name, value := range map[string]string{"out": *family + "_amd64.s", "stubs": *family + "_amd64.go", "pkg": "kernel"} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
	build.ConstraintExpr("amd64")
	write()
	build.Generate()
}
