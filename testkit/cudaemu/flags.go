package cudaemu

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// flags are the compiler's for every unit. No contraction: a fused multiply-add is only
// where the source asks for one.
func flags(s Sanitizer) []string {
	list := []string{"-std=c++17", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno",
		"-fno-strict-aliasing", "-Wall", "-Wextra", "-pthread"}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		list = append(list, "-mavx2", "-mfma", "-mf16c")
	}
	if cpu.X86.HasBMI2 && cpu.X86.HasPOPCNT {
		list = append(list, "-mbmi2", "-mpopcnt")
	}
	if s == Races {
		list = append(list, "-DEMU_RACES")
	}
	if s == Address {
		list = append(list, "-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-fno-sanitize-recover=undefined")
	}
	return list
}

// kernelFlags are those for kernels only.
func kernelFlags(s Sanitizer) []string {
	if s != Races {
		return nil
	}
	return []string{"-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0", "--param=tsan-distinguish-volatile=0"}
}

// linkFlags are those of flags that the linker needs.
func linkFlags(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		return f != "-fsanitize=address,undefined" && f != "-pthread" && f != "-g1"
	})
}
