package simd

import (
	"fmt"
	"strings"
)

// Level is an instruction set that the kernels are written for.
type Level uint8

// The levels; each includes those before it.
const (
	// Portable is plain Go.
	Portable Level = iota
	// AVX2 needs AVX2, FMA and F16C: most x86 processors since 2015.
	AVX2
	// AVX512 needs AVX-512 F, BW, DQ, VL and VNNI.
	AVX512
	// AMX needs AVX-512 and the tiles of AMX with products of int8, and a system
	// that lets processes use them. Its results are those of AVX512, bit for bit.
	AMX
)

var levels = [...]string{Portable: "portable", AVX2: "avx2", AVX512: "avx512", AMX: "amx"}

// String returns the name used in settings.
func (l Level) String() string { return levels[l] }

// Best is the highest level of this processor.
func Best() Level {
	for l := AMX; l > Portable; l-- {
		if l.Supported() {
			return l
		}
	}
	return Portable
}

// Levels lists the levels of this processor in ascending order.
func Levels() (have []Level) {
	for l := Portable; l <= AMX; l++ {
		if l.Supported() {
			have = append(have, l)
		}
	}
	return have
}

// ParseLevel finds a level by its name; "auto" is the best one. A level that this
// processor lacks is an error.
func ParseLevel(name string) (Level, error) {
	if name == "auto" {
		return Best(), nil
	}
	for l, n := range levels {
		if n != name {
			continue
		}
		if level := Level(l); level.Supported() {
			return level, nil
		}
		return 0, fmt.Errorf("instruction set %s cannot be used without %s; use auto or one of %v", name, Level(l).lacks(), Levels())
	}
	return 0, fmt.Errorf("instruction set %q is not known; use auto, %s", name, strings.Join(levels[:], ", "))
}
